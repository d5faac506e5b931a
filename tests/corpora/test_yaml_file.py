"""Texts that no database keeps are refused with their line, wherever they stand."""

from __future__ import annotations

import pytest

from corpora.errors import InputError
from corpora.yaml_file import read_yaml


def test_what_is_no_text_is_refused_with_its_line(tmp_path):
    path = tmp_path / "sweep.yaml"
    path.write_text('name: fine ü 🙂\na:\n  - ["x\\0y"]\n"k\\ud800": 1\n')
    with pytest.raises(InputError) as refused:
        read_yaml(path)
    assert [problem.where for problem in refused.value.problems] == [f"{path}:3", f"{path}:4"]
    assert r"'x\x00y' holds a character that is no text (\0 or \ud800 to \udfff): leave it out" in str(refused.value)


def test_any_other_text_is_read_as_it_is(tmp_path):
    path = tmp_path / "sweep.yaml"
    path.write_text('a: "\\U0001F642 <script> \'\\" @/\\n"\n')
    assert read_yaml(path)[0] == {"a": "🙂 <script> '\" @/\n"}
