"""The proxy of one checkpoint is its evaluation; of several, the metrics of the mean cosines."""

from __future__ import annotations

import numpy as np
import pytest

from corpora.errors import StockpotError
from evaluators.evaluate import evaluate
from evaluators.tasks import Task
from sweeps.soup import similarities as module
from sweeps.soup.similarities import Proxy, Recording, kept_queries
from tests.evaluators.worlds import Given, random_world

SUITES = ("q2c", "q2d", "context")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Three encoders of one corpus, evaluated; their kept similarities and their figures."""
    folder = tmp_path_factory.mktemp("similarities")
    corpus, _, _ = random_world(3, queries=30)
    task = Task("world", corpus)
    chunks = len(task.index("given", None).table)
    paths, figures, vectors = [], [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        given = rng.standard_normal((30, 6)).astype(np.float32), rng.standard_normal((chunks, 6)).astype(np.float32)
        encoder = Recording(Given(*given), "given")
        encoder._encoder.queries = lambda texts, q=given[0], names=[q.text for q in corpus.queries]: q[: len(texts)]
        figures.append(evaluate(encoder, [task], SUITES, chunking="given", precisions=("float32",)).figures())
        paths.append(folder / f"{seed}.npz")
        encoder.save([corpus], paths[-1])
        vectors.append(given)
    return corpus, task, paths, figures, vectors


def test_of_one_checkpoint_the_proxy_is_its_evaluation(recorded):
    _, task, paths, figures, _ = recorded
    proxy = Proxy(paths, [task], (1, 5, 10), None, "given")
    for position, expected in enumerate(figures):
        got = proxy.figures([position])
        assert got and all(got[f"dev/{name}"] == pytest.approx(value, abs=1e-12) for name, value in expected.items())


def test_of_several_it_is_the_evaluation_of_their_mean_cosines(recorded):
    _, task, paths, _, vectors = recorded

    class Mean:
        name, contextual, tokenizer = "mean", True, None

        def scores(self, texts, corpus, table):
            cosines = [
                (q / np.linalg.norm(q, axis=1, keepdims=True)) @ (c / np.linalg.norm(c, axis=1, keepdims=True)).T
                for q, c in (vectors[0], vectors[2])
            ]
            return np.mean(cosines, axis=0).astype(np.float32)

    expected = evaluate(Mean(), [task], SUITES, chunking="given").figures()
    got = Proxy(paths, [task], (1, 5, 10), None, "given").figures([0, 2])
    assert all(got[f"dev/{name}"] == pytest.approx(value, abs=1e-12) for name, value in expected.items())


def test_of_a_large_task_a_fixed_sample_is_kept(recorded, monkeypatch):
    corpus, *_ = recorded
    monkeypatch.setattr(module, "LARGEST", 100)
    kept = kept_queries(corpus, 9)
    assert len(kept) == 11 and (np.diff(kept) > 0).all()
    assert set(kept_queries(corpus, 20)) < set(kept)
    assert len(kept_queries(corpus, 1000)) == 1


def test_a_broken_file_is_named(recorded, tmp_path):
    _, task, *_ = recorded
    (tmp_path / "x.npz").write_bytes(b"PK")
    with pytest.raises(StockpotError, match=r"x\.npz"):
        Proxy([tmp_path / "x.npz"], [task], (10,), None, "given")
