"""Warnings: twins, large families, evidence that is the answer itself."""

from __future__ import annotations

from corpora import checks, native
from corpora.documents import Corpus, Document, Query, Target


def test_golden_warnings(golden):
    where = [problem.where for problem in checks.warnings(native.read(golden))]
    assert where == ["document 'the-copy-of-3'", "query 'shared-chunk'"]


def test_families_over_a_tenth_are_warned_of():
    documents = tuple(
        Document(str(number), f"text {number}", family="big" if number < 3 else None) for number in range(20)
    )
    found = checks.warnings(Corpus("c", documents))
    assert [problem.where for problem in found] == ["family 'big'"]
    assert "3 of 20" in found[0].message
    assert not checks.warnings(Corpus("c", documents), [str(number // 2) for number in range(20)])


def test_evidence_is_warned_of_only_when_every_alternative_touches():
    def corpus(evidence):
        return Corpus("c", (Document("a", "x" * 50),), (Query("q", "?", (Target("a", 1, ((10, 20),), evidence),)),))

    assert len(checks.warnings(corpus(((((19, 25),),),)))) == 1
    assert not checks.warnings(corpus(((((20, 25),),),)))
    assert not checks.warnings(corpus(((((12, 15),), ((30, 40),)),)))


def test_a_whole_import_of_such_evidence_is_told_in_a_few_lines():
    target = Target("a", 1, ((10, 20),), ((((10, 20),),),))
    queries = tuple(Query(str(number), "?", (target,)) for number in range(40))
    found = checks.warnings(Corpus("c", (Document("a", "x" * 50, family="own"),), queries))
    assert len(found) == 6 and "35 more" in found[-1].message and "40 of 40 queries" in found[-1].message


def test_several_grades_for_one_document_are_warned_of():
    query = Query("q", "?", (Target("a", 1), Target("b", 1), Target("a", 0), Target("b", 1)))
    found = checks.warnings(Corpus("c", (Document("a", "x"), Document("b", "y")), (query,)))
    assert [str(problem) for problem in found] == ["query 'q': query 'q' grades document 'a' 0, 1: the highest counts"]


def test_problems_of_a_corpus_in_memory_are_named_by_id():
    corpus = Corpus("c", (Document("a", "x"), Document("a", "y")), (Query("q", "?", (Target("b"),)),))
    assert [problem.where for problem in checks.problems(corpus)] == ["document 'a'", "query 'q'"]
