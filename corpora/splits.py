"""Splits: cut by family, frozen, hashed, and proven free of leaks (DESIGN section 4)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from corpora.cutting import SHARES, THRESHOLD, shares_problem
from corpora.documents import Corpus, Query
from corpora.errors import InputError, Problem
from corpora.families import Groups, families, near_duplicates
from corpora.files import write_atomically

FILE = "splits.json"
_SHOWN = 20


def cut(
    corpus: Corpus, shares: Mapping[str, float] | None = None, seed: int = 0, threshold: float = THRESHOLD
) -> dict[str, Corpus]:
    """Cuts by family: documents of a family, and queries that ask for them, go to one split together.

    Every document of the result carries its family. Families that one query, or queries of the same text,
    ask for stay together too. The same corpus, shares and seed give the same splits.
    """
    shares = dict(SHARES if shares is None else shares)
    if wrong := shares_problem(shares):
        raise InputError(Problem("shares", wrong))
    named = families(corpus, threshold)
    groups = query_groups(corpus, named)
    members: dict[int, int] = {}
    for place in range(len(corpus.documents)):
        group = groups.find(place)
        members[group] = members.get(group, 0) + 1
    if len(members) < len(shares):
        raise InputError(
            Problem(
                corpus.name,
                f"has {len(members)} families that share no query, too few for the "
                f"splits {', '.join(shares)}: families are never torn apart",
            )
        )
    chosen = _assign(members, shares, np.random.default_rng(seed))
    split_of = {document.id: chosen[groups.find(place)] for place, document in enumerate(corpus.documents)}
    family_of = {document.id: family for document, family in zip(corpus.documents, named, strict=True)}
    return {
        name: _part(
            corpus,
            f"{corpus.name}-{name}",
            family_of,
            {identifier for identifier, split in split_of.items() if split == name},
        )
        for name in shares
    }


def query_groups(corpus: Corpus, named: Sequence[str]) -> Groups:
    """Documents joined by family, by the queries that ask for them, and by queries of identical text.

    `named`: the family of each document. Judged documents of grade 0 or less join nothing.
    """
    groups = Groups(len(corpus.documents))
    groups.join_equal(named)
    first: dict[str, int] = {}
    for query in corpus.queries:
        for identifier in _sought(query):
            place = corpus.position[identifier]
            groups.join(first.setdefault(query.text.strip(), place), place)
    return groups


def document_clusters(corpus: Corpus, threshold: float = THRESHOLD) -> list[str]:
    """The cluster of each document, for paired tests: families that queries join are one, named by the first."""
    named = families(corpus, threshold)
    groups = query_groups(corpus, named)
    return [named[groups.find(place)] for place in range(len(corpus.documents))]


def query_families(corpus: Corpus, threshold: float = THRESHOLD) -> list[str]:
    """The cluster of each query: that of the documents it asks for."""
    clusters = document_clusters(corpus, threshold)
    return [clusters[corpus.position[_sought(query)[0]]] for query in corpus.queries]


def family_count(corpus: Corpus, threshold: float = THRESHOLD) -> int:
    """Independent families that the queries ask for; under 20 a confirm split cannot certify."""
    return len(set(query_families(corpus, threshold)))


def split_hash(splits: Mapping[str, Corpus]) -> str:
    """Names and content of all splits; recorded with every result."""
    content = {name: corpus.sha256 for name, corpus in sorted(splits.items())}
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def freeze(folder: Path, corpus: Corpus, splits: Mapping[str, Corpus]) -> str:
    """Writes `splits.json`, which says which records of `corpus` each split holds; gives the split hash."""
    content = {
        "corpus": corpus.sha256,
        "hash": split_hash(splits),
        "splits": {
            name: {
                "sha256": part.sha256,
                "documents": [document.id for document in part.documents],
                "families": [document.family for document in part.documents],
                "queries": [query.id for query in part.queries],
            }
            for name, part in splits.items()
        },
    }
    write_atomically(Path(folder) / FILE, json.dumps(content, ensure_ascii=False, indent=1))
    return content["hash"]


def thaw(folder: Path, corpus: Corpus) -> dict[str, Corpus]:
    """The frozen splits of the corpus; an error when either has changed since."""
    path = Path(folder) / FILE
    try:
        frozen = json.loads(path.read_text(encoding="utf-8"))
        parts, recorded = frozen["splits"], frozen["hash"]
        if frozen["corpus"] != corpus.sha256:
            raise InputError(
                Problem(
                    str(path),
                    f"was frozen for another corpus: {corpus.name} has changed since. "
                    "Use a new folder, or bring the old corpus back",
                )
            )
        splits = {
            name: _part(
                corpus,
                f"{corpus.name}-{name}",
                dict(zip(part["documents"], part["families"], strict=True)),
                set(part["documents"]),
            )
            for name, part in parts.items()
        }
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(Problem(str(path), f"cannot be read: {error}")) from None
    if split_hash(splits) != recorded:
        raise InputError(Problem(str(path), "has been edited: its records no longer give its hash"))
    return splits


def leaks(splits: Mapping[str, Corpus], threshold: float = THRESHOLD) -> list[Problem]:
    """What stands in more than one split: documents and queries by id or text, families, near-duplicates."""
    parts = [(name, document) for name, corpus in splits.items() for document in corpus.documents]
    asked = [(name, query) for name, corpus in splits.items() for query in corpus.queries]
    near = near_duplicates([document.text for _, document in parts], threshold)
    keys = {
        "document id": [(name, document.id) for name, document in parts],
        "document text": [(name, document.text) for name, document in parts],
        "family": [(name, document.family) for name, document in parts if document.family is not None],
        "near-duplicate": [(name, parts[near.find(place)][1].id) for place, (name, _) in enumerate(parts)],
        "query id": [(name, query.id) for name, query in asked],
        "query text": [(name, query.text.strip()) for name, query in asked],
    }
    return [problem for kind, pairs in keys.items() for problem in _shared(kind, pairs)]


def _shared(kind: str, pairs: list[tuple[str, str]]) -> list[Problem]:
    holders: dict[str, dict[str, None]] = {}
    for name, key in pairs:
        holders.setdefault(key, {})[name] = None
    found = [
        Problem(" and ".join(names), f"share the {kind} {key[:80]!r}")
        for key, names in holders.items()
        if len(names) > 1
    ]
    rest = len(found) - _SHOWN
    return found[:_SHOWN] + ([Problem("splits", f"share {rest} more of kind {kind}")] if rest > 0 else [])


def _sought(query: Query) -> list[str]:
    """The documents that the query asks for; all it names when it asks for none."""
    wanted = [target.document for target in query.targets if target.grade > 0]
    return wanted or [target.document for target in query.targets]


def _assign(members: dict[int, int], shares: dict[str, float], generator: np.random.Generator) -> dict[int, str]:
    """Each group to the split that lacks most documents of its share; large groups first, ties at random."""
    order = list(members)
    generator.shuffle(order)
    order.sort(key=lambda group: -members[group])
    total = sum(members.values())
    lacking = {name: share * total for name, share in shares.items()}
    chosen: dict[int, str] = {}
    for turn, group in enumerate(order):
        empty = [name for name in shares if name not in chosen.values()] if len(order) - turn <= len(shares) else []
        name = max(empty or shares, key=lambda split: lacking[split])
        chosen[group] = name
        lacking[name] -= members[group]
    return chosen


def _part(corpus: Corpus, name: str, family_of: Mapping[str, str], held: set[str]) -> Corpus:
    """The documents held and the queries that ask for them; judged documents of other splits are left out."""
    documents = tuple(
        replace(document, family=family_of[document.id]) for document in corpus.documents if document.id in held
    )
    queries = tuple(
        replace(query, targets=tuple(target for target in query.targets if target.document in held))
        for query in corpus.queries
        if _sought(query)[0] in held
    )
    return Corpus(name, documents, queries)
