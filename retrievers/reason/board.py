"""What a model is shown of the chosen documents, and under which names: D1 is a document, D1.0031 a section of it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from hybrid_core.llm.token_estimate import estimate
from hybrid_core.types.documents import Document
from retrievers.pages.scores import PageScores, Place

_NODE = re.compile(r"\s*D?(\d{1,4})\s*[.:/]\s*(\d{1,6})\s*", re.IGNORECASE)
_DOCUMENT = re.compile(r"\s*D?(\d{1,4})\s*", re.IGNORECASE)
_BEST_PAGES = 3
_TITLE, _SUMMARY, _DESCRIPTION = 90, 160, 160  # characters
_CHILDREN = 40  # shown when a section is opened
_HEADERS = 0.35  # of the tokens of an outline at most, for the lines about documents


@dataclass(frozen=True, eq=False)
class Board:
    """The chosen documents with the values of their pages; ``found`` are the pages the walk reached, best first."""

    scores: Sequence[PageScores]
    found: Sequence[Place]
    _promises: dict[int, list[float]] = field(default_factory=dict)

    def outline(self, tokens: int, only: Collection[int] | None = None) -> str:
        """The sections that promise most with their ancestors, in the order of the documents, in at most ``tokens``.

        A section's score is the best value of a page in it, relative to the best page of all. ``only`` names the
        documents to show.
        """
        docs = [doc for doc in range(len(self.scores)) if only is None or doc in only]
        lines: dict[Place, str] = {}
        left = tokens
        for doc in docs:
            header = self.document_line(doc)
            if lines and estimate(header) > left - (1 - _HEADERS) * tokens:
                break
            lines[doc, -1] = header
            left -= estimate(header + "\n")
        order = sorted(
            (-promise, len(self.scores[doc].candidate.content.path(at)), doc, at)
            for doc, _ in list(lines)
            for at, promise in enumerate(self.promises(doc))
            if promise > 0
        )
        for _, _, doc, at in order:
            line = self.section_line((doc, at))
            left -= estimate(line + "\n")
            if left < 0:
                break
            lines[doc, at] = line
        shown = set(lines)
        return "\n".join(
            line + ("" if at < 0 else self._inside((doc, at), shown)) for (doc, at), line in sorted(lines.items())
        )

    def document_line(self, doc: int) -> str:
        """A document's card in one line."""
        candidate = self.scores[doc].candidate
        document = candidate.document
        parts = [f"D{doc + 1}", document.name, *card(document), f"{document.pages} pages"]
        if candidate.reason:
            parts.append(f"matches the question by {candidate.reason}")
        return " · ".join(parts)

    def section_line(self, node: Place, *, summary: bool = False) -> str:
        doc, at = node
        content = self.scores[doc].candidate.content
        section = content.sections[at]
        first, last = section.start_page, section.end_page
        span = f"page {first}" if first == last else f"pages {first}-{last}"
        parts = [f"{'  ' * len(content.path(at))}{self.name(node)} {_short(section.title, _TITLE)}", span]
        if (promise := self.promises(doc)[at]) > 0:
            best = ", ".join(map(str, self.best_pages(node)))
            parts.append(f"score {promise:.2f}" + (f", best {best}" if last > first else ""))
        if summary and section.summary:
            parts.append(_short(section.summary, _SUMMARY))
        return " · ".join(parts)

    def children(self, node: Place) -> list[Place]:
        doc, at = node
        return [(doc, child) for child in self.scores[doc].candidate.content.children[at]]

    def opened(self, node: Place) -> str:
        """A section's children, each in a line with the beginning of its summary."""
        children = self.children(node)
        lines = [self.section_line(child, summary=True) for child in children[:_CHILDREN]]
        if len(children) > _CHILDREN:
            lines.append(f"… and {len(children) - _CHILDREN} more")
        return "\n".join([f"{self.name(node)} holds:", *lines])

    def name(self, node: Place) -> str:
        doc, at = node
        return f"D{doc + 1}.{self.scores[doc].candidate.content.sections[at].node_id}"

    def pages_of(self, node: Place) -> range:
        section = self.scores[node[0]].candidate.content.sections[node[1]]
        return range(section.start_page, section.end_page + 1)

    def best_pages(self, node: Place, most: int = _BEST_PAGES) -> list[int]:
        """The pages of a section with the highest values, best first; its first ones where none has any."""
        values = self.scores[node[0]].values
        ranked = sorted(self.pages_of(node), key=lambda page: (-values[page - 1], page))
        return ranked[:most]

    def value(self, doc: int, page: int) -> float:
        """0 to 1, relative to the best page of all."""
        return float(self.scores[doc].values[page - 1]) / self._best

    def promises(self, doc: int) -> list[float]:
        """Of every section of a document the best value of its pages, 0 to 1."""
        if doc not in self._promises:
            values = self.scores[doc].values
            sections = self.scores[doc].candidate.content.sections
            self._promises[doc] = [
                float(values[s.start_page - 1 : s.end_page].max(initial=0.0)) / self._best for s in sections
            ]
        return self._promises[doc]

    def section(self, written: str) -> Place | None:
        """The section that a model means, None where there is none."""
        match = _NODE.fullmatch(written)
        if match is None or not 1 <= int(match[1]) <= len(self.scores):
            return None
        doc, at = int(match[1]) - 1, int(match[2]) - 1
        return (doc, at) if 0 <= at < len(self.scores[doc].candidate.content.sections) else None

    def page(self, document: str, page: int) -> Place | None:
        """The page that a model means, None where there is none."""
        match = _DOCUMENT.fullmatch(document) or _NODE.fullmatch(document)
        if match is None or not 1 <= int(match[1]) <= len(self.scores):
            return None
        doc = int(match[1]) - 1
        return (doc, page) if 1 <= page <= self.scores[doc].candidate.content.pages else None

    @property
    def _best(self) -> float:
        return max((float(one.values.max(initial=0.0)) for one in self.scores), default=0.0) or 1.0

    def _inside(self, node: Place, shown: set[Place]) -> str:
        hidden = sum(child not in shown for child in self.children(node))
        return f" · {hidden} sections inside not shown" if hidden else ""


def card(document: Document) -> Iterable[str]:
    """What is known of a document: whose it is, of which kind and time, else its title; and what it is about."""
    known = document.card
    when = str(known.years[0]) if known.years else ""
    parts = [known.names[0] if known.names else "", known.type, when + (f" Q{known.quarter}" if known.quarter else "")]
    yield ", ".join(part for part in parts if part) or document.title or "unknown kind"
    if document.description:
        yield _short(document.description, _DESCRIPTION)


def _short(text: str, most: int) -> str:
    one_line = " ".join(text.split())
    return one_line if len(one_line) <= most else one_line[: most - 1].rstrip() + "…"
