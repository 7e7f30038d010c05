"""Pages of an answer: their texts, outlines and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from hybrid_core.errors import PageIndexError
from hybrid_core.llm.budget import cut, estimate, shares
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.text.markup import visible
from hybrid_core.types.documents import Document, Page, PageText, Section
from hybrid_core.types.locators import Box, PageLayout
from hybrid_core.types.notes import NONE, Note
from hybrid_core.types.results import PageFound, Receipt, SectionFound
from hybrid_pageindex.engine.documents.originals import PageWork, format_of_document
from hybrid_pageindex.engine.documents.page_views import Layouts, Pictures
from indexers.formats.format import PictureOptions
from retrievers.answer.searches import MOST_PAGES, Wish
from retrievers.answer.sources import Showing
from retrievers.explain.statements import runs_over

if TYPE_CHECKING:
    from indexers.formats.format import PageLook


_SNIPPET = 280  # characters
_MAX_DOCUMENTS = 4  # documents


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A document from which the model may request more pages. ``like`` is a page of the document from the search."""

    document: Document
    sections: tuple[Section, ...]
    like: PageFound


def _hides(page: PageText | None) -> bool:
    return page is not None and bool(page.hidden)


class LibraryPages:
    """Page texts and documents for answering one question, read from the catalog.

    A page keeps the text of its first reading, even if the document changes meanwhile.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def texts(self, pages: Sequence[PageFound]) -> tuple[list[str], list[Note]]:
        """Return the full text of each page, with a vision model's description, and a list of remarks.

        For a page that was removed since the search, return its passage and a remark.
        """
        with self._catalog.snapshot() as snapshot:
            documents = [snapshot.document(page.doc_id) for page in pages]
            contents = {document.doc_id: document.content_id for document in documents if document is not None}
            places = [(contents.get(page.doc_id, ""), page.page) for page in pages]
            page_texts = snapshot.page_texts(places)
        texts = [
            page_texts[at].whole if at in page_texts else page.snippet for at, page in zip(places, pages, strict=True)
        ]
        shown = [Note("answer.page", document=page.doc_name, page=page.page) for page in pages]
        gone = [page for place, page in zip(places, shown, strict=True) if place not in page_texts]
        hidden = [page for place, page in zip(places, shown, strict=True) if _hides(page_texts.get(place))]
        return texts, [
            *(Note("answer.page-gone", page=page) for page in gone),
            *(Note("answer.page-hides", page=page) for page in hidden),
        ]

    def library(self, pages: Sequence[PageFound]) -> str:
        """Return the id of the library that contains all these pages, "" if they are in several libraries."""
        with self._catalog.snapshot() as snapshot:
            ids = {d.library for page in pages if (d := snapshot.document(page.doc_id)) is not None}
        return ids.pop() if len(ids) == 1 else ""

    def listed(self, pages: Sequence[PageFound]) -> list[ListedDocument]:
        """Return the documents of the best pages, in the order of these pages."""
        first = {page.doc_id: page for page in reversed(pages)}
        best = list(dict.fromkeys(page.doc_id for page in pages))[:_MAX_DOCUMENTS]
        with self._catalog.snapshot() as snapshot:
            documents = [document for doc_id in best if (document := snapshot.document(doc_id)) is not None]
            return [ListedDocument(d, snapshot.sections(d.content_id), first[d.doc_id]) for d in documents]

    def wished(
        self, wishes: Sequence[Wish], listed: Sequence[ListedDocument], have: Sequence[PageFound]
    ) -> tuple[list[PageFound], list[int], list[str]]:
        """Resolve a model's requests for pages, given the sources that it already has.

        Return the new pages, the numbers of sources to send in full, and the names of missing pages.
        """
        places_asked: dict[tuple[int, int], None] = {}
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
            pages = list(_pages_of_wish(wish, listed))
            if not pages:
                lost.append(wish.written)
            places_asked |= {(wish.document - 1, page): None for page in pages}
        places = list(places_asked)[:MOST_PAGES]
        pages_of_place = [at[key] for which, page in places if (key := (listed[which].document.doc_id, page)) in at]
        new = [
            self._page(listed[which], page) for which, page in places if (listed[which].document.doc_id, page) not in at
        ]
        return new, [*whole, *pages_of_place], lost

    def next_page(self, page: PageFound, text: str) -> PageFound | None:
        """Return the next page of the document if the passage may continue there, else None."""
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
        section_found = SectionFound(
            section.node_id, section.title, path, section.start_page, section.end_page, 0.0
        ) if section else listed.like.section  # fmt: skip
        receipt = Receipt(
            {}, None, None, 0.0, 0.0, 0.0, 0.0, 0.0, NONE, section_found.path, 0.0, Note("verdict.asked-by-model")
        )
        return replace(
            listed.like, page=number, label=page.label, score=0.0, snippet=_snippet(page), section=section_found,
            receipt=receipt, also_in=(), place="", near="", see=(),
        )  # fmt: skip


def outline(listed: Sequence[ListedDocument], tokens: int) -> str:
    """Return an outline of the documents, named D1, D2, …, within ``tokens``.

    The outline lists page counts and as many section levels as fit.
    """
    whole = [_outline_text(document, number, 6) for number, document in enumerate(listed, 1)]
    room = shares([estimate(text) for text in whole], tokens)
    shown = []
    for number, (document, text, limit) in enumerate(zip(listed, whole, room, strict=True), 1):
        depth = 6
        while estimate(text) > limit and depth > 1:
            depth -= 1
            text = _outline_text(document, number, depth)
        shown.append(cut(text, limit))
    return "\n".join(shown)


def _outline_text(document: ListedDocument, number: int, depth: int) -> str:
    head = f"D{number}: {document.document.name}, {document.document.pages} pages"
    sections = [section for section in document.sections if section.level <= depth]
    return "\n".join([head, *(_section_line(section) for section in sections)])


def _section_line(section: Section) -> str:
    pages = f"{section.start_page}-{section.end_page}" if section.end_page > section.start_page else section.start_page
    return f"{'  ' * section.level}{section.node_id} {' '.join(section.title.split())} · {pages}"


def _pages_of_wish(wish: Wish, listed: Sequence[ListedDocument]) -> Iterator[int]:
    if not 1 <= wish.document <= len(listed):
        return
    document = listed[wish.document - 1]
    yield from (page for page in wish.pages if 1 <= page <= document.document.pages)
    for section in document.sections:
        if wish.node_id and section.node_id == wish.node_id:
            yield from range(section.start_page, section.end_page + 1)


def section_on(sections: Sequence[Section], page: int) -> tuple[Section | None, tuple[str, ...]]:
    """Return the deepest section on a page and its path: the titles from the top of the tree down to it."""
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


SIDE = 1200  # pixels of the longer side of a picture that nobody asked for
TOKENS = 1300  # tokens of one picture, as most endpoints count them
_EDGE = 0.08  # share of the page's height at its edges, where logos are


class PagePictures:
    """Pictures and figure positions of pages for one question.

    ``libraries`` maps documents outside ``library`` to the libraries that contain them.
    """

    def __init__(self, work: PageWork, library: str, libraries: Mapping[str, str]) -> None:
        self._work, self._library, self._libraries = work, library, libraries
        self._layouts, self._pictures = Layouts(work), Pictures(work)

    def showing(self, page: PageFound) -> Showing | None:
        """Return the size, figures and drawings of a page. Return None if the page is gone or cannot be read."""
        with self._work.catalog.snapshot() as snapshot:
            document = snapshot.document(page.doc_id)
            pages = [] if document is None else snapshot.pages(document.content_id, [page.page])
        if document is None or not pages:
            return None
        try:
            layout = self._layouts.of(self._of(page), page.doc_id, page.page, None)
            marks = self._marks(document, page.page, layout)
        except PageIndexError:  # its original has moved: drawing it fails too, and says so
            return None
        return Showing(layout.width, layout.height, _figure_boxes(layout), _scanned(pages[0]), marks)

    def _marks(self, document: Document, page: int, layout: PageLayout) -> tuple[Box, ...]:
        """Return the boxes of curves and bars on a page, by which charts are recognised.

        Leave out marks inside tables and at the upper and lower edge of the page.
        """
        from indexers.formats.limits import ParseLimits
        from indexers.workers.protocol import LookTask

        if format_of_document(document).look is None:
            return ()
        limits = self._work.settings.part(ParseLimits)
        with self._work.original(document.library, document) as path:
            looks = cast("list[PageLook]", self._work.run(LookTask(path, None, page, page + 1, limits)))
        edge = _EDGE * layout.height
        return tuple(
            box
            for look in looks
            for box in (*look.shapes, *look.labelled)
            if box[3] > edge and box[1] < layout.height - edge
            if not any(_is_centre_inside(box, table.box) for table in layout.tables)
        )

    def draw(self, pages: Mapping[int, PageFound], *, clip: Box | None, whole_size: bool) -> bytes:
        """Return a picture of a page, or of several pages of one document with their source numbers above them.

        ``clip`` limits the picture to a part of the page. ``whole_size`` keeps the resolution of the settings;
        otherwise the picture is made smaller. Raise PageIndexError if a page cannot be drawn.
        """
        dpi = self._work.settings.image_dpi
        titles = tuple(f"Source {number}" for number in pages)
        first_page = next(iter(pages.values()))
        side = 0 if whole_size else SIDE
        picture = (
            PictureOptions(dpi, side=side, titles=titles)
            if len(pages) > 1
            else PictureOptions(dpi, side=side, clip=clip, title=titles[0])
        )
        return self._pictures.draw(
            self._of(first_page), first_page.doc_id, [page.page for page in pages.values()], picture, None
        )

    def _of(self, page: PageFound) -> str:
        return self._libraries.get(page.doc_id) or self._library


def _scanned(page: Page) -> bool:
    return page.needs_ocr or (page.ocr and page.width > 0)


def _figure_boxes(layout: PageLayout) -> tuple[Box, ...]:
    """Return the boxes of pictures, drawings and tables without text on a page.

    If a layout model has read the page, use the regions that it recognised.
    """
    if layout.regions is None:
        return layout.figures
    seen = [region.box for region in layout.regions if region.kind in ("picture", "figure")]
    tables = [region.box for region in layout.regions if region.kind == "table"]
    return (*seen, *(box for box in tables if not any(_is_centre_inside(word.box, box) for word in layout.words)))


def _is_centre_inside(inner: Box, outer: Box) -> bool:
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3]
