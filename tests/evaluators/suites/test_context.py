"""Evidence by hand: the removed chunk, spans that need several chunks, twins, paths."""

from __future__ import annotations

import numpy as np

from corpora.documents import Corpus, Document, Query, Target
from evaluators.evaluate import evaluate
from evaluators.tasks import Task
from tests.evaluators.worlds import Given

TEXT = "aa bb cc dd ee"
CHUNKS = ((0, 3), (3, 6), (6, 9), (9, 12), (12, 14))


def measured(targets, order, documents=None, ks=(1, 2, 3)):
    documents = documents or (Document("d", TEXT, chunks=CHUNKS),)
    corpus = Corpus("c", documents, (Query("q", "q", targets),))
    chunks = np.zeros((len(order), 2), np.float32)
    for place, chunk in enumerate(order):
        chunks[chunk] = np.cos(0.1 * (place + 1)), np.sin(0.1 * (place + 1))
    results = evaluate(Given(np.array([[1.0, 0.0]], np.float32), chunks), [Task("t", corpus)], ("context",),
                       precisions=("float32",), ks=ks, chunking="given")
    return results.rows().set_index("metric")["value"].to_dict()


def groups(*spans):
    """One group with one alternative of one span each."""
    return tuple(((span,),) for span in spans)


def test_the_best_answer_chunk_is_removed_and_the_rest_ranked():
    found = measured((Target("d", 1, ((0, 2),), groups((3, 5), (6, 8))),), [1, 0, 2, 3, 4])
    assert [found[f"EvidenceRecall@{k}"] for k in (1, 2, 3)] == [0.5, 1, 1]
    assert (found["Answer@1"], found["Answer@2"], found["AllEvidence@10"]) == (0, 1, 1)


def test_evidence_in_the_removed_chunk_is_unrecovered_and_lowers_the_ceiling():
    found = measured((Target("d", 1, ((0, 2),), groups((0, 1), (6, 8))),), [0, 2, 1, 3, 4])
    assert (found["EvidenceRecall@1"], found["AllEvidence@10"], found["EvidenceCeiling"]) == (0.5, 0, 0.5)


def test_a_span_that_no_chunk_holds_needs_all_that_overlap_it():
    found = measured((Target("d", 1, ((0, 2),), groups((7, 13),)),), [0, 2, 3, 1, 4])
    assert [found[f"EvidenceRecall@{k}"] for k in (1, 2, 3)] == [0, 0, 0]
    assert found["AllEvidence@10"] == 1  # The fourth that is left completes it.


def test_spans_that_belong_together_and_alternatives():
    together = ((((3, 5), (9, 11)), ((12, 14),)),)
    found = measured((Target("d", 1, ((0, 2),), together),), [0, 1, 2, 3, 4])
    assert [found[f"EvidenceRecall@{k}"] for k in (1, 2, 3)] == [0, 0, 1]
    found = measured((Target("d", 1, ((0, 2),), together),), [0, 4, 2, 3, 1])
    assert found["EvidenceRecall@1"] == 1


def test_the_path_that_holds_the_removed_answer_counts():
    first, second = Target("d", 1, ((0, 2),), groups((3, 5))), Target("d", 1, ((6, 8),), groups((12, 14)))
    assert measured((first, second), [2, 4, 0, 3, 1])["EvidenceRecall@1"] == 1
    assert measured((first, second), [0, 4, 2, 3, 1])["EvidenceRecall@1"] == 0
    bare = Target("d", 1, ((6, 8),))
    assert measured((first, bare), [2, 1, 0, 3, 4])["EvidenceRecall@1"] == 1  # Else the first that has groups.


def test_twins_carry_evidence():
    """The copy ranks first, so evidence is sought there; the share is the same text's."""
    documents = (Document("d", TEXT, chunks=CHUNKS), Document("copy", TEXT, chunks=((0, 6), (6, 14))))
    found = measured((Target("d", 1, ((0, 2),), groups((9, 11))),), [5, 6, 0, 1, 2, 3, 4], documents)
    assert (found["Document@1"], found["Answer@1"], found["EvidenceRecall@1"]) == (1, 1, 1)


def test_evidence_counts_only_where_the_document_is_among_ten():
    others = tuple(Document(f"o{place}", f"other {place}", chunks=((0, 7),)) for place in range(10))
    target = (Target("d", 1, ((0, 2),), groups((3, 5))),)
    order = [*range(5, 14), 0, 1, 2, 3, 4, 14]
    near = measured(target, order, (Document("d", TEXT, chunks=CHUNKS), *others), ks=(1, 10))
    assert (near["Document@10"], near["EvidenceRecall@1"], near["AllEvidence@10"]) == (1, 1, 1)
    far = measured(target, [*range(5, 15), 0, 1, 2, 3, 4], (Document("d", TEXT, chunks=CHUNKS), *others), ks=(1, 10))
    assert (far["Document@10"], far["EvidenceRecall@1"], far["AllEvidence@10"], far["EvidenceCeiling"]) == (0, 0, 0, 1)


def test_grade_zero_is_never_the_document_sought():
    documents = (Document("d", TEXT, chunks=CHUNKS), Document("o", "other", chunks=((0, 5),)))
    found = measured((Target("d", 0, ((0, 2),)), Target("o", 1)), [0, 1, 2, 3, 4, 5], documents)
    assert (found["Document@1"], found["Document@2"]) == (0, 1)
    assert "Answer@1" not in found
