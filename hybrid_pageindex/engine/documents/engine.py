"""The documents of libraries: list, read, correct, remove and rebuild them, and provide their original files."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid_core.errors import NotConfiguredError
from hybrid_core.types.documents import Document, DocumentRow
from hybrid_core.types.requests import several
from hybrid_core.types.results import SearchResult
from hybrid_pageindex.engine.concurrency import (
    ignore_progress,
    read_in_the_background,
    read_in_thread,
    stoppable,
)
from hybrid_pageindex.engine.context import SubEngine
from hybrid_pageindex.engine.documents import reading
from hybrid_pageindex.engine.documents.briefing import Briefing, brief_document, brief_library
from hybrid_pageindex.engine.documents.contents import DefinedTerm, Matches, find_words, glossary
from hybrid_pageindex.engine.documents.documents import (
    DocumentPage,
    DocumentState,
    DocumentVersion,
    edit,
    list_documents,
    versions,
)
from hybrid_pageindex.engine.documents.duplicates import Duplicates, find_duplicates
from hybrid_pageindex.engine.documents.facts import DocumentFacts, document_facts
from hybrid_pageindex.engine.documents.originals import distant_original, lent_original, original, signed_link
from hybrid_pageindex.engine.documents.page_views import Layouts
from hybrid_pageindex.engine.index.indexing import IndexCall
from hybrid_pageindex.engine.libraries.libraries import Removal, remove

if TYPE_CHECKING:
    from hybrid_core.store.objects import Distant
    from indexers.jobs.report import IndexProgress, IndexReport


class DocumentsEngine(SubEngine, subject="documents"):
    """List, read, correct, remove and rebuild documents, and provide their original files."""

    async def browse(
        self,
        *,
        library: str | None = None,
        where: Sequence[str] = (),
        find: str = "",
        state: DocumentState = "all",
        sort: str = "path",
        limit: int = 100,
        cursor: str = "",
    ) -> DocumentPage:
        """Return one batch of a library's documents, filtered and sorted. ``cursor`` requests the next batch.

        ``where`` contains metadata conditions such as year=2023. ``find`` must occur in the name or title. ``sort`` is
        a DocumentSort, with "-" before it for descending order. Raise UsageError for an invalid argument, NotFoundError
        for an unknown library.
        """
        name = self._context.library(library)
        listed = partial(
            list_documents, self._context.catalog, name, several(where), find=find, state=state, sort=sort, limit=limit,
            cursor=cursor,
        )  # fmt: skip
        return await read_in_thread(listed)

    async def rows(self, *, library: str | None = None) -> list[DocumentRow]:
        """Return a short row of values for each document of a library, ordered by path.

        This is fast even for ten thousand documents.
        """
        name = self._context.library(library)

        def read() -> list[DocumentRow]:
            with self._context.catalog.snapshot() as snapshot:
                return snapshot.document_rows(snapshot.library(name).id)

        return await read_in_thread(read)

    async def duplicates(self, *, library: str | None = None) -> Duplicates:
        """Return groups of a library's documents that are the same file, or have nearly the same words."""
        name = self._context.library(library)
        return await read_in_the_background(lambda: find_duplicates(self._context.catalog, name))

    async def get(self, document: str, *, library: str | None = None) -> Document:
        """Return one document with its metadata."""
        name = self._context.library(library)
        return await read_in_thread(lambda: reading.document(self._context.catalog, name, document))

    async def versions(self, document: str, *, library: str | None = None) -> list[DocumentVersion]:
        """Return the published versions of a document, newest first."""
        name = self._context.library(library)
        return await read_in_thread(lambda: versions(self._context.catalog, name, document))

    async def glossary(self, document: str, *, library: str | None = None) -> list[DefinedTerm]:
        """Return the terms that a document defines itself (such as 'Affiliate means …'), in alphabetical order."""
        name = self._context.library(library)
        return await read_in_thread(lambda: glossary(self._context.catalog, name, document))

    async def facts(self, document: str, *, library: str | None = None) -> DocumentFacts:
        """Return the dates and amounts that a document states, and its tables and figures. No model is used."""
        name = self._context.library(library)
        return await read_in_thread(lambda: document_facts(self._context.catalog, name, document))

    async def edit(
        self,
        document: str,
        *,
        set: Mapping[str, str] | None = None,
        unset: Sequence[str] = (),
        library: str | None = None,
        seen: Document | None = None,
    ) -> Document:
        """Correct the metadata of a document: title, organisation, year, quarter, date, type or tags.

        Values in ``set`` replace those read from the file, and stay when the file is indexed again, moved or changed.
        ``unset`` undoes corrections. Raise UsageError for an unknown field or an invalid value, ChangedError if the
        document has changed since it was read as ``seen``.
        """
        name = self._context.library(library)
        return await asyncio.to_thread(
            lambda: edit(self._context.catalog, name, document, set or {}, several(unset), seen)
        )

    async def remove(
        self, documents: Sequence[str], *, library: str | None = None, for_good: bool = False
    ) -> list[Document]:
        """Remove documents by id or name, and return them. If one is unknown, none is removed. Users' own files stay.

        Removed documents can be restored from ``Engine.bin`` for 30 days, unless ``for_good`` is set.
        """
        return list((await self.discard(documents, library=library, for_good=for_good)).documents)

    async def discard(self, documents: Sequence[str], *, library: str | None = None, for_good: bool = False) -> Removal:
        """Remove documents like ``remove``. Return them with the id of their bin entry, for restoring them."""
        name = self._context.library(library)
        self._context.parts.pages.forget()
        return await asyncio.to_thread(
            lambda: remove(
                self._context.catalog,
                self._context.parts.cache,
                self._context.home,
                name,
                several(documents),
                for_good=for_good,
            )
        )

    async def briefing(
        self, document: str | None = None, *, library: str | None = None, model: bool = False
    ) -> Briefing:
        """Return a description of a document, or of the library if ``document`` is None: parts, figures and starting
        questions.

        With ``model`` the language model writes the description. Raise NotConfiguredError if none is configured,
        ChatError if it fails.
        """
        name = self._context.library(library)

        def search(question: str, documents: Sequence[str] | None) -> SearchResult:
            return self._context.parts.searcher.search(
                self._context.request(question, library=name, documents=documents, effort="fast", top_k=3)
            )

        def write() -> Briefing:
            writer = self._context.parts.chat.model() if model else None
            if model and writer is None:
                raise NotConfiguredError(
                    "No language model is configured.", "Set llm_model, or ask for a briefing without a model."
                )
            if document is None:
                return brief_library(self._context.catalog, name, search, writer)
            return brief_document(self._context.catalog, name, document, search, writer)

        return await (asyncio.to_thread(write) if model else read_in_thread(write))

    async def find_place(
        self, document: str, place: str, quote: str = "", *, library: str | None = None
    ) -> reading.PlaceFound:
        """Return the page and line of a position in a file without pages, such as a paragraph of an e-book.

        ``place`` and its first words ``quote`` come from ``Engine.pages``. The position is also found after a small
        edit of the file. Raise NotFoundError if it is not found.
        """
        name = self._context.library(library)
        return await read_in_thread(lambda: reading.find_place(self._context.catalog, name, document, place, quote))

    async def find_words(
        self, document: str, words: str, *, library: str | None = None, first: int = 1, limit: int = 100
    ) -> Matches:
        """Return the matches of words in a document from page ``first`` on, ignoring case."""
        name = self._context.library(library)
        return await read_in_thread(lambda: find_words(self._context.catalog, name, document, words, first, limit))

    async def with_tables(self, read: reading.PageRead, *, library: str | None = None) -> reading.PageRead:
        """Return a page that ``Engine.pages`` returned, with its tables written in Markdown."""
        name = self._context.library(library)
        return await read_in_the_background(partial(Layouts(self._context.parts.pages).with_tables, name, read))

    async def original(self, document: str, *, library: str | None = None) -> Path:
        """Return the path of the file from which a document was made.

        Do not change this file if it is inside the home. Raise DocumentError if it is missing.
        """
        name = self._context.library(library)
        return await asyncio.to_thread(lambda: original(self._context.catalog, name, document))

    @asynccontextmanager
    async def lent_original(self, document: str, *, library: str | None = None) -> AsyncIterator[Path]:
        """Yield the path of a copy of the original file as it was indexed, for sending it to another party.

        Raise DocumentError if the file is missing or has changed.
        """
        name = self._context.library(library)
        stack = ExitStack()
        try:
            yield await stoppable(
                lambda _: stack.enter_context(
                    lent_original(self._context.catalog, self._context.parts.pages, name, document)
                )
            )
        finally:
            await asyncio.to_thread(stack.close)

    @asynccontextmanager
    async def annotated_original(
        self, document: str, *, library: str | None = None, password: str | None = None
    ) -> AsyncIterator[Path]:
        """Yield the path of a copy of a PDF with the highlights and notes of the document as annotations.

        The stored file stays as it is. Raise UsageError for other formats, DocumentError if the file is missing or has
        changed.
        """
        from hybrid_pageindex.engine.documents.annotated import annotated_copy  # imports the workers' protocol

        name, work = self._context.library(library), self._context.parts.pages
        stack = ExitStack()
        try:
            yield await stoppable(lambda _: stack.enter_context(annotated_copy(work, name, document, password)))
        finally:
            await asyncio.to_thread(stack.close)

    async def original_link(self, document: str, *, library: str | None = None) -> str | None:
        """Return a URL at which the bucket lets anybody download a document's file for five minutes.

        Return None if the file is not in a bucket, or the setting ``objects_links`` is "proxied".
        """
        if self._context.settings.objects_links != "signed":
            return None
        name = self._context.library(library)
        return await read_in_thread(lambda: signed_link(self._context.catalog, name, document))

    async def distant_original(self, document: str, *, library: str | None = None) -> Distant | None:
        """Return a handle to read a document's file from the bucket in parts.

        Return None if the file is not in a bucket or this home has a copy.
        """
        name = self._context.library(library)
        return await read_in_thread(lambda: distant_original(self._context.catalog, name, document))

    async def rebuild(
        self,
        documents: Sequence[str] | str = (),
        *,
        library: str | None = None,
        everything: bool = False,
        password: str | None = None,
        workers: int | None = None,
        detach: bool = False,
        on_progress: Callable[[IndexProgress], None] | None = None,
    ) -> IndexReport:
        """Parse and index documents, a whole library, or everything again from their files, and return a report.

        A published document stays in use until its new version is published. Scans are read again; models are called
        only where no cached reply exists. The other arguments are those of ``Engine.index``. Raise UsageError if the
        arguments do not say what to rebuild, NotFoundError for an unknown name.
        """
        from hybrid_pageindex.engine.index.reindexing import rebuild  # imports recovery, which readers do not need

        settings = self._context.settings if workers is None else replace(self._context.settings, workers=workers)
        named = self._context.named(library)
        listed, progress = several(documents), on_progress or ignore_progress
        call = IndexCall(password=password, detach=detach)
        return await stoppable(
            lambda stop: rebuild(self._context.parts, settings, listed, named, everything, call, progress, stop)
        )

    async def list(self, *, library: str | None = None, where: Sequence[str] = ()) -> list[Document]:
        """Return the documents of a library, ordered by path, including those that failed.

        With the conditions ``where`` (as in ``Engine.search``), return only published documents that meet them.
        """
        name = self._context.library(library)
        return await read_in_thread(lambda: reading.documents(self._context.catalog, name, several(where)))
