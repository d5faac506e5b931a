"""Families of documents: given, else near-duplicates (DESIGN section 4, splits)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

import numpy as np

from corpora.cutting import THRESHOLD
from corpora.documents import Corpus

SHINGLE = 5
"""Words in a shingle."""

# A script without spaces has no words to find: each of its characters stands for one.
_WORD = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|\w+?(?=\b|["
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff])"
)
_PERMUTATIONS = 128
_BANDS, _ROWS = 32, 4  # finds 99% of the pairs at similarity 0.6; what it finds is verified exactly
_SEED = 1


class Groups:
    """Disjoint sets over 0..size-1, each known by its smallest member."""

    def __init__(self, size: int):
        self._parent = list(range(size))

    def find(self, item: int) -> int:
        while self._parent[item] != item:
            self._parent[item] = self._parent[self._parent[item]]
            item = self._parent[item]
        return item

    def join(self, one: int, other: int) -> None:
        low, high = sorted((self.find(one), self.find(other)))
        self._parent[high] = low

    def join_equal(self, keys: Iterable[object]) -> None:
        """Joins the places that hold the same key; None joins nothing."""
        first: dict[object, int] = {}
        for place, key in enumerate(keys):
            if key is not None:
                self.join(first.setdefault(key, place), place)


def families(corpus: Corpus, threshold: float = THRESHOLD) -> list[str]:
    """The family of each document: its own where given, else `~` and the id of the first near-duplicate.

    Similarity is transitive here: A near B and B near C puts A, B and C together. A document without
    family that is near one with a family belongs to it.
    """
    given = [document.family for document in corpus.documents]
    if None not in given:
        return given
    groups = near_duplicates([document.text for document in corpus.documents], threshold)
    groups.join_equal(given)
    names: dict[int, str] = {}
    for place, family in enumerate(given):
        if family is not None:
            names.setdefault(groups.find(place), family)
    return [
        family if family is not None else names.get(group, f"~{corpus.documents[group].id}")
        for family, group in ((family, groups.find(place)) for place, family in enumerate(given))
    ]


def near_duplicates(texts: Sequence[str], threshold: float = THRESHOLD) -> Groups:
    """Joins texts whose shingle sets have a Jaccard similarity of at least `threshold`, and equal texts.

    Candidates come from MinHash bands; each is verified on the whole sets, so no two texts are joined by chance.
    """
    from datasketch import MinHash, MinHashLSH

    groups = Groups(len(texts))
    groups.join_equal(texts)
    index = MinHashLSH(num_perm=_PERMUTATIONS, params=(_BANDS, _ROWS))
    blank = MinHash(_PERMUTATIONS, seed=_SEED, hashfunc=int)
    words: dict[str, int] = {}
    sets: list[np.ndarray] = []
    for place, text in enumerate(texts):
        sets.append(shingles(text, words))
        if groups.find(place) != place:
            continue  # an equal text stands in the index already
        sketch = blank.copy()
        sketch.update_batch(sets[place].tolist())
        for candidate in sorted(index.query(sketch)):
            if groups.find(candidate) != groups.find(place) and jaccard(sets[candidate], sets[place]) >= threshold:
                groups.join(candidate, place)
        index.insert(place, sketch)
    return groups


def shingles(text: str, words: dict[str, int]) -> np.ndarray:
    """Hashes uint32 `[shingles]`, sorted and distinct, of the text's word 5-grams, case folded.

    A shorter text is one shingle. `words` remembers the hash of each word seen.
    """
    hashes = np.fromiter((_word_hash(word, words) for word in _WORD.findall(text.casefold())), np.uint64)
    if len(hashes) <= SHINGLE:
        whole = hashes.tobytes() if len(hashes) else text.encode()
        return np.frombuffer(hashlib.blake2b(whole, digest_size=4).digest(), np.uint32)
    rolled = np.zeros(len(hashes) - SHINGLE + 1, np.uint64)
    for shift in range(SHINGLE):
        rolled = rolled * np.uint64(0x9E3779B97F4A7C15) + hashes[shift : len(rolled) + shift]
        rolled ^= rolled >> np.uint64(29)
    return np.unique((rolled >> np.uint64(32)).astype(np.uint32))


def jaccard(one: np.ndarray, other: np.ndarray) -> float:
    """Shared over all members of two sorted sets."""
    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared / (len(one) + len(other) - shared)


def _word_hash(word: str, words: dict[str, int]) -> int:
    known = words.get(word)
    if known is None:
        known = words[word] = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "little")
    return known
