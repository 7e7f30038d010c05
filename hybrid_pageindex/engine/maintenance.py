"""Maintenance of a home: check, repair and move it, change its settings, and read the records of its server."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid_core.store.access import AuditLog, ReplyStore
from hybrid_core.store.catalog.maintenance import HomeState, read_state
from hybrid_core.store.catalog.schema import SCHEMA_VERSION
from hybrid_pageindex.config.changes import SettingView, changed, shown
from hybrid_pageindex.engine.concurrency import ignore_progress, read_in_thread, stoppable
from hybrid_pageindex.engine.health import Health, health, missing
from hybrid_pageindex.engine.health_checks import check_contents
from hybrid_pageindex.engine.index.reindexing import RecoveryReport, recover
from hybrid_pageindex.engine.libraries.migration import CatalogCopy, Migration, copied, migrate, upload_originals
from hybrid_pageindex.engine.parts import SubEngine
from hybrid_pageindex.engine.search.handles import Backend

if TYPE_CHECKING:
    from indexers.jobs.report import IndexProgress


class AdminEngine(SubEngine, subject="admin"):
    """The care of a home."""

    async def doctor(
        self, *, deep: bool = False, mend: bool = False, on_progress: Callable[[int, int], None] | None = None
    ) -> Health:
        """Check everything that the engine needs, with advice where something does not work.

        Compare each library's index with the catalog, document by document. ``deep`` also reads every file anew and
        compares its pages with those stored. ``mend``, which is deep too, takes out what is not the file's and indexes
        the file again. ``on_progress`` gets the number of compared documents or contents and their total, from a worker
        thread.
        """
        progress, context = on_progress or ignore_progress, self._context
        report = await asyncio.to_thread(
            lambda: health(
                context.settings,
                lambda: context.catalog,
                lambda: context.parts.cache,
                lambda: context.parts.indexes,
                progress,
            )
        )
        if not deep and not mend:
            return report
        checks = await stoppable(
            lambda stop: check_contents(self._context.parts, self._context.settings, mend, progress, stop)
        )
        return replace(report, checks=(*report.checks, *checks))

    async def recover(self, *, on_progress: Callable[[IndexProgress], None] | None = None) -> RecoveryReport:
        """Make good a catalog that is damaged or missing: every row that can be read is brought into a new one, and
        files that it lost are indexed again. The damaged file is kept beside it; a catalog that is whole stays.

        Raises BusyError while another process uses the home, UsageError where the catalog is in PostgreSQL.
        """
        self._context.close()  # nobody may have the catalog open
        return await stoppable(
            lambda stop: recover(
                self._context.settings, lambda: self._context.parts, on_progress or ignore_progress, stop
            )
        )

    async def missing(self) -> dict[str, str]:
        """Return the parts that cannot be used now (catalog, search server, disk), and why, in words for anybody."""
        context = self._context
        return await read_in_thread(
            lambda: missing(context.home, lambda: context.catalog, lambda: context.parts.indexes)
        )

    async def state(self) -> HomeState:
        """Return what differs after a library, a document or a job came, changed or went."""

        def read() -> HomeState:
            with self._context.catalog.reading() as connection:
                return read_state(connection)

        return await read_in_thread(read)

    async def rebuild_index(self, library: str = "default", *, everything: bool = False) -> dict[str, int]:
        """Make the vector index of a library, or of all, anew from the catalog, whatever it holds: {library: vectors}.

        Searches go on. Raises NotFoundError for an unknown library, BusyError where another process has an embedded
        index open.
        """

        def work() -> dict[str, int]:
            with self._context.catalog.snapshot() as snapshot:
                named = snapshot.named_libraries() if everything else [snapshot.library(library)]
            return {each.name: self._context.parts.indexes.rebuild(each.id) for each in named}

        return await asyncio.to_thread(work)

    async def migrate(self, to: Backend, *, library: str | None = None) -> list[Migration]:
        """Build the vector indexes of one library, or of all, embedded or on the Qdrant server, compare them with
        the catalog, then delete the others. Which of the two serves is the setting ``qdrant_url``.
        """
        return await asyncio.to_thread(lambda: migrate(self._context.catalog, self._context.parts.indexes, to, library))

    async def complete_replicas(self) -> dict[str, int]:
        """Copy what a node of a Qdrant cluster has lost, until as many nodes hold each part of this catalog's
        collections as these were made for; {collection: copies made}, when all of them answer. Searches go on.

        Raises UsageError where no server is set, UnreachableError where there are too few nodes.
        """
        return await asyncio.to_thread(lambda: self._context.parts.indexes.complete())

    async def copy_catalog(self, to: str) -> CatalogCopy:
        """Copy the catalog to a PostgreSQL database at the URL ``to``, or for "sqlite" into the home. The one it was in
        stays as it is, and serves until the setting ``postgres_url`` says otherwise; a copy that was stopped goes on.

        Raises UsageError where the other is not empty, StoreError where the catalog is written meanwhile.
        """
        return await asyncio.to_thread(lambda: copied(self._context.catalog, to))

    async def upload_originals(self) -> int:
        """Bring originals that this home keeps to the bucket of the setting ``objects_url``; how many of them are in
        use. Raises UsageError where there is no bucket.
        """
        return await asyncio.to_thread(lambda: upload_originals(self._context.catalog, self._context.settings))

    async def upgrade_catalog(self) -> int:
        """Bring the catalog to the schema of this version, as its first use does; the schema's number.

        Raises SchemaError where a newer version wrote it.
        """
        await asyncio.to_thread(lambda: self._context.catalog)
        return SCHEMA_VERSION

    def setting_views(self, *, owner: bool = False) -> list[SettingView]:
        """Settings as they are, but secrets; and which may be changed while the engine is used."""
        return shown(self._context.settings, owner=owner)

    async def change_settings(self, changes: Mapping[str, Any], *, owner: bool = False) -> list[SettingView]:
        """From now on, here and in the home's file; which models are asked, and where, only for an ``owner``.

        Raises UsageError for what may not be changed or is wrong.
        """
        settings = await asyncio.to_thread(lambda: changed(self._context.settings, changes, owner=owner))
        self._context.change(settings)
        return self.setting_views(owner=owner)

    @property
    def replies(self) -> ReplyStore:
        """Return the stored replies to requests with an idempotency key."""
        return ReplyStore(self._context.catalog)

    @property
    def audit(self) -> AuditLog:
        """Return the log of changes by callers over HTTP."""
        return AuditLog(self._context.catalog)

    def confine(self, roots: Sequence[Path]) -> None:
        """Follow no link out of these folders, which are free of links themselves: what a server does."""
        self._context.confine(roots)
