"""Storage by URI, on a file system and on a real S3 protocol with faults between."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from corpora import storage
from corpora.errors import InputError, StockpotError
from corpora.storage import MARK, Storage
from tests.corpora.faulty_store import Faults, faulty_store


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "anyone")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "anything")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def s3() -> Iterator[tuple[str, Faults]]:
    with faulty_store() as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "made"
    (made / "inner").mkdir(parents=True)
    (made / "model.safetensors").write_bytes(bytes(range(256)) * 64)
    (made / "inner" / "name with space 名.json").write_text("{}")
    return made


def content(folder: Path) -> dict[str, bytes]:
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("kind", ["file", "s3"])
def test_what_is_put_comes_back(kind: str, tmp_path: Path, folder: Path, request: pytest.FixtureRequest) -> None:
    uri = (tmp_path / "store").as_uri() if kind == "file" else request.getfixturevalue("s3")[0]
    store = Storage(uri)
    assert store.get_bytes("ledger/0.json") is None
    assert not store.has_folder("trials/a") and store.names("ledger") == [] and store.folders("") == []
    store.put_bytes("ledger/0.json", b"one")
    store.put_bytes("ledger/0.json", b"two")
    store.put_folder(folder, "trials/a")
    assert store.get_bytes("ledger/0.json") == b"two" and store.names("ledger") == ["ledger/0.json"]
    assert store.folders("trials") == ["trials/a"]
    assert store.get_folder("trials/a", tmp_path / "back")
    assert content(tmp_path / "back") == content(folder)
    for _ in range(2):  # what is gone may be removed
        store.remove("ledger/0.json")
    assert store.get_bytes("ledger/0.json") is None and store.names("ledger") == []
    assert not store.get_folder("trials/b", tmp_path / "b") and not (tmp_path / "b").exists()


def test_throttled_broken_and_slow_requests_lose_nothing(s3: tuple[str, Faults], folder: Path, tmp_path: Path) -> None:
    uri, faults = s3
    faults.latency, faults.throttled, faults.broken = 0.02, 0.15, 0.1
    store = Storage(uri)
    for number in range(2):
        store.put_folder(folder, f"trials/{number}")
        assert store.get_folder(f"trials/{number}", tmp_path / str(number))
        assert content(tmp_path / str(number)) == content(folder)
    assert len(faults.seen) > 2 * 4  # some were asked again


def test_an_upload_that_breaks_leaves_no_half_folder(
    s3: tuple[str, Faults], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
) -> None:
    uri, faults = s3
    monkeypatch.setattr(storage, "ATTEMPTS", 1)
    store = Storage(uri)
    sent: list[str] = []
    whole = Storage._upload

    def breaks(self: Storage, file: Path, name: str) -> None:
        if sent:
            faults.down = True
        sent.append(name)
        whole(self, file, name)

    monkeypatch.setattr(Storage, "_upload", breaks)
    with pytest.raises(StockpotError, match="s3://bucket/sweeps: cannot write a/"):
        store.put_folder(folder, "a")
    faults.down = False
    assert not store.has_folder("a") and not store.get_folder("a", tmp_path / "back")
    assert not (tmp_path / "back").exists()
    monkeypatch.setattr(Storage, "_upload", whole)
    store.put_folder(folder, "a")
    assert store.get_folder("a", tmp_path / "back")


def test_a_changed_object_is_noticed(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "ATTEMPTS", 2)
    store = Storage((tmp_path / "store").as_uri())
    store.put_folder(folder, "a")
    (tmp_path / "store" / "a" / "model.safetensors").write_bytes(b"half")
    with pytest.raises(StockpotError, match=r"read a/model.safetensors, asked 2 times: 4 bytes came, 16384 with SHA-256"):
        store.get_folder("a", tmp_path / "back")
    assert not (tmp_path / "back").exists()


@pytest.mark.parametrize("inside", ["../out", "/etc/out"])
def test_a_mark_cannot_lead_out_of_the_folder(inside: str, tmp_path: Path, folder: Path) -> None:
    store = Storage((tmp_path / "store").as_uri())
    store.put_bytes(f"a/{MARK}", json.dumps({inside: [1, "0" * 64]}).encode())
    with pytest.raises(StockpotError, match="would leave the folder"):
        store.get_folder("a", tmp_path / "back")


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("s3://key:secret@bucket/x", "a storage's URI holds no keys"),
        ("runs/x", "'runs/x' is no URI"),
        ("ftp://host/x", "cannot be opened"),
    ],
)
def test_a_uri_that_cannot_be_is_refused(uri: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as refused:
        Storage(uri)
    assert "secret" not in str(refused.value)


def test_a_missing_bucket_is_said_at_once(s3: tuple[str, Faults]) -> None:
    with pytest.raises(StockpotError, match="asked 1 times"):
        Storage(s3[0].replace("//bucket/", "//nowhere/")).put_bytes("a", b"")
