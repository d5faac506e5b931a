"""A corpus in the making: what every importer does with documents, queries and answers it has found."""

from __future__ import annotations

from collections.abc import Sequence

from corpora.documents import Corpus, Document, Query, Span, Target
from corpora.importers.report import ImportReport
from corpora.spans import cuts_word, trim

NEAR = 10
"""How far from its offset an answer may stand, in characters, to be found again."""


class Building:
    """Collects records under unique ids; what cannot be kept is reported and left out."""

    def __init__(self, name: str, report: ImportReport):
        self.name, self.report = name, report
        self._documents: dict[str, Document] = {}
        self._queries: dict[str, Query] = {}
        self._uses: dict[tuple[str, str], int] = {}

    def document(
        self, identifier: str, text: str, where: str, title: object = None, chunks: Sequence[Span] | None = None
    ) -> str | None:
        """The id under which the document is kept, or None. A title that is no text is left out."""
        if not self._readable("document", identifier, text, where):
            return None
        identifier = self._unique("document", identifier, self._documents, where)
        self._documents[identifier] = Document(
            identifier, text, title if isinstance(title, str) and title else None, chunks=tuple(chunks) if chunks else None
        )
        return identifier

    def query(self, identifier: str, text: str, targets: Sequence[Target], where: str) -> None:
        if not self._readable("query", identifier, text, where):
            return
        if not targets:
            self.report.dropped("query", "no document left that it asks for", where, text)
            return
        identifier = self._unique("query", identifier, self._queries, where)
        self._queries[identifier] = Query(identifier, text, tuple(targets))

    def span(self, what: str, text: str, wanted: str, start: int, where: str) -> Span | None:
        """Where `wanted`, said to stand at `start`, stands without its edge white space; None when uncertain.

        Repaired: edge white space; an offset off by a few characters, when the string stands only once so near, and not
        inside another word.
        """
        bare = wanted.strip()
        if not bare:
            self.report.dropped(what, "empty", where, wanted)
            return None
        if start >= 0 and text.startswith(wanted, start):
            first, last = trim(text, (start, start + len(wanted)))
            if bare != wanted:
                self.report.repaired(what, "edge white space", where, wanted, bare)
            return first, last
        if start >= 0 and text.startswith(bare, start):
            self.report.repaired(what, "edge white space that the offset does not count", where, wanted, bare)
            return start, start + len(bare)
        near = occurrences(text, bare, start - NEAR, start + NEAR)
        if start >= 0 and len(near) == 1 and cuts_word(text, (near[0], near[0] + len(bare))):
            self.report.dropped(what, "stands near its offset only inside another word", where, f"[{start}] {wanted}")
            return None
        if start >= 0 and len(near) == 1:
            self.report.repaired(what, "shifted offset", where, f"[{start}] {wanted}", f"[{near[0]}] {bare}")
            return near[0], near[0] + len(bare)
        if near and start >= 0:
            reason = "stands several times near its offset"
        else:
            reason = "stands elsewhere, far from its offset" if bare in text else "stands nowhere in the text"
        self.report.dropped(what, reason, where, f"[{start}] {wanted}")
        return None

    def corpus(self) -> Corpus:
        """The corpus; the report learns what was kept."""
        report, queries = self.report, tuple(self._queries.values())
        answers = [sum(len(target.answers) for target in query.targets) for query in queries]
        report.documents, report.queries, report.answers = len(self._documents), len(queries), sum(answers)
        report.queries_without_answers = answers.count(0)
        return Corpus(self.name, tuple(self._documents.values()), queries)

    def _readable(self, what: str, identifier: str, text: str, where: str) -> bool:
        if not text.strip() or not identifier.strip():
            self.report.dropped(what, "empty text" if not text.strip() else "empty id", where, text or identifier)
            return False
        try:
            f"{identifier}{text}".encode()
        except UnicodeEncodeError:
            self.report.dropped(what, "half of a surrogate pair, which no UTF-8 text holds", where, ascii(text))
            return False
        return True

    def _unique(self, what: str, identifier: str, taken: dict, where: str) -> str:
        found = identifier
        while found in taken:
            self._uses[what, identifier] = number = self._uses.get((what, identifier), 1) + 1
            found = f"{identifier}~{number}"
        if found != identifier:
            self.report.repaired(what, "id used before", where, identifier, found)
        return found


def occurrences(text: str, wanted: str, first: int, last: int) -> list[int]:
    """Starts from `first` to `last`, both included, at which `wanted` stands."""
    return [start for start in range(max(0, first), last + 1) if text.startswith(wanted, start)]


def joined(paragraphs: Sequence[str]) -> tuple[str, list[Span]]:
    """Paragraphs joined by a blank line, and the span of each; the joint belongs to none."""
    spans, place = [], 0
    for paragraph in paragraphs:
        spans.append((place, place + len(paragraph)))
        place += len(paragraph) + len(JOINT)
    return JOINT.join(paragraphs), spans


JOINT = "\n\n"
