"""The pages that answers are made from, read from the catalog: texts, outlines, and those that a model asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hybrid_core.llm.token_estimate import cut, estimate, shares
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.text.links import visible
from hybrid_core.types.documents import Document, Page, PageText, Section
from hybrid_core.types.results import PageFound, Receipt, SectionFound
from retrievers.answer.wishes import MOST_PAGES, Wish
from retrievers.pages.going_on import runs_over

_SNIPPET = 280  # characters
_LISTED = 4  # documents


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document that the model may read more of; ``like`` is one of its pages that were found."""

    document: Document
    sections: tuple[Section, ...]
    like: PageFound


def _hides(page: PageText | None) -> bool:
    return page is not None and bool(page.hidden)


class LibraryPages:
    """Of one question: what it read stays as it was."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def texts(self, found: Sequence[PageFound]) -> tuple[list[str], list[str]]:
        """The full texts, with what a model saw; of a page that has been removed since its passage, and it is said."""
        with self._catalog.snapshot() as snapshot:
            documents = [snapshot.document(page.doc_id) for page in found]
            contents = {one.doc_id: one.content_id for one in documents if one is not None}
            places = [(contents.get(page.doc_id, ""), page.page) for page in found]
            held = snapshot.page_texts(places)
        texts = [held[at].whole if at in held else page.snippet for at, page in zip(places, found, strict=True)]
        gone = [f"{p.doc_name}, page {p.page}" for place, p in zip(places, found, strict=True) if place not in held]
        hidden = [
            f"{p.doc_name}, page {p.page}" for place, p in zip(places, found, strict=True) if _hides(held.get(place))
        ]
        return texts, [
            *(f"removed since it was found, so only the passage is left: {page}" for page in gone),
            *(f"hidden text on this page, left out: {page}" for page in hidden),
        ]

    def library(self, found: Sequence[PageFound]) -> str:
        """The id of the one library that all of them are of, "" where there are several."""
        with self._catalog.snapshot() as snapshot:
            ids = {d.library for page in found if (d := snapshot.document(page.doc_id)) is not None}
        return ids.pop() if len(ids) == 1 else ""

    def listed(self, found: Sequence[PageFound]) -> list[ListedDocument]:
        """The documents of the best pages, in their order."""
        first = {page.doc_id: page for page in reversed(found)}
        best = list(dict.fromkeys(page.doc_id for page in found))[:_LISTED]
        with self._catalog.snapshot() as snapshot:
            documents = [document for one in best if (document := snapshot.document(one)) is not None]
            return [ListedDocument(d, snapshot.sections(d.content_id), first[d.doc_id]) for d in documents]

    def wished(
        self, wishes: Sequence[Wish], listed: Sequence[ListedDocument], have: Sequence[PageFound]
    ) -> tuple[list[PageFound], list[int], list[str]]:
        """What a model asked for: pages that it has not, the numbers of sources to be given whole, and what of it there
        is not.
        """
        wanted: dict[tuple[int, int], None] = {}
        whole: list[int] = []
        lost: list[str] = []
        at = {(page.doc_id, page.page): number for number, page in enumerate(have, 1)}
        for wish in wishes:
            if wish.source:
                if wish.source <= len(have):
                    whole.append(wish.source)
                else:
                    lost.append(wish.written)
                continue
            pages = list(_pages(wish, listed))
            if not pages:
                lost.append(wish.written)
            wanted |= {(wish.document - 1, page): None for page in pages}
        places = list(wanted)[:MOST_PAGES]
        known = [at[key] for which, page in places if (key := (listed[which].document.doc_id, page)) in at]
        new = [
            self._page(listed[which], page) for which, page in places if (listed[which].document.doc_id, page) not in at
        ]
        return new, [*whole, *known], lost

    def next_page(self, page: PageFound, text: str) -> PageFound | None:
        """Return the page after one where what the passage says may go on there; else None."""
        listed = next(iter(self.listed([page])), None)
        if listed is None or page.page >= listed.document.pages:
            return None
        with self._catalog.snapshot() as snapshot:
            following = snapshot.texts(listed.document.content_id, page.page + 1, page.page + 1)
        after = next((text for _, text in following), "")
        begins = any(section.start_page == page.page + 1 for section in listed.sections)
        if not runs_over(text, after, page.snippet, begins):
            return None
        return self._page(listed, page.page + 1)

    def _page(self, listed: ListedDocument, number: int) -> PageFound:
        with self._catalog.snapshot() as snapshot:
            (page,) = snapshot.pages(listed.document.content_id, [number])
        section, path = section_on(listed.sections, number)
        found = SectionFound(
            section.node_id, section.title, path, section.start_page, section.end_page, 0.0
        ) if section else listed.like.section  # fmt: skip
        receipt = Receipt({}, None, None, 0.0, 0.0, 0.0, 0.0, 0.0, "", found.path, 0.0, "read as the model asked")
        return replace(
            listed.like, page=number, label=page.label, score=0.0, snippet=_snippet(page), section=found,
            receipt=receipt, also_in=(), place="", near="", see=(),
        )  # fmt: skip


def outline(listed: Sequence[ListedDocument], tokens: int) -> str:
    """The documents as D1, D2, … with their pages and as many levels of their sections as there is room for."""
    whole = [_lines(one, number, 6) for number, one in enumerate(listed, 1)]
    room = shares([estimate(text) for text in whole], tokens)
    shown = []
    for number, (one, text, most) in enumerate(zip(listed, whole, room, strict=True), 1):
        depth = 6
        while estimate(text) > most and depth > 1:
            depth -= 1
            text = _lines(one, number, depth)
        shown.append(cut(text, most))
    return "\n".join(shown)


def _lines(one: ListedDocument, number: int, depth: int) -> str:
    head = f"D{number}: {one.document.name}, {one.document.pages} pages"
    sections = [section for section in one.sections if section.level <= depth]
    return "\n".join([head, *(_line(section) for section in sections)])


def _line(section: Section) -> str:
    pages = f"{section.start_page}-{section.end_page}" if section.end_page > section.start_page else section.start_page
    return f"{'  ' * section.level}{section.node_id} {' '.join(section.title.split())} · {pages}"


def _pages(wish: Wish, listed: Sequence[ListedDocument]) -> Iterator[int]:
    if not 1 <= wish.document <= len(listed):
        return
    one = listed[wish.document - 1]
    yield from (page for page in wish.pages if 1 <= page <= one.document.pages)
    for section in one.sections:
        if wish.node_id and section.node_id == wish.node_id:
            yield from range(section.start_page, section.end_page + 1)


def section_on(sections: Sequence[Section], page: int) -> tuple[Section | None, tuple[str, ...]]:
    """The deepest section on a page, with the titles from the top down to it."""
    by_id = {section.node_id: section for section in sections}
    on = [section for section in sections if section.start_page <= page <= section.end_page]
    deepest = max(on, key=lambda section: section.level, default=None)
    path: list[str] = []
    step = deepest
    while step is not None:
        path.insert(0, step.title)
        step = by_id.get(step.parent_id or "")
    return deepest, tuple(path)


def _snippet(page: Page) -> str:
    return " ".join(visible(page.text[: 4 * _SNIPPET]).split())[:_SNIPPET]
