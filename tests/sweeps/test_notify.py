"""Webhooks on a real server in this process: what arrives, and that nothing disturbs the sweep or tells the URL."""

from __future__ import annotations

import http.server
import json
import threading

import pytest

from corpora.errors import InputError
from sweeps import notify
from sweeps.config import SweepConfig
from sweeps.notify import notified, url_of
from sweeps.notify_config import Notify
from tests.sweeps import made_ledgers

SECRET = "T0KEN"


class Server:
    """Answers each post by the next of `answers`, the last for ever."""

    def __init__(self, *answers: int):
        self.bodies, left = [], list(answers)

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(handler):
                body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
                code = left.pop(0) if len(left) > 1 else left[0]
                if code == 200:
                    self.bodies.append((handler.path, body))
                handler.send_response(code)
                handler.end_headers()

            def log_message(handler, *_):
                """Quiet."""

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/services/{SECRET}"

    def __enter__(self):
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(notify, "INTERVAL", 0.01)
    monkeypatch.setattr(notify, "WAITS", (0.01, 0.01))


def run(folder, url, *on, say=lambda line: None):
    """A sweep of two trials, one of which fails."""
    ledger = made_ledgers.begin(folder)
    with notified(folder, Notify(webhook=url, on=on), say):
        made_ledgers.trial(ledger, 0)
        made_ledgers.trial(ledger, 1, end="failed", reason="the loss is nan")
        made_ledgers.close(ledger)


def test_what_was_asked_for_arrives_once_and_in_order(tmp_path):
    with Server(200) as server:
        run(tmp_path, server.url, "started", "finished", "trial-failed")
    assert [body["event"] for _, body in server.bodies] == ["started", "trial-failed", "finished"]
    assert {path for path, _ in server.bodies} == {f"/services/{SECRET}"}
    failed, finished = server.bodies[1][1], server.bodies[2][1]
    assert failed["trial"] == 1 and failed["reason"] == "the loss is nan" and "trial 1 failed" in failed["text"]
    assert finished["trials"] == {"finished": 1, "failed": 1} and finished["status"] == "finished"
    assert finished["best"]["context/Answer@10"] == {"value": pytest.approx(0.16), "trial": 0, "step": 60}
    assert "made finished: 2 trials (1 failed, 1 finished), best context/Answer@10 0.160" in finished["text"]


def test_a_post_is_tried_again(tmp_path):
    with Server(500, 429, 200) as server:
        run(tmp_path, server.url, "finished")
    assert [body["event"] for _, body in server.bodies] == ["finished"]


def test_a_server_that_fails_is_told_once_without_the_secret_and_the_sweep_goes_on(tmp_path):
    said = []
    with Server(500) as server:
        run(tmp_path, server.url, "started", "finished", say=said.append)
    assert not server.bodies and len(said) == 1 and "500" in said[0] and "127.0.0.1" in said[0] and SECRET not in said[0]
    run(tmp_path / "gone", server.url, "finished", say=said.append)  # nobody listens any more
    assert len(said) == 2 and SECRET not in said[1]


def test_the_url_may_come_from_the_environment(monkeypatch):
    asked = Notify(webhook="env:HOOK")
    with pytest.raises(InputError, match="notify.webhook: the environment variable HOOK is not set"):
        url_of(asked)
    monkeypatch.setenv("HOOK", f"ftp://{SECRET}")
    with pytest.raises(InputError, match=r"holds no http\(s\) URL") as error:
        url_of(asked)
    assert SECRET not in str(error.value)
    monkeypatch.setenv("HOOK", "https://hooks.example/x")
    assert url_of(asked) == "https://hooks.example/x"
    assert asked.model_dump()["webhook"] == "env:HOOK"


def test_a_url_of_the_yaml_is_masked_wherever_the_config_goes():
    content = {"name": "n", "corpora": {"generate": "quick"}, "search": {"sampler": "random", "trials": 1},
               "notify": {"webhook": f"https://hooks.example/{SECRET}"}}  # fmt: skip
    config = SweepConfig.model_validate(content)
    assert url_of(config.notify).endswith(SECRET)
    dumped = config.model_dump(mode="json", by_alias=True)
    assert dumped["notify"]["webhook"] == "https://hooks.example/***" and SECRET not in repr(config)
    assert SweepConfig.model_validate(dumped).model_dump(mode="json", by_alias=True) == dumped


@pytest.mark.parametrize("webhook", ["env:", f"slack://{SECRET}", f"https:///{SECRET}", f"https://host:99999/{SECRET}", f"https://ho st/{SECRET}"])
def test_a_wrong_webhook_is_refused_without_showing_it(webhook, tmp_path):
    from sweeps.config import load

    path = tmp_path / "s.yaml"
    path.write_text(
        "name: n\ncorpora: {generate: quick}\nsearch: {sampler: random, trials: 1}\n" f"notify: {{webhook: '{webhook}'}}\n"
    )
    with pytest.raises(InputError, match=r"s.yaml:4: notify.webhook: .*(env|host)") as error:
        load(path)
    assert SECRET not in str(error.value)
