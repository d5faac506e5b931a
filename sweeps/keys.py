"""The one codec between the ledger's metric names and MLflow's keys.

MLflow allows letters, digits, `_ - . space : /` in a key, at most 250 characters, and no path that normalises to
something else. A name's readable key is used as it is when it decodes to that name again:

    dev/context/Answer@10                 <-> dev/context/answer_at_10
    dev/storage/nDCG@10[d=64,int8]        <-> dev/storage/ndcg_at_10.d-64.int8
    dev/chunk-size/nDCG@10[tokens:64]     <-> dev/chunk-size/ndcg_at_10.tokens:64

Every other name keeps what is readable and gets eight digits of its own hash, so two names never share a key, also
in databases that fold case.
"""

from __future__ import annotations

import hashlib
import posixpath
import re
from collections.abc import Iterable

from corpora.errors import StockpotError

LONGEST_KEY = 250

_METRIC = re.compile(r"([A-Za-z]+)@([0-9]+(?:tok)?)((?:\[[^\[\]]*\])?)")
_KEY = re.compile(r"([a-z]+(?:_[a-z]+)*)_at_([0-9]+(?:tok)?)((?:\.[a-z0-9:-]+)*)")
_WORDS = re.compile(r"nDCG|AUC|M?RR|AP|[A-Z][a-z]*|[a-z]+")
_SPELLED = {"ndcg": "nDCG", "mrr": "MRR", "rr": "RR", "ap": "AP", "auc": "AUC"}
_ILLEGAL = re.compile(r"[^\w.\- :/]")
_HASHED = re.compile(r".*-[0-9a-f]{8}")


def metric_key(name: str) -> str:
    """The MLflow key of a metric name; the same name always has the same key."""
    readable = "/".join(map(_readable, name.split("/")))
    return readable if metric_name(readable) == name and name else _hashed(readable, name)


def metric_name(key: str) -> str | None:
    """The metric name that a readable key stands for; None for a key that carries a hash, or is no key at all."""
    if _HASHED.fullmatch(key) or not key.isascii() or key != key.lower() or not _legal(key):
        return None
    return "/".join(map(_spelled, key.split("/")))


def metric_keys(names: Iterable[str]) -> dict[str, str]:
    """Name -> key for all of `names`; refuses the improbable collision of two hashes instead of mixing two curves."""
    keys: dict[str, str] = {}
    owners: dict[str, str] = {}
    for name in names:
        key = keys[name] = metric_key(name)
        if owners.setdefault(key, name) != name:
            raise StockpotError(f"metrics {owners[key]!r} and {name!r} share the MLflow key {key!r}: rename one")
    return keys


def param_key(name: str) -> str:
    """The MLflow key of a parameter: the name itself where MLflow allows it."""
    return name if _legal(name) and not _HASHED.fullmatch(name) else _hashed(name, name)


def _readable(segment: str) -> str:
    metric = _METRIC.fullmatch(segment)
    if not metric:
        return segment.lower()
    words, cutoff, axes = metric.groups()
    key = f"{'_'.join(_WORDS.findall(words)).lower()}_at_{cutoff}"
    return key + "".join("." + axis.replace("=", "-") for axis in axes[1:-1].split(",") if axes)


def _spelled(segment: str) -> str:
    metric = _KEY.fullmatch(segment)
    if not metric:
        return segment
    words, cutoff, axes = metric.groups()
    name = "".join(_SPELLED.get(word, word.capitalize()) for word in words.split("_")) + "@" + cutoff
    return name + (f"[{','.join(axis.replace('-', '=') for axis in axes[1:].split('.'))}]" if axes else "")


def _legal(key: str) -> bool:
    normal = posixpath.normpath(key) == key and not key.startswith(("/", ".."))
    return 0 < len(key) <= LONGEST_KEY and normal and key != "." and not _ILLEGAL.search(key) and "\n" not in key


def _hashed(readable: str, name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    parts = (_ILLEGAL.sub("_", part).strip(". ") for part in readable.split("/"))
    clean = "/".join(part for part in parts if part)[: LONGEST_KEY - 9].rstrip("/. ")
    return f"{clean or 'metric'}-{digest}"
