"""Page images, and the positions of words, figures and tables on pages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hybrid_core.errors import UsageError
from hybrid_core.types.locators import Box, PageLayout, WordBox
from hybrid_pageindex.engine.concurrency import in_the_background, read_in_the_background
from hybrid_pageindex.engine.context import SubEngine
from hybrid_pageindex.engine.documents.page_views import MOST_BYTES, SHEET, SIDE, Layouts, Pictures, draw_printed
from indexers.formats.format import ImageFormat, PageView, PictureOptions


class PicturesEngine(SubEngine, subject="pictures"):
    """Draw pages, and locate words, figures and tables on them."""

    async def page(
        self,
        document: str,
        page: int,
        *,
        library: str | None = None,
        dpi: int | None = None,
        password: str | None = None,
        format: ImageFormat = "png",
        side: int = 0,
        most_bytes: int = 0,
        view: PageView = "page",
    ) -> bytes:
        """Return an image of a page, drawn from the original file, as PNG or JPEG.

        Formats without pages are drawn from their text and pictures. ``side`` limits the longer side in pixels,
        ``most_bytes`` the size of a JPEG, which is drawn in lower quality to fit; 0 means no limit. ``view`` "office"
        returns the page as LibreOffice prints it. Raise DocumentError if LibreOffice is needed and missing.
        """
        picture = PictureOptions(dpi or self._context.settings.image_dpi, format, side, most_bytes)
        if view == "page":
            return await self._picture(document, [page], picture, library, password)
        name, work = self._context.library(library), Pictures(self._context.parts.pages).work
        return await read_in_the_background(partial(draw_printed, work, name, document, page, picture))

    async def contact_sheet(
        self, document: str, pages: Sequence[int], *, library: str | None = None, password: str | None = None
    ) -> bytes:
        """Return a JPEG of at most 1,568 pixels with small images of several pages, each with its number."""
        if not 1 <= len(pages) <= SHEET:
            raise UsageError(f"{len(pages)} pages were requested for a contact sheet.", f"Name 1 to {SHEET} pages.")
        picture = PictureOptions(self._context.settings.image_dpi, "jpeg", SIDE, MOST_BYTES)
        return await self._picture(document, pages, picture, library, password)

    async def prepare(self) -> None:
        """Start the process that draws pages, so that the first page image is fast."""
        await in_the_background(Pictures(self._context.parts.pages).work.prepare)

    async def layout(
        self, document: str, page: int, *, library: str | None = None, password: str | None = None
    ) -> PageLayout:
        """Return the positions of the words, figures and tables of a page, in the coordinates of its image."""
        name = self._context.library(library)
        return await read_in_the_background(
            partial(Layouts(self._context.parts.pages).of, name, document, page, password)
        )

    async def words(
        self, document: str, page: int, *, library: str | None = None, password: str | None = None
    ) -> tuple[WordBox, ...]:
        """Return the words of a page in reading order, each with its box."""
        return (await self.layout(document, page, library=library, password=password)).words

    async def boxes(
        self, document: str, page: int, quote: str, *, library: str | None = None, password: str | None = None
    ) -> tuple[Box, ...]:
        """Return the positions of quoted words on a page, one box per line.

        "…" in the quote stands for omitted words. Raise NotFoundError if the page does not contain them.
        """
        name = self._context.library(library)
        return await read_in_the_background(
            partial(Layouts(self._context.parts.pages).quote, name, document, page, quote, password)
        )

    async def _picture(
        self, document: str, pages: Sequence[int], picture: PictureOptions, library: str | None, password: str | None
    ) -> bytes:
        name = self._context.library(library)
        draw = partial(Pictures(self._context.parts.pages).draw, name, document, pages, picture, password)
        return await read_in_the_background(draw)  # may wait long for the drawings before it
