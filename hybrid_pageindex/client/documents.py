"""Clients for the documents and page pictures of a server, with methods of ``Engine.documents`` and
``Engine.pictures``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_core.types.documents import Document, DocumentRow
from hybrid_core.types.locators import Box, PageLayout, WordBox
from hybrid_core.types.requests import several
from hybrid_pageindex.client.wire import SubClient, read_as
from hybrid_pageindex.engine.documents.briefing import Briefing
from hybrid_pageindex.engine.documents.contents import Matches
from hybrid_pageindex.engine.documents.documents import DocumentPage, DocumentVersion

if TYPE_CHECKING:
    from indexers.formats.format import PageView


class DocumentsClient(SubClient):
    """List, read, correct and remove documents of a server's libraries."""

    async def briefing(
        self, document: str | None = None, *, library: str | None = None, model: bool = False
    ) -> Briefing:
        of = self._of(library, document, "briefing") if document else f"{self._in(library)}/briefing"
        return read_as(Briefing, await self._wire.json("GET", of, {"model": model}))

    async def find_words(
        self, document: str, words: str, *, library: str | None = None, first: int = 1, limit: int = 100
    ) -> Matches:
        params = {"q": words, "first": first, "limit": limit}
        return read_as(Matches, await self._wire.json("GET", self._of(library, document, "find"), params))

    async def original(
        self, document: str, to: str | Path, *, library: str | None = None, highlights: bool = False
    ) -> Path:
        """Download the original file of a document to the local path ``to``, and return that path.

        With ``highlights`` download a copy of the PDF with the document's highlights and notes as annotations.
        """
        target, path = Path(to), self._of(library, document, "original")
        async with self._wire.opened("GET", f"{path}?highlights=true" if highlights else path) as answered:
            with target.open("wb") as file:
                async for piece in answered.aiter_bytes():
                    await asyncio.to_thread(file.write, piece)
        return target

    async def browse(self, *, library: str | None = None, **options: Any) -> DocumentPage:
        return read_as(DocumentPage, await self._wire.json("GET", self._of(library), options))

    async def rows(self, *, library: str | None = None) -> list[DocumentRow]:
        """Return a short row of values for each document, as ``Engine.documents.rows`` does."""
        rows = f"{self._in(library)}/rows"
        return read_as(list[DocumentRow], (await self._wire.json("GET", rows))["rows"])

    async def get(self, document: str, *, library: str | None = None) -> Document:
        return read_as(Document, await self._wire.json("GET", self._of(library, document)))

    async def versions(self, document: str, *, library: str | None = None) -> list[DocumentVersion]:
        """Return the published versions of a document, as ``Engine.documents.versions`` does."""
        return read_as(list[DocumentVersion], await self._wire.json("GET", self._of(library, document, "versions")))

    async def edit(
        self,
        document: str,
        *,
        set: Mapping[str, str] | None = None,
        unset: Sequence[str] = (),
        library: str | None = None,
    ) -> Document:
        """Correct the metadata of a document, as ``Engine.documents.edit`` does, and return the document."""
        body = {"set": dict(set or {}), "unset": list(several(unset))}
        return read_as(Document, await self._wire.json("PATCH", self._of(library, document), json=body))

    async def remove(
        self, documents: Sequence[str] | str, *, library: str | None = None, for_good: bool = False
    ) -> list[Document]:
        """Remove documents one by one, and return them.

        If one is not found, the documents before it are already removed.
        """
        params = {"for_good": "true"} if for_good else {}
        replies = [
            await self._wire.json("DELETE", self._of(library, document_id), params)
            for document_id in several(documents)
        ]
        return read_as(list[Document], [document for document_id in replies for document in document_id["removed"]])

    async def list(self, *, library: str | None = None, where: Sequence[str] | str = ()) -> list[Document]:
        documents: list[Document] = []
        cursor = ""
        while True:
            part = await self.browse(library=library, where=several(where), limit=1000, cursor=cursor)
            documents += part.documents
            if not (cursor := part.cursor):
                return documents


class PicturesClient(SubClient):
    """Draw pages on a server, and locate words and quotes on them."""

    async def layout(self, document: str, page: int, *, library: str | None = None) -> PageLayout:
        return read_as(PageLayout, await self._wire.json("GET", self._of(library, document, f"pages/{page}/layout")))

    async def words(self, document: str, page: int, *, library: str | None = None) -> tuple[WordBox, ...]:
        return (await self.layout(document, page, library=library)).words

    async def boxes(self, document: str, page: int, quote: str, *, library: str | None = None) -> tuple[Box, ...]:
        boxes = await self._wire.json("GET", self._of(library, document, f"pages/{page}/boxes"), {"quote": quote})
        return read_as(tuple[Box, ...], boxes["boxes"])

    async def page(
        self, document: str, page: int, *, library: str | None = None, scale: int = 1, view: PageView = "page"
    ) -> bytes:
        """Return a page as a PNG image with 96 dots per inch, or 192 with ``scale`` 2.

        ``view`` "office" returns the page as LibreOffice prints it, as in ``Engine.pictures.page``.
        """
        where = self._of(library, document, f"pages/{page}/picture")
        return (await self._wire.sent("GET", where, {"scale": scale, "view": view})).content
