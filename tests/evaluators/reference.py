"""Section 6 of DESIGN.md by plain loops, one query at a time: what the fast code must reproduce."""

from __future__ import annotations

import math
import re
from urllib.parse import quote

import numpy as np


def encoded(identifier):
    return re.sub(r"[\s%]", lambda match: quote(match[0]), identifier)


def code(vector, precision):
    """The stored numbers of one full vector, as Python numbers."""
    if precision == "float32":
        return [float(each) for each in vector]
    if precision == "binary":
        return [1 if each >= 0 else -1 for each in vector]
    largest = max(abs(float(each)) for each in vector)
    return [round(127 * float(each) / largest) if largest else 0 for each in vector]


def cosine(q, c):
    dot = math.fsum(a * b for a, b in zip(q, c, strict=True))
    both = math.fsum(a * a for a in q) * math.fsum(b * b for b in c)
    return float(np.float32(dot / math.sqrt(both))) if both else 0.0


def ordered(scores):
    """Ids by score descending, then id bytes descending."""
    return sorted(scores, key=lambda each: (scores[each], encoded(each).encode()), reverse=True)


def ndcg(ranked, grades, k):
    gained = sum(max(grades.get(each, 0), 0) / math.log2(place + 1) for place, each in enumerate(ranked[:k], 1))
    best = sorted((grade for grade in grades.values() if grade > 0), reverse=True)[:k]
    ideal = sum(grade / math.log2(place + 1) for place, grade in enumerate(best, 1))
    return gained / ideal if ideal else 0.0


def trimmed(text, span):
    start, end = span
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def needed(text, span, chunks):
    """Names of the chunks of one document that recover a span, and how many of them."""
    start, end = trimmed(text, span)
    whole = {name for name, (first, last) in chunks.items() if first <= start and end <= last}
    if whole:
        return whole, 1
    parts = {name for name, (first, last) in chunks.items() if first < end and start < last}
    return parts, max(1, len(parts))


class Reference:
    """`chunks`: document id -> {number: (start, end)}; vectors by query id and by (document id, number)."""

    def __init__(self, corpus, chunks, query_vectors, chunk_vectors, ks=(1, 3, 5, 10)):
        self.texts = {document.id: document.text for document in corpus.documents}
        self.corpus, self.ks = corpus, ks
        self.chunks = {document: {f"{document}#{number:06d}": span for number, span in found.items()}
                       for document, found in chunks.items()}
        self.owner = {name: document for document, found in self.chunks.items() for name in found}
        self.query_vectors = query_vectors
        self.chunk_vectors = {f"{document}#{number:06d}": vector for (document, number), vector in chunk_vectors.items()}

    def measure(self, precision, dimension):
        """{(suite, metric, query id): value}"""
        found = {}
        for query in self.corpus.queries:
            q = code(self.query_vectors[query.id], precision)[:dimension]
            scores = {name: cosine(q, code(vector, precision)[:dimension]) for name, vector in self.chunk_vectors.items()}
            for (suite, metric), value in self._query(query, scores).items():
                found[suite, metric, query.id] = value
        return found

    def _twins(self, document):
        return [other for other, text in self.texts.items() if text == self.texts[document]]

    def _query(self, query, scores):
        ranked = ordered(scores)
        documents = {}
        for name, score in scores.items():
            documents[self.owner[name]] = max(score, documents.get(self.owner[name], -2))
        ranked_documents = ordered(documents)
        grades, targets = {}, {}
        for target in query.targets:
            for document in self._twins(target.document):
                grades[document] = max(target.grade, grades.get(document, target.grade))
                if target.grade > 0:
                    targets.setdefault(document, []).append(target)
        relevant = {document: set().union(*(self._relevant(document, target) for target in paths))
                    for document, paths in targets.items()}
        relevant_all = set().union(*relevant.values()) if relevant else set()
        found = {("q2d", f"nDCG@{k}"): ndcg(ranked_documents, grades, k) for k in self.ks}
        rank = next((place for place, each in enumerate(ranked_documents, 1) if each in targets), math.inf)
        if targets:
            found |= {("context", f"Document@{k}"): float(rank <= k) for k in self.ks}
        if relevant_all:
            found |= {("q2c", f"nDCG@{k}"): ndcg(ranked, dict.fromkeys(relevant_all, 1), k) for k in self.ks}
            found |= {("context", f"Answer@{k}"): float(bool(relevant_all & set(ranked[:k]))) for k in self.ks}
            found |= self._evidence(targets, relevant, scores, ranked_documents, rank)
        return found | self._spans(query, ranked)

    def _relevant(self, document, target):
        return set().union(*(needed(self.texts[document], span, self.chunks[document])[0] for span in target.answers))

    def _evidence(self, targets, relevant, scores, ranked_documents, rank):
        document = next((each for each in ranked_documents if any(path.evidence for path in targets.get(each, ()))), None)
        if document is None:
            return {}
        ranked = ordered({name: scores[name] for name in self.chunks[document]})
        removed = next((name for name in ranked if name in relevant[document]), None)
        left = [name for name in ranked if name != removed]
        paths = [path for path in targets[document] if path.evidence]
        path = next((path for path in paths if removed in self._relevant(document, path)), paths[0])
        found = {}
        for k in (*self.ks, 10, len(left)):
            recovered = sum(any(all(self._recovered(document, span, left[:k]) for span in alternative)
                                for alternative in group) for group in path.evidence)
            share = recovered / len(path.evidence)
            if k in self.ks:
                found["context", f"EvidenceRecall@{k}"] = share * (rank <= 10)
            if k == 10:
                found["context", "AllEvidence@10"] = float(share == 1 and rank <= 10)
        found["context", "EvidenceCeiling"] = share
        return found

    def _recovered(self, document, span, names):
        parts, count = needed(self.texts[document], span, self.chunks[document])
        return len(parts & set(names)) >= count

    def _spans(self, query, ranked):
        named = [(target.document, trimmed(self.texts[target.document], span))
                 for target in query.targets if target.grade > 0 for span in target.answers]
        if not named:
            return {}
        found = {}
        for k in self.ks:
            top = [(self.owner[name], self.chunks[self.owner[name]][name]) for name in ranked[:k]]
            covers = [any(document == other and first <= start and end <= last for other, (start, end) in named)
                      for document, (first, last) in top]
            found["spans", f"SpanHit@{k}"] = float(any(covers))
            found["spans", f"SpanMRR@{k}"] = 1 / (covers.index(True) + 1) if any(covers) else 0.0
            found["spans", f"UnionHit@{k}"] = float(any(
                all(any(document == other and first <= character < last for document, (first, last) in top)
                    for character in range(start, end)) for other, (start, end) in named))
        return found
