"""Near-duplicates: what MinHash finds is what a loop over all pairs finds."""

from __future__ import annotations

import json

import numpy as np
import pytest

from corpora.documents import Corpus, Document
from corpora.families import Groups, families, jaccard, near_duplicates, shingles

WORDS = "rent flat lease notice water heat lift porter roof bins keys year month deposit pets smoking".split()


def words_of(generator, count):
    return [WORDS[place] for place in generator.integers(0, len(WORDS), count)]


def shingle_sets(texts):
    """Word 5-grams by the obvious loop; these texts are plain words."""
    return [
        {tuple(words[place : place + 5]) for place in range(max(1, len(words) - 4))}
        for words in (text.lower().split() for text in texts)
    ]


def partition(groups, size):
    return [groups.find(place) for place in range(size)]


@pytest.mark.parametrize("seed", range(5))
def test_near_duplicates_are_those_of_a_loop_over_all_pairs(seed):
    generator = np.random.default_rng(seed)
    texts = []
    for _ in range(8):
        base = words_of(generator, 80)
        for changes in (0, 1, 2, 4, 12):
            words = list(base)
            for place in generator.integers(0, len(words), changes):
                words[place] = "changed"
            texts.append(" ".join(words))
    sets = shingle_sets(texts)
    expected = Groups(len(texts))
    for one in range(len(texts)):
        for other in range(one):
            if len(sets[one] & sets[other]) / len(sets[one] | sets[other]) >= 0.6:
                expected.join(one, other)
    assert partition(near_duplicates(texts), len(texts)) == partition(expected, len(texts))


def test_shingles_count_like_a_loop():
    generator = np.random.default_rng(0)
    texts = [" ".join(words_of(generator, count)) for count in (1, 4, 5, 6, 50)]
    for text, loop in zip(texts, shingle_sets(texts), strict=True):
        assert len(shingles(text, {})) == len(loop)
    assert jaccard(shingles("A b c d e f", {}), shingles("a B c d e, f!", {})) == 1.0


def test_texts_without_spaces_have_shingles_too():
    one, other = "本合同由甲方与乙方签订租金每月一千二百元" * 2, "本合同由甲方与丙方签订租金每月一千二百元" * 2
    assert 0.3 < jaccard(shingles(one, {}), shingles(other, {})) < 1
    assert len(shingles("สวัสดีชาวโลก", {})) > 3


def test_given_families_stay_and_take_near_duplicates_in():
    text = "the rent of this flat is due on the first day of every month without further notice"
    documents = (
        Document("a", text, family="leases"),
        Document("b", text + " indeed"),
        Document("c", "quite another text"),
        Document("d", "quite another text"),
        Document("e", "third", family="leases"),
    )
    assert families(Corpus("c", documents)) == ["leases", "leases", "~c", "~c", "leases"]


def test_licences_agree_with_all_pairs(shared):
    paths = sorted((shared / "formats/spdx_license_neardup/licenses").glob("*.json"))
    texts = [json.loads(path.read_text())["licenseText"] for path in paths]
    repeated = [text for text in texts if texts.count(text) > 1]
    assert (len(repeated), len(repeated) - len(set(repeated))) == (55, 40)
    sets = [shingles(text, {}) for text in texts]
    expected = Groups(len(texts))
    for one in range(len(texts)):
        for other in range(one):
            lengths = sorted((len(sets[one]), len(sets[other])))
            if lengths[0] >= 0.6 * lengths[1] and jaccard(sets[one], sets[other]) >= 0.6:
                expected.join(one, other)
    assert partition(near_duplicates(texts), len(texts)) == partition(expected, len(texts))
