"""A checkpoint in mteb, on a task of its own that needs no network: the same nDCG as ours."""

from __future__ import annotations

import pytest

from corpora.documents import Corpus
from evaluators.evaluate import evaluate
from evaluators.tasks import Task
from trainables.student import StudentEncoder

mteb = pytest.importorskip("mteb", reason="the encoders extra is not installed")


@pytest.fixture
def corpus(family_corpus):
    """Without the twin of d6: only here identical texts share their judgments."""
    queries = [query for query in family_corpus.queries if all(target.document != "d7" for target in query.targets)]
    return Corpus("distinct", family_corpus.documents[:7], tuple(queries))


@pytest.fixture
def task(corpus):
    from mteb.abstasks.retrieval import AbsTaskRetrieval
    from mteb.abstasks.task_metadata import TaskMetadata

    class Families(AbsTaskRetrieval):
        metadata = TaskMetadata(
            name="Families", description="made for this test", reference=None, type="Retrieval", category="t2t",
            modalities=["text"], eval_splits=["test"], eval_langs=["eng-Latn"], main_score="ndcg_at_10",
            dataset={"path": "none", "revision": "1"}, date=None, domains=None, task_subtypes=None, license=None,
            annotations_creators=None, dialect=None, sample_creation=None, bibtex_citation=None,
        )  # fmt: skip

        def load_data(self, num_proc=None, **how):
            self.corpus = {"test": {document.id: document.text for document in corpus.documents}}
            self.queries = {"test": {query.id: query.text for query in corpus.queries}}
            self.relevant_docs = {"test": {query.id: {target.document: target.grade for target in query.targets}
                                           for query in corpus.queries}}
            self.convert_v1_dataset_format_to_v2(num_proc)
            self.data_loaded = True

    return Families()


@pytest.mark.parametrize(("precision", "dimension"), [("float32", None), ("int8", 4)])
def test_the_same_ndcg_as_ours(task, tiny_base, corpus, precision, dimension):
    from trainables.mteb_model import MtebModel

    model = MtebModel.load(tiny_base, precision=precision, dimension=dimension)
    assert isinstance(model, mteb.EncoderProtocol) and model.mteb_model_meta.name == f"stockpot/{tiny_base.name}"
    assert model.mteb_model_meta.revision.endswith(f"-{precision}-{dimension or 8}")
    found = mteb.evaluate(model, task, cache=None, show_progress_bar=False, co2_tracker=False)
    scores = found.task_results[0].scores["test"][0]
    ours = evaluate(StudentEncoder.load(tiny_base), [Task("t", corpus)], ("q2d",), chunking="whole",
                    precisions=(precision,), dimensions=(dimension or 8,)).rows().set_index("metric")["value"]
    assert scores["ndcg_at_10"] == pytest.approx(ours["nDCG@10"], abs=1e-5)
    assert scores["ndcg_at_1"] == pytest.approx(ours["nDCG@1"], abs=1e-5)
