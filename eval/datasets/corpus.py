"""What a library holds, read through the engine: page texts for the baselines, sections for gold places."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from eval.datasets.locate import letters
from hybrid_core.types.documents import Document, Section
from hybrid_pageindex import Engine, run

_AT_ONCE = 500  # pages read in one call
_BEGINNING = 40  # letters that tell where a text begins


class Corpus:
    """The published documents of the engine's library, by file name. Texts and outlines are read once, when needed."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._texts: dict[str, list[str]] = {}
        self._sections: dict[str, tuple[Section, ...]] = {}

    @cached_property
    def documents(self) -> dict[str, Document]:
        return {document.name: document for document in run(self._engine.documents()) if document.published}

    @cached_property
    def ids(self) -> dict[str, str]:
        """doc_id by file name."""
        return {name: document.doc_id for name, document in self.documents.items()}

    def texts(self, name: str) -> list[str]:
        """The text of every page of a document."""
        if name not in self._texts:
            document = self.documents[name]
            pages = [
                page
                for start in range(1, document.pages + 1, _AT_ONCE)
                for page in run(
                    self._engine.pages(document.doc_id, list(range(start, min(start + _AT_ONCE, document.pages + 1))))
                )
            ]
            self._texts[name] = [page.text for page in pages]
        return self._texts[name]

    def sections(self, name: str) -> tuple[Section, ...]:
        """A document's sections in preorder."""
        if name not in self._sections:
            found = run(self._engine.outline(self.documents[name].doc_id))
            self._sections[name] = tuple(node.section for node in found.nodes)
        return self._sections[name]

    def sections_on(self, name: str, page: int) -> tuple[str, ...]:
        """node_ids of the deepest sections that have text on a page; empty for an unknown document or page."""
        return tuple(dict.fromkeys(node for _, _, node in self._stretches(name, page)))

    def section_at(self, name: str, page: int, text: str = "") -> str:
        """node_id of the deepest section that holds ``text``, or most of the page where it is not found."""
        cut = self._stretches(name, page)
        if not cut:
            return ""
        if text and len(cut) > 1 and (at := offset(self.texts(name)[page - 1], text)) is not None:
            return next(node for start, _, node in reversed(cut) if start <= at)
        return max(cut, key=lambda stretch: stretch[1] - stretch[0])[2]

    def section_range(self, name: str, node_id: str) -> tuple[int, int]:
        """First and last page of a section."""
        return next((s.start_page, s.end_page) for s in self.sections(name) if s.node_id == node_id)

    def _stretches(self, name: str, page: int) -> list[tuple[int, int, str]]:
        """A page cut where sections begin and end: (start, end, node_id of the deepest section), by characters."""
        if name not in self.documents or not 1 <= page <= self.documents[name].pages:
            return []
        return stretches(self.sections(name), page, len(self.texts(name)[page - 1]))


def offset(page: str, text: str) -> int | None:
    """Where a text begins on a page, by its first letters, spaces and signs aside; None where it does not."""
    at = letters(page).find(letters(text)[:_BEGINNING])
    if at < 0:
        return None
    seen = 0
    for position, character in enumerate(page):
        seen += len(letters(character))
        if seen > at:
            return position
    return None


def stretches(sections: Sequence[Section], page: int, length: int) -> list[tuple[int, int, str]]:
    """A page of ``length`` characters cut at its sections' ends: (start, end, node_id of the deepest section there)."""
    here = [section for section in sections if section.start_page <= page <= section.end_page]
    cuts = {0}
    cuts |= {min(s.anchor, length) for s in here if s.start_page == page}
    cuts |= {min(s.end_anchor, length) for s in here if s.end_page == page and s.end_anchor is not None}
    edges = [*sorted(cuts), length]
    found = []
    for start, end in pairwise(edges):
        if start == end and length:  # an empty page still belongs to somebody
            continue
        holders = [
            s.node_id
            for s in here
            if (s.start_page < page or s.anchor <= start)
            and (s.end_page > page or s.end_anchor is None or start < s.end_anchor)
        ]
        if holders:  # in preorder the last one is the deepest
            found.append((start, end, holders[-1]))
    return found
