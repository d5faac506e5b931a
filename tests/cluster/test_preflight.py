"""Every verdict on what the probe saw, by its message."""

from __future__ import annotations

import copy
import http.server
import threading
from base64 import b64encode
from types import SimpleNamespace

import pytest

from cluster import preflight, probe
from cluster.preflight import judge
from cluster.remote_sweep import RemoteSweep
from corpora import storage
from corpora.storage import Storage
from sweeps.config import Resources
from sweeps.machines import Machine

GOOD = {
    "nodes": [
        {
            "id": "aaaa1111ff", "name": "10.0.0.1", "head": True, "resources": {"CPU": 0.0, "memory": 8e9}, "labels": {}, "python": "3.11.7", "ray": "2.60.0",
            "missing": [], "folder": "", "storage": "", "free_gb": 100.0, "scratch_gb": 50.0, "inputs": [], "driver_inputs": [], "mlflow": "", "gpu_memory_gb": None,
            "unseen": [], "skew": 0.0,
        },
        {
            "id": "bbbb2222ff", "name": "10.0.0.2", "head": False, "resources": {"CPU": 8.0, "GPU": 2.0, "memory": 64e9},
            "labels": {"ray.io/accelerator-type": "A100"}, "python": "3.11.9", "ray": "2.60.0", "missing": [], "folder": "", "storage": "",
            "free_gb": 100.0, "scratch_gb": 50.0, "inputs": [], "driver_inputs": [], "mlflow": "", "gpu_memory_gb": 42.0, "unseen": [], "skew": 0.4,
        },
    ],
    "state_api": "", "holder": "",
    "plan": {"problems": [], "disk_gb": 1.0, "memory_gb": 10.0},
}  # fmt: skip


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """This side's versions, whatever runs the tests."""
    import ray

    monkeypatch.setattr(ray, "__version__", "2.60.0")
    monkeypatch.setattr(preflight.platform, "python_version", lambda: "3.11.7")


def judged(resources: Resources | None = None, coming: tuple[Machine, ...] = (), uri: str | None = None,
           driver: dict[str, str] | None = None, **changes: object):  # fmt: skip
    """The verdict where the worker (or, by a key of the whole, the cluster) differs from the good one."""
    seen = copy.deepcopy(GOOD)
    for name, value in changes.items():
        (seen if name in seen else seen["nodes"][1])[name] = value
    config = SimpleNamespace(resources=resources or Resources(slots=1, gpus=1), storage=uri)
    return judge(seen, RemoteSweep(config, "/mnt/out"), coming, driver)


def test_a_good_cluster_has_nothing_against_it():
    found = judged()
    assert (found.problems, found.warnings) == ((), ())
    assert found.rows() == [
        ["10.0.0.1 (head)", "0", "0", "8 GB", "", "100 GB", "50 GB", "+0.0 s"],
        ["10.0.0.2", "8", "2 A100", "64 GB", "42 GB", "100 GB", "50 GB", "+0.4 s"],
    ]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"ray": "2.59.0"}, "10.0.0.2: Ray: 2.60.0 here, 2.59.0 on the cluster"),
        ({"python": "3.12.1"}, "10.0.0.2: Python: 3.11.7 here, 3.12.1 on the cluster"),
        ({"missing": ["torch", "mlflow"]}, "10.0.0.2: lacks torch, mlflow: install"),
        ({"folder": "cannot be written to: Read-only file system"}, "10.0.0.2: /mnt/out: cannot be written to: Read-only file system"),
        ({"unseen": ["x"]}, "10.0.0.2: /mnt/out: is not shared: what 1 other nodes wrote"),
        (
            {"uri": "s3://b/x?scheme=http", "storage": "s3://b/x: cannot write .probes/a, asked 1 times: ACCESS_DENIED"},
            "10.0.0.2: storage: s3://b/x: cannot write .probes/a, asked 1 times: ACCESS_DENIED; keys come from the node's environment",
        ),
        ({"uri": "s3://b/x?scheme=http", "unseen": ["x"]}, "10.0.0.2: s3://b/x: is not shared: what 1 other nodes"),
        ({"driver_inputs": ["/data/dev"], "driver": {"ray.io/accelerator-type": "A100"}}, "10.0.0.2: /data/dev: is not there: the driver"),
        ({"inputs": ["/data/dev"]}, "10.0.0.2: /data/dev: is not there"),
        ({"mlflow": "the tracking server http://m asks"}, "10.0.0.2: mlflow.uri: the tracking server http://m asks (docs/cluster.md"),
        ({"skew": -61.0}, "10.0.0.2: its clock is -61 s off the head's"),
        ({"scratch_gb": 0.5}, "10.0.0.2: /tmp: 0.5 GB are free, 2 are needed"),
        ({"silent": "ActorDiedError: it died"}, "10.0.0.2: the node did not answer: ActorDiedError"),
        ({"state_api": "ServerUnavailable"}, "State API: does not answer (ServerUnavailable)"),
        ({"plan": {"problems": [["corpora.dev", "is missing"]]}}, "corpora.dev: is missing"),
        ({"plan": {"problems": [["sweep.yaml:12: corpora.dev", "is missing"]]}}, "corpora.dev: is missing"),  # its lines are the copy's
    ],
)
def test_each_problem_is_told(changes, told):
    [problem] = judged(**changes).problems
    assert str(problem).startswith(told)


def test_a_driver_that_works_on_the_sweep_is_a_warning():
    found = judged(holder="process 7 on a")
    assert found.problems == ()
    assert "/mnt/out: another driver works on this sweep, or did a minute ago (process 7 on a)" in str(found.warnings[0])


def test_two_nodes_of_one_machine_are_told_apart():
    seen = copy.deepcopy(GOOD)
    seen["nodes"][1] |= {"name": "10.0.0.1", "missing": ["torch"]}
    config = SimpleNamespace(resources=Resources(slots=1, gpus=1), storage=None)
    found = judge(seen, RemoteSweep(config, "/mnt/out"))
    assert [problem.where for problem in found.problems] == ["10.0.0.1 (bbbb2222)"]


def test_two_looks_at_one_folder_do_not_see_each_other(tmp_path):
    """Each node's mark has a part of its own look: what one tidies away is not missed by the other."""
    asked, node = {"out": str(tmp_path / "out"), "storage": None}, probe.Node()
    for mark in ("node-1", "node-2"):
        assert node._write(tmp_path / "out", mark) == ""
    node.tidy(asked, "node-1")
    assert node.unseen(asked, ["node-2"]) == []
    node.tidy(asked, "node-2")
    assert not (tmp_path / "out").exists()


def test_what_the_driver_alone_reads_is_asked_of_its_node():
    assert judged(driver_inputs=["/data/dev"]).problems == ()  # the head holds the driver, and sees it


def test_what_a_node_says_of_storage(tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "ATTEMPTS", 1)
    uri = (tmp_path / "kept").as_uri()
    assert probe.storage_problem(uri, "one") == ""
    asked, nodes = {"out": str(tmp_path / "out"), "storage": uri}, probe.Node()
    assert nodes.unseen(asked, ["one"]) == []
    nodes.tidy(asked, "one")
    assert Storage(uri).names("") == []
    (tmp_path / "file").write_text("")
    assert "cannot write .probes/one" in probe.storage_problem((tmp_path / "file" / "below").as_uri(), "one")
    assert "cannot be opened" in probe.storage_problem("nowhere://x/y", "one")


def test_all_problems_come_at_once():
    found = judged(ray="2.59.0", python="3.10.1", missing=["torch"], skew=99.0, inputs=["/a", "/b"])
    assert len(found.problems) == 6


@pytest.mark.parametrize("asked", [{"gpus": 4}, {"gpus": 1, "gpu_type": "H100"}, {"cpus": 9}, {"memory": 65}])
def test_what_no_node_has_is_refused_with_the_clusters_shape(asked):
    [problem] = judged(Resources(slots=1, **asked)).problems
    assert problem.where == "resources" and "asked for each trial; no node of the cluster has them" in problem.message
    assert "1 x (8 CPUs, 2 A100 GPUs, 64 GB)" in problem.message and "1 x (0 CPUs, 0 GPUs, 8 GB)" in problem.message


def test_nodes_that_may_come_count():
    asked = Resources(slots=1, gpus=1, gpu_type="H100")
    assert "--cluster CLUSTER.yaml" in judged(asked).problems[0].message
    assert judged(asked, (Machine("h100", 8, 1, 100, "H100"),)).problems == ()


def test_what_waits_or_may_not_fit_is_a_warning():
    [slots] = judged(Resources(slots=5, gpus=0.5)).warnings
    assert "5 trials asked for at a time, 4 fit" in slots.message
    [disk] = judged(plan={"problems": [], "disk_gb": 200.0, "memory_gb": 1.0}).warnings
    assert str(disk) == "disk: about 200.0 GB are needed in the sweep's folder, 100.0 GB are free"
    [memory] = judged(Resources(slots=1, gpus=0.25), plan={"problems": [], "disk_gb": 1.0, "memory_gb": 11.0}).warnings
    assert str(memory) == "10.0.0.2: about 11.0 GB are needed for a trial, its part of a GPU has 10.5 GB"


class _Tracking(http.server.BaseHTTPRequestHandler):
    """A tracking server that knows one user."""

    def do_POST(self):
        wanted = f"Basic {b64encode(b'me:right').decode()}"
        knows = self.headers.get("Authorization") == wanted
        self.send_response(200 if knows else 401)
        self.end_headers()
        self.wfile.write(b"{}" if knows else b"You are not authenticated.")

    def log_message(self, *_):
        pass


def test_what_a_node_says_of_the_tracking_server(monkeypatch):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Tracking)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    uri = f"http://127.0.0.1:{server.server_port}"
    try:
        for name in ("USERNAME", "PASSWORD", "TOKEN"):
            monkeypatch.delenv(f"MLFLOW_TRACKING_{name}", raising=False)
        assert probe.mlflow_problem(uri).startswith(f"the tracking server {uri} asks for a user and a password: set MLFLOW_TRACKING_USERNAME")
        monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "me")
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "wrong-password")
        refused = probe.mlflow_problem(uri)
        assert "refuses the user 'me' or its password" in refused and "wrong-password" not in refused
        monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "right")
        assert probe.mlflow_problem(uri) == ""
    finally:
        server.shutdown()
        server.server_close()
    assert probe.mlflow_problem(uri) == f"the tracking server {uri} does not answer: Connection refused"
    assert probe.mlflow_problem("sqlite:///nowhere.db") == ""
