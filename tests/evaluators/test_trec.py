"""Files of trec_eval: what we export is what we measured, and its published outputs are ours."""

from __future__ import annotations

import pytest

from corpora.errors import InputError
from evaluators.evaluate import evaluate
from evaluators.tasks import Task
from evaluators.trec import measure, read_qrels, read_run
from tests.evaluators.worlds import Given, random_world


@pytest.mark.parametrize("precision", ["float32", "int8", "binary"])
def test_pytrec_eval_on_the_exported_run_gives_the_same_values(tmp_path, precision):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    corpus, queries, vectors = random_world(4)
    results = evaluate(Given(queries, vectors), [Task("a world", corpus)], ("q2c", "q2d"), dimensions=(6,),
                       precisions=(precision,), chunking="given", runs=tmp_path)
    from corpora.chunks import trec_id

    for suite, kind in (("q2c", "chunks"), ("q2d", "documents")):
        qrels = read_qrels(tmp_path / f"a-world.given.{kind}.qrels")
        run = read_run(tmp_path / f"a-world.given.d6.{precision}.{kind}.run")
        positive = {query: found for query, found in qrels.items() if max(found.values()) > 0}
        expected = pytrec_eval.RelevanceEvaluator(positive, {"ndcg_cut.1,5,10"}).evaluate(run)
        values = results.values(suite, "nDCG@10", precision=precision)
        assert len(values) == len(qrels) and len(expected) > 5
        for (_, query), value in values.items():
            other = expected.get(trec_id(query), {"ndcg_cut_10": 0.0})
            assert value == pytest.approx(other["ndcg_cut_10"], abs=1e-9)


def test_ids_in_files_have_no_white_space(tmp_path):
    corpus, queries, vectors = random_world(4)
    evaluate(Given(queries, vectors), [Task("w", corpus)], ("q2c",), precisions=("float32",), chunking="given",
             runs=tmp_path)
    lines = (tmp_path / "w.given.d6.float32.documents.run").read_text().splitlines()
    assert all(len(line.split()) == 6 for line in lines)
    assert "q%200 Q0 " in lines[0]
    assert "a%20b\t'a b'" in (tmp_path / "w.given.ids.tsv").read_text().splitlines()


def test_published_outputs_are_reproduced(shared):
    """trec_eval 10's own quick test: three topics, 1,500 lines, ties, negative and graded judgments."""
    folder = shared / "formats" / "trec_eval_fixtures" / "test"
    depths = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
    pairs = {"AP": "map", "RR": "recip_rank", "nDCG": "ndcg"} | {
        f"{mine}@{k}": f"{theirs}_{k}" for mine, theirs in
        (("P", "P"), ("R", "recall"), ("nDCG", "ndcg_cut")) for k in depths}
    found = measure(read_run(folder / "results.test"), read_qrels(folder / "qrels.test"), list(pairs))
    expected = {}
    for line in (folder / "out.test.aq").read_text().splitlines():
        name, query, value = line.split()
        expected[name, query] = value
    compared = 0
    for query, values in found.items():
        for mine, theirs in pairs.items():
            assert f"{values[mine]:.4f}" == expected[theirs, query], (query, mine)
            compared += 1
    assert compared == 3 * len(pairs)


def test_a_result_that_stands_twice_is_refused(tmp_path):
    (tmp_path / "run").write_text("q Q0 a 1 0.5 t\nq Q0 a 2 0.4 t\nq Q0 b 0.3\n")
    with pytest.raises(InputError) as caught:
        read_run(tmp_path / "run")
    assert [problem.where.rsplit(":", 1)[1] for problem in caught.value.problems] == ["2", "3"]
