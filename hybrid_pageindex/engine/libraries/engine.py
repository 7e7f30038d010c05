"""The libraries of a home, and its bin."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid_core.store.catalog.bin import BinEntry, bin_entries, bin_entry, restore
from hybrid_core.store.catalog.libraries import create_library, name_library
from hybrid_core.types.libraries import Library
from hybrid_pageindex.engine.concurrency import ignore_progress, read_in_thread, stoppable
from hybrid_pageindex.engine.context import SubEngine
from hybrid_pageindex.engine.index.indexing import IndexCall, index_library
from hybrid_pageindex.engine.libraries.libraries import (
    HomeSize,
    LibrarySize,
    bin_library,
    clear,
    empty_bin,
    home_size,
    library_sizes,
)

if TYPE_CHECKING:
    from hybrid_pageindex.engine.index.uploads import Upload
    from hybrid_pageindex.engine.libraries.transfer import Exported, Imported


class LibrariesEngine(SubEngine, subject="libraries"):
    """Create, rename, list, clear, export and import the libraries of a home."""

    async def named(self) -> list[Library]:
        """Return every library, ordered by name, without counting its contents."""

        def read() -> list[Library]:
            with self._context.catalog.snapshot() as snapshot:
                return snapshot.named_libraries()

        return await read_in_thread(read)

    async def overview(self) -> HomeSize:
        """Return every library as ``list`` does, and the disk use of the home."""
        return await read_in_thread(lambda: home_size(self._context.catalog, self._context.home))

    async def create(self, name: str, *, alias: str = "") -> Library:
        """Create and return an empty library. Raise UsageError for an invalid or already used name or alias."""
        return await asyncio.to_thread(lambda: create_library(self._context.catalog, name, alias=alias))

    async def name(self, library: str, *, name: str | None = None, alias: str | None = None) -> Library:
        """Give a library another name or alias, and return the library. The alias "" removes the alias.

        The id of the library stays, and nothing is indexed again. Raise NotFoundError for an unknown library,
        UsageError for an invalid or already used name or alias.
        """

        def named() -> Library:
            with self._context.catalog.snapshot() as snapshot:
                before = snapshot.library(library)
            renamed = name_library(self._context.catalog, before.id, name=name, alias=alias)
            self._context.parts.indexes.rename(before.id)
            return renamed

        return await asyncio.to_thread(named)

    async def clear(self, *, library: str | None = None, session: str = "", for_good: bool = False) -> list[str]:
        """Delete one library, or all if ``library`` is None, and return their names. Users' own files stay.

        One library can be restored from ``Engine.bin`` for 30 days, unless ``for_good`` is set. Deleting all libraries
        also deletes the bin, tokens, users and browser sessions, except the session with the secret ``session``.
        """
        name = self._context.named(library)
        self._context.parts.pages.forget()
        if name is not None and not for_good:
            return [(await asyncio.to_thread(lambda: bin_library(self._context.catalog, name))).name]
        return await asyncio.to_thread(
            lambda: clear(
                self._context.catalog,
                self._context.parts.cache,
                self._context.parts.indexes,
                self._context.home,
                name,
                session,
            )
        )

    async def export_to(self, file: str | Path, *, library: str | None = None, owner: str | None = None) -> Exported:
        """Write a library to one file: its documents, alias, corrections, notes, feedback, and the conversations that
        search only this library, of an owner or of all. Return what was exported.
        """
        from hybrid_pageindex.engine.libraries.transfer import export_library  # with the formats

        name = self._context.library(library)
        return await stoppable(
            lambda _: export_library(self._context.catalog, self._context.parts.pages, name, Path(file), owner)
        )

    async def import_from(self, file: str | Path, *, name: str | None = None) -> Imported:
        """Create a library from an exported file, by default under its original name. Workers index its documents.

        Return the numbers of imported items. Raise DocumentError if the file is not an exported library, UsageError if
        the name is already used.
        """
        from hybrid_pageindex.engine.libraries.transfer import import_library  # with the formats

        def enqueue(library: str, uploads: Sequence[Upload], stop: threading.Event) -> None:
            index_library(self._context, library, uploads, IndexCall(detach=True), {}, ignore_progress, stop)

        return await stoppable(
            lambda stop: import_library(
                self._context.parts,
                self._context.settings,
                Path(file),
                name,
                lambda library, uploads: enqueue(library, uploads, stop),
            )
        )

    async def list(self, part: str = "") -> list[LibrarySize]:
        """Return every library with its documents, pages and disk use, most recently used first.

        With ``part``, return only libraries whose name or alias contains it, ignoring case and character width.
        """
        return await read_in_thread(lambda: library_sizes(self._context.catalog, self._context.home, part))


class BinEngine(SubEngine, subject="bin"):
    """The bin of removed documents and libraries, which can be restored for 30 days."""

    async def restore(self, entry: str) -> BinEntry:
        """Restore removed documents or a library by the id of their entry in the bin. Return the entry.

        Raise NotFoundError for an unknown entry. Raise UsageError if the library of the documents is itself in the bin,
        or a file was indexed again.
        """

        def bring_back() -> BinEntry:
            restored = bin_entry(self._context.catalog, entry)
            restore(self._context.catalog, entry)
            with self._context.catalog.snapshot() as snapshot:  # a restored library may have received a new name
                names = {library.id: library.name for library in snapshot.named_libraries()}
            return replace(restored, library=names[restored.library_id])

        self._context.parts.pages.forget()
        return await asyncio.to_thread(bring_back)

    async def empty(self, entry: str | None = None) -> int:
        """Delete one entry of the bin, or all entries, for good. Return the number of deleted entries.

        Raise NotFoundError for an unknown entry.
        """
        return await asyncio.to_thread(lambda: self._empty(entry))

    async def expire(self) -> int:
        """Delete entries of the bin after 30 days. Return the number of deleted entries, 0 in a read-only home."""
        if self._context.catalog.read_only:
            return 0
        return await asyncio.to_thread(lambda: self._empty(expired=True))

    def _empty(self, entry: str | None = None, *, expired: bool = False) -> int:
        context = self._context
        return empty_bin(
            context.catalog, context.parts.cache, context.parts.indexes, context.home, entry, expired=expired
        )

    async def list(self) -> list[BinEntry]:
        """Return the removed documents and libraries that can be restored, the newest first."""
        await self.expire()
        return await read_in_thread(lambda: bin_entries(self._context.catalog))
