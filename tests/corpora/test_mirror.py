"""Two machines without a shared disk, as two folders that share one storage."""

from __future__ import annotations

from pathlib import Path

import pytest

from corpora.errors import StockpotError
from corpora.mirror import Mirror


@pytest.fixture
def machines(tmp_path: Path) -> tuple[Mirror, Mirror]:
    uri = (tmp_path / "storage").as_uri()
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    return Mirror(tmp_path / "one", uri), Mirror(tmp_path / "two", uri)


def write(place: Path, content: str = "x") -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content)
    return place


def files(root: Path) -> set[str]:
    return {file.relative_to(root).as_posix() for file in root.rglob("*") if file.is_file()}


def test_what_one_keeps_the_other_has(machines: tuple[Mirror, Mirror]) -> None:
    one, two = machines
    write(one.root / "trials" / "a" / "step-1" / "model.safetensors", "weights")
    one.keep([one.root / "trials" / "a" / "step-1", write(one.root / "sweep.json", "{}")])
    two.have([two.root / "trials" / "a" / "step-1", two.root / "sweep.json"])
    assert files(two.root) == {"trials/a/step-1/model.safetensors", "sweep.json"}
    assert (two.root / "trials/a/step-1/model.safetensors").read_text() == "weights"


def test_what_is_here_is_not_brought_again(machines: tuple[Mirror, Mirror]) -> None:
    one, two = machines
    one.keep([write(one.root / "sweep.json", "theirs")])
    write(two.root / "sweep.json", "mine")
    two.have([two.root / "sweep.json"])
    assert (two.root / "sweep.json").read_text() == "mine"


def test_a_folder_that_is_kept_is_not_sent_again(machines: tuple[Mirror, Mirror]) -> None:
    one, _ = machines
    write(one.root / "step-1" / "model.safetensors", "weights")
    one.keep([one.root / "step-1"])
    write(one.root / "step-1" / "model.safetensors", "other")
    one.keep([one.root / "step-1"])
    assert one.storage.get_bytes("step-1/model.safetensors") == b"weights"


def test_what_lies_outside_the_root_keeps_its_place(machines: tuple[Mirror, Mirror], tmp_path: Path) -> None:
    one, two = machines
    corpus = tmp_path / "corpora" / "dev"
    write(corpus / "documents.jsonl", "{}")
    one.keep([corpus])
    (corpus / "documents.jsonl").unlink()
    corpus.rmdir()
    two.have([corpus])
    assert (corpus / "documents.jsonl").read_text() == "{}"


def test_patterns_bring_files_but_never_half_a_folder(machines: tuple[Mirror, Mirror]) -> None:
    one, two = machines
    one.keep([write(one.root / "ledger" / "events" / "0000-00000000.json"), write(one.root / "trials" / "a" / "reports" / "1.json")])
    one.storage.put_bytes("trials/a/step-1/model.safetensors", b"half: its mark never came")
    write(one.root / "trials" / "a" / "step-2" / "deep" / "model.safetensors")
    one.keep([one.root / "trials" / "a" / "step-2"])
    two.have_files("ledger/events/*.json")
    two.have_files("trials/*/reports/*.json")
    two.have_folders("trials")
    assert files(two.root) == {
        "ledger/events/0000-00000000.json", "trials/a/reports/1.json", "trials/a/step-2/deep/model.safetensors",
    }  # fmt: skip


def test_what_is_nowhere_is_an_error(machines: tuple[Mirror, Mirror]) -> None:
    with pytest.raises(StockpotError, match=r"trials/a is neither here nor in file://.*: it was lost, or never kept"):
        machines[1].have([machines[1].root / "trials" / "a"])
