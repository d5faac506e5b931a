"""What YAML allows and a file of settings must not hold is refused with its line, and never a traceback."""

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


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [
        ("a: 1\nb: &b [*b]\n", 2, "inside what it names"),
        ("b: &b\n  <<: *b\n", 1, "inside what it names"),
        ("a: 1\n[1, 2]: 3\n", 2, "a key is a word, found a list"),
        ("a: 1\n{b: c}: 3\n", 2, "a key is a word, found a mapping"),
        ("a: 1\n7: 3\n", 2, "a key is a word, found 7"),
        ("a:\n  b: 1\n  b: 2\n", 3, "stands on line 2 already"),
        ("a:\n\tb: 1\n", 2, "'\\t'"),
        ("a: 1\n---\nb: 2\n", 2, "second document"),
        ("a: 1\nb: \0\n", 2, "character #x0000"),
        ("a: 1\nb: 2026-13-01\n", 2, "cannot be read as a date: quote it"),
        ("a: 1\nb: !!int five\n", 2, "'five' cannot be read as a whole number"),
        ("a: 1\nb: " + "9" * 5000 + "\n", 2, "cannot be read as a whole number"),
        ("a: !!python/object/apply:os.getcwd []\n", 1, "python/object"),
        ("- a\n", 1, "found a list"),
        ("hello\n", 1, "found 'hello'"),
        ("# nothing\n", 1, "found nothing"),
        (b"a: 1\nb: \xff\n", 2, "is not UTF-8"),
        ("a: " + "[" * 5000 + "]" * 5000, None, "nested too deeply"),
        ("a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
            f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
        ), None, "aliases"),
        ("#" * (1 << 21), None, "larger than 1 MiB"),
    ],
)  # fmt: skip
def test_what_is_no_file_of_settings_is_refused_with_its_line(tmp_path, content, line, words):
    path = tmp_path / "sweep.yaml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as refused:
        read_yaml(path)
    (problem,) = refused.value.problems
    assert problem.where.startswith(str(path) if line is None else f"{path}:{line}") and words in problem.message
