"""What the pages of an answer show, and pictures of them for a model that sees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from hybrid_core.errors import PageIndexError
from hybrid_core.types.documents import Document, Page
from hybrid_core.types.layouts import Box, PageLayout
from hybrid_core.types.results import PageFound
from hybrid_pageindex.services.layouts import Layouts
from hybrid_pageindex.services.page_work import PageWork, format_of_document
from hybrid_pageindex.services.pictures import Pictures
from indexers.formats.drawing import Picture
from retrievers.answer.showing import Showing

if TYPE_CHECKING:
    from indexers.formats.page_look import PageLook

SIDE = 1200  # pixels of the longer side of a picture that nobody asked for
TOKENS = 1300  # that such a picture takes, by the count of those who count most
_EDGE = 0.08  # of the page's height, where logos stand


class PagePictures:
    """``libraries`` are those of the documents that are not of ``library``."""

    def __init__(self, work: PageWork, library: str, libraries: Mapping[str, str]) -> None:
        self._work, self._library, self._libraries = work, library, libraries
        self._layouts, self._pictures = Layouts(work), Pictures(work)

    def showing(self, found: PageFound) -> Showing | None:
        """None where nothing is to be seen, or nothing can be."""
        with self._work.catalog.snapshot() as snapshot:
            document = snapshot.document(found.doc_id)
            pages = [] if document is None else snapshot.pages(document.content_id, [found.page])
        if document is None or not pages:
            return None
        try:
            layout = self._layouts.of(self._of(found), found.doc_id, found.page, None)
            marks = self._marks(document, found.page, layout)
        except PageIndexError:  # its original has moved: drawing it fails too, and says so
            return None
        return Showing(layout.width, layout.height, _figures(layout), _scanned(pages[0]), marks)

    def _marks(self, document: Document, page: int, layout: PageLayout) -> tuple[Box, ...]:
        """Curves and bars, but for those of tables whose words are text, and at the page's edges."""
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
            if not any(_inside(box, table.box) for table in layout.tables)
        )

    def draw(self, pages: Mapping[int, PageFound], *, clip: Box | None, whole_size: bool) -> bytes:
        """A page, or several of a document in one picture, by the numbers of their sources, which stand above them;
        ``whole_size``: as large as the settings have pages.

        Raises PageIndexError where it cannot be drawn.
        """
        dpi = self._work.settings.image_dpi
        titles = tuple(f"Source {number}" for number in pages)
        found = next(iter(pages.values()))
        side = 0 if whole_size else SIDE
        picture = (
            Picture(dpi, side=side, titles=titles)
            if len(pages) > 1
            else Picture(dpi, side=side, clip=clip, title=titles[0])
        )
        return self._pictures.draw(self._of(found), found.doc_id, [page.page for page in pages.values()], picture, None)

    def _of(self, found: PageFound) -> str:
        return self._libraries.get(found.doc_id) or self._library


def _scanned(page: Page) -> bool:
    return page.needs_ocr or (page.ocr and page.width > 0)


def _figures(layout: PageLayout) -> tuple[Box, ...]:
    """Pictures, drawings, and tables that hold no words of the text, by a layout model where one has read the page."""
    if layout.regions is None:
        return layout.figures
    seen = [one.box for one in layout.regions if one.kind in ("picture", "figure")]
    tables = [one.box for one in layout.regions if one.kind == "table"]
    return (*seen, *(box for box in tables if not any(_inside(word.box, box) for word in layout.words)))


def _inside(inner: Box, outer: Box) -> bool:
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3]
