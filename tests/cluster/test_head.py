"""Following a job's log through connections that break: every character once, and the end is seen."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from cluster import head
from cluster.head import Head, reach
from corpora.errors import InputError

LOG = "one\ntwo\nthree\nfour\n"


class Broken:
    """A job server whose connection breaks after some characters, then is away for a look, then ends."""

    def __init__(self, cuts: list[int]):
        self.cuts, self.away = cuts, bool(cuts)

    async def tail_job_logs(self, _):
        upto = self.cuts.pop(0) if self.cuts else len(LOG)
        for start in range(0, upto, 5):
            yield LOG[start : min(start + 5, upto)]
        if self.cuts:
            raise RuntimeError("WebSocket connection closed unexpectedly")

    def get_job_info(self, _):
        if self.away:
            self.away = False
            raise ConnectionError("no network")
        return SimpleNamespace(status="RUNNING" if self.cuts else "SUCCEEDED")

    def get_job_logs(self, _):
        return LOG


@pytest.mark.parametrize("cuts", [[], [7], [3, 12], [0, 0, 19], [12, 3]])
def test_every_character_is_shown_once(monkeypatch, cuts):
    monkeypatch.setattr(head.time, "sleep", lambda _: None)
    shown: list[str] = []
    ended = Head("http://head:8265", Broken(list(cuts))).follow("job", shown.append)
    assert "".join(shown) == LOG and ended.status == "SUCCEEDED"


@pytest.mark.parametrize(("address", "told"), [("head:8265", "begins with http"), ("http://127.0.0.1:1", "no Ray cluster answers")])
def test_an_address_that_is_none(monkeypatch, address, told):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    with pytest.raises(InputError, match=told):
        reach(address)


def test_credentials_in_an_address_are_refused_and_not_shown():
    with pytest.raises(InputError, match="--address: holds credentials: leave them out") as refused:
        reach("http://user:hunter2@127.0.0.1:9")
    assert "hunter2" not in str(refused.value)
