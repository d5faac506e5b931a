from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from corpora.documents import Corpus, Document
from corpora.errors import InputError
from evaluators.encoder import Encoded
from evaluators.evaluate import evaluate
from evaluators.figures import needle_curves, needle_depths
from evaluators.suites.needle import NeedlePlan, build
from evaluators.suites.needle_figures import CHANCE, by_depth, figures, summary
from evaluators.suites.needles import BUILT_IN, read, with_expansions
from evaluators.tasks import Task
from tests.evaluators.worlds import word_tokenizer


@pytest.fixture(scope="module")
def tokenizer():
    return word_tokenizer()


@pytest.fixture(scope="module")
def filler():
    return Corpus("filler", tuple(Document(str(place), " ".join(f"Nothing happens on day {place} {day}." for day in range(40)))
                                  for place in range(4)))


class Bag:
    """Words of a fixed list, counted: a needle's words stay visible, and fade as the haystack grows."""

    name, quantiser, contextual, tokenizer = "bag", "none", True, None
    words = sorted({word.strip(".,:?").lower() for needle in BUILT_IN
                    for text in (needle.default, needle.literal) for word in text.split()} | {"nothing", "happens"})
    dimension = len(words)

    def queries(self, texts):
        found = [[word.strip(".,:?").lower() for word in text.split()] for text in texts]
        return np.array([[words.count(word) for word in self.words] for words in found], np.float32)

    def documents(self, corpus, table):
        return Encoded(self.queries([document.text for document in corpus.documents]), 0, 0, len(table), len(table))


PLAN = NeedlePlan(lengths=(64, 256), depths=(0.0, 0.5, 1.0))


@pytest.fixture(scope="module")
def task(filler):
    return Task("filler", filler, domain="days")


@pytest.fixture(scope="module")
def results(tokenizer, task):
    return evaluate(Bag(), [task], ("needle",), needle=PLAN, tokenizer=tokenizer)


def test_haystacks_have_their_length_with_the_needle(tokenizer, task):
    needles = build(tokenizer, task, PLAN)
    texts = [document.text for document in needles.task.corpus.documents]
    sizes = np.array([len(ids) for ids, _ in tokenizer.encode(texts)])
    assert (sizes[needles.haystack] == np.array(PLAN.lengths)[:, None]).all()
    assert (sizes[needles.twin] == np.array(PLAN.lengths)[:, None]).all()
    for query, places in zip(needles.task.corpus.queries, needles.haystack, strict=True):
        needle, _, order, _ = query.id.rsplit("/", 3)
        sentence = getattr(next(each for each in BUILT_IN if each.id == needle), order)
        assert all(sentence in texts[place] for place in places.ravel())
    assert not any(needle.default in texts[place] for place in needles.twin.ravel() for needle in BUILT_IN)
    found = [texts[needles.haystack[0, 1, place]].index(BUILT_IN[0].default) for place in range(3)]
    assert found == sorted(found) and found[0] < 60  # depths: the start, the middle, the end


def test_every_question_is_measured(results):
    frame = results.per_query[results.per_query.dimension == results.dimension]
    counted = frame[frame.metric == "AUC@64"].groupby("precision", observed=True).size()
    assert (counted == 8 * 2 * 2 * 2).all() and set(counted.index) == {"float32", "int8", "binary"}
    assert set(results.queries.domain.dropna()) == {"place", "diet", "work", "health"}
    assert set(results.queries.ability) >= {"literal, default, plain", "one-hop, inverted, expanded"}
    figures = results.figures()
    assert figures["needle/AUC@64"] == pytest.approx(frame[(frame.metric == "AUC@64") & (frame.precision == "float32")].value.mean())
    assert not any("depth=" in name for name in figures)


def test_a_needle_is_seen_and_fades(results):
    literal = summary(results).query("question == 'literal' and order == 'default' and not expanded").set_index("length")
    assert (literal.Preferred > 0.9).all() and (literal.AUC > 0.9).all()
    assert literal.Normalised[64] > literal.Normalised[256] > literal.NormalisedChance[256]
    assert (literal.questions == len(BUILT_IN)).all()
    categories = summary(results, ["category"])
    assert set(categories.category) == {"place", "diet", "work", "health"} and (categories.questions == 16).all()


def test_figures_by_hand():
    similarity, twin = np.array([[[0.8, 0.6, 0.4]]]), np.array([[[0.1, 0.6, 0.5]]])
    found = {name: value.item() for name, value in
             figures(similarity, twin, np.array([0.8]), (8,), (0.0, 0.5, 1.0)).items()}
    assert found["Normalised@8"] == pytest.approx(0.75) and found["NormalisedChance@8"] == pytest.approx(0.5)
    assert found["Preferred@8"] == pytest.approx((1 + 0.5 + 0) / 3)
    assert found["AUC@8"] == pytest.approx((3 + 2.5 + 1) / 9)
    assert found["Separation@8"] == pytest.approx(0.2)
    assert found["CohensD@8"] == pytest.approx(0.2 / np.sqrt((0.04 + np.var([0.1, 0.6, 0.5], ddof=1)) / 2))
    assert (found["DepthCorrelation@8"], found["DepthSlope@8"]) == (pytest.approx(-1), pytest.approx(-0.5))
    assert found["Normalised@8[depth=0.5]"] == pytest.approx(0.75)
    assert found["NormalisedChance@8[depth=1]"] == pytest.approx(0.625)


@pytest.mark.parametrize("seed", range(3))
def test_figures_against_plain_loops(seed):
    rng = np.random.default_rng(seed)
    depths, lengths = (0.0, 0.3, 0.6, 1.0), (4, 8)
    similarity, twin = rng.integers(-3, 8, (2, 5, 2, 4)) / 8  # Few values: ties.
    reference = rng.uniform(-0.2, 1, 5)
    found = figures(similarity, twin, reference, lengths, depths)
    for query in range(5):
        for place, length in enumerate(lengths):
            has, bare = similarity[query, place].tolist(), twin[query, place].tolist()
            wins = sum((a > b) + (a == b) / 2 for a in has for b in bare)
            assert found[f"AUC@{length}"][query] == pytest.approx(wins / 16)
            pairs = sum((a > b) + (a == b) / 2 for a, b in zip(has, bare))
            assert found[f"Preferred@{length}"][query] == pytest.approx(pairs / 4)
            if reference[query] <= 0:
                assert np.isnan(found[f"Normalised@{length}"][query])
                continue
            assert found[f"Normalised@{length}"][query] == pytest.approx(np.mean(has) / reference[query])
            if len(set(has)) > 1:
                expected = np.corrcoef(depths, has)[0, 1], np.polyfit(depths, np.array(has) / reference[query], 1)[0]
                assert found[f"DepthCorrelation@{length}"][query] == pytest.approx(expected[0])
                assert found[f"DepthSlope@{length}"][query] == pytest.approx(expected[1])


def test_what_cannot_see_the_needle_is_at_chance(tokenizer, task):
    class Blind(Bag):
        def documents(self, corpus, table):
            vectors = np.random.default_rng(0).normal(size=(len(table), self.dimension)).astype(np.float32)
            return Encoded(vectors, 0, 0, len(table), len(table))

    many = NeedlePlan(lengths=(64,), depths=tuple(np.linspace(0, 1, 21)))
    figures = evaluate(Blind(), [task], ("needle",), needle=many, tokenizer=tokenizer).figures()
    for name, chance in CHANCE.items():
        if name != "DepthSlope":  # in units of a reference that is near 0 here
            assert figures[f"needle/{name}@64"] == pytest.approx(chance, abs=0.15), name


def test_same_seed_same_haystacks(tokenizer, task):
    def texts(seed):
        return [document.text for document in build(tokenizer, task, replace(PLAN, seed=seed)).task.corpus.documents]

    assert texts(0) == texts(0) != texts(1)


def test_too_little_filler_is_refused_or_said(tokenizer, task):
    with pytest.raises(InputError, match="8192"):
        build(tokenizer, task, NeedlePlan(lengths=(8192,)))
    needles = build(tokenizer, task, NeedlePlan())
    assert needles.lengths == (128, 256, 512, 1024) and needles.left_out == 3
    with pytest.raises(InputError, match="tokenizer"):
        evaluate(Bag(), [task], ("needle",))


def test_bm25_finds_needles(tokenizer, task):
    from evaluators.bm25 import BM25

    figures = evaluate(BM25(tokenizer), [task], ("needle",), needle=PLAN).figures()
    assert figures["needle/AUC@64"] > 0.6


def test_needles_of_ones_own(tmp_path):
    good = {"id": "a", "category": "c", "default": "d", "inverted": "i", "literal": "l", "one_hop": "o"}
    (tmp_path / "n.jsonl").write_text(json.dumps(good) + "\n\n" + json.dumps(good | {"literal_expansion": "x"}) + "\n")
    assert [needle.literal_expansion for needle in read(tmp_path / "n.jsonl")] == ["", "x"]
    (tmp_path / "n.jsonl").write_text('{"id": "a"}\n{\n' + json.dumps(good | {"more": "x"}))
    with pytest.raises(InputError) as caught:
        read(tmp_path / "n.jsonl")
    assert len(caught.value.problems) == 3


def test_expansions_from_a_file(tmp_path):
    path = tmp_path / "e.jsonl"
    path.write_text('{"id": "opera", "literal_expansion": "music hall"}\n')
    found = with_expansions(BUILT_IN, path)
    assert (found[0].literal_expansion, found[0].one_hop_expansion, found[1].literal_expansion) == ("music hall", "", "")
    path.write_text('{"id": "oprea", "literal_expansion": "x"}\n{"id": "opera", "more": "x"}\n')
    with pytest.raises(InputError) as caught:
        with_expansions(BUILT_IN, path)
    assert "e.jsonl:2" in str(caught.value) and "did you mean 'opera'" in str(caught.value)


def test_curves(results):
    assert len(needle_curves({"bag": summary(results)}, "AUC").axes[0].lines) == 3
    assert len(needle_depths([results]).axes[0].lines) == 2 * 2
    depths = by_depth(results)
    assert depths.depth.tolist() == [0.0, 0.5, 1.0] * 2 and depths.length.tolist() == [64] * 3 + [256] * 3
