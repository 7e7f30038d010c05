"""Maintenance of a home (data folder): check, repair, move and back it up, and change its settings."""

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
from hybrid_pageindex.engine.context import SubEngine
from hybrid_pageindex.engine.health import Health, health, missing
from hybrid_pageindex.engine.health_checks import check_contents
from hybrid_pageindex.engine.index.reindexing import RecoveryReport, recover
from hybrid_pageindex.engine.libraries.backup import BackupReport, RestoreReport, back_up, restore
from hybrid_pageindex.engine.libraries.migration import CatalogCopy, Migration, copied, migrate, upload_originals
from hybrid_pageindex.engine.search.handles import Backend

if TYPE_CHECKING:
    from indexers.jobs.report import IndexProgress


class AdminEngine(SubEngine, subject="admin"):
    """Health checks, repair, migration and settings of a home."""

    async def doctor(
        self, *, deep: bool = False, mend: bool = False, on_progress: Callable[[int, int], None] | None = None
    ) -> Health:
        """Check every component of the engine, and give advice for each that fails.

        Compare the index of each library with the catalog, document by document. ``deep`` also reads every file again
        and compares its pages with the stored ones. ``mend`` includes ``deep``, and indexes files again that differ.
        ``on_progress`` receives the number of compared documents and their total, from a worker thread.
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
        """Repair a damaged or missing catalog: save each readable row in a new catalog, and index the lost files again.

        The damaged file is kept beside the new one; an undamaged catalog is not changed. Raise BusyError while another
        process uses the home, UsageError if the catalog is in PostgreSQL.
        """
        self._context.close()  # no process may have the catalog open
        return await stoppable(
            lambda stop: recover(
                self._context.settings, lambda: self._context.parts, on_progress or ignore_progress, stop
            )
        )

    async def missing(self) -> dict[str, str]:
        """Return the components that do not work (catalog, search server, disk), each with a reason for users."""
        context = self._context
        return await read_in_thread(
            lambda: missing(context.home, lambda: context.catalog, lambda: context.parts.indexes)
        )

    async def state(self) -> HomeState:
        """Return counters that change whenever a library, document or job is added, changed or removed."""

        def read() -> HomeState:
            with self._context.catalog.reading() as connection:
                return read_state(connection)

        return await read_in_thread(read)

    async def rebuild_index(self, library: str = "default", *, everything: bool = False) -> dict[str, int]:
        """Rebuild the vector index of a library, or of all, from the catalog. Return the number of vectors per library.

        Searches continue meanwhile. Raise NotFoundError for an unknown library, BusyError if another process has an
        embedded index open.
        """

        def work() -> dict[str, int]:
            with self._context.catalog.snapshot() as snapshot:
                named = snapshot.named_libraries() if everything else [snapshot.library(library)]
            return {each.name: self._context.parts.indexes.rebuild(each.id) for each in named}

        return await asyncio.to_thread(work)

    async def migrate(self, to: Backend, *, library: str | None = None) -> list[Migration]:
        """Rebuild the vector indexes of one library, or of all, at the place ``to``: the home or the Qdrant server.

        Compare each with the catalog, then delete the index at the other place. The setting ``qdrant_url`` decides
        which one searches use.
        """
        return await asyncio.to_thread(lambda: migrate(self._context.catalog, self._context.parts.indexes, to, library))

    async def complete_replicas(self) -> dict[str, int]:
        """Copy shards that a node of the Qdrant cluster has lost, until each has its configured number of replicas.

        Return the number of copies per collection. Searches continue meanwhile. Raise UsageError if no server is
        configured, UnreachableError if the cluster has too few nodes.
        """
        return await asyncio.to_thread(lambda: self._context.parts.indexes.complete())

    async def copy_catalog(self, to: str) -> CatalogCopy:
        """Copy the catalog to a PostgreSQL database at the URL ``to``, or for "sqlite" into the home.

        The source stays unchanged and in use until the setting ``postgres_url`` is changed. An interrupted copy is
        continued. Raise UsageError if the target is not empty, StoreError if the catalog is written meanwhile.
        """
        return await asyncio.to_thread(lambda: copied(self._context.catalog, to))

    async def backup(self, file: Path) -> BackupReport:
        """Write the catalog, the originals and the settings to a new file, as they are at one instant.

        Searches and indexing go on. Raise UsageError if the file exists, StoreError if it cannot be written.
        """
        return await asyncio.to_thread(lambda: back_up(self._context.catalog, self._context.home, Path(file)))

    async def restore(self, file: Path, *, check: bool = False) -> RestoreReport:
        """Restore a backup into this home, which must hold no library. Running processes see the restored libraries.

        With ``check``, only test the backup: restore it into a scratch home, compare rows and files, and delete that
        home. Raise DocumentError if the file is no sound backup, UsageError if this home holds libraries.
        """
        context = self._context
        return await asyncio.to_thread(lambda: restore(lambda: context.catalog, context.home, Path(file), check=check))

    async def upload_originals(self) -> int:
        """Copy the original files in this home to the bucket of ``objects_url``. Return their number.

        Files that no document uses are left out. Raise UsageError if no bucket is configured.
        """
        return await asyncio.to_thread(lambda: upload_originals(self._context.catalog, self._context.settings))

    async def upgrade_catalog(self) -> int:
        """Upgrade the catalog to the schema of this version now, instead of at its first use. Return the schema number.

        Raise SchemaError if a newer version wrote it.
        """
        await asyncio.to_thread(lambda: self._context.catalog)
        return SCHEMA_VERSION

    def setting_views(self, *, owner: bool = False) -> list[SettingView]:
        """Return all settings, without secrets, and whether each may be changed at run time."""
        return shown(self._context.settings, owner=owner)

    async def change_settings(self, changes: Mapping[str, Any], *, owner: bool = False) -> list[SettingView]:
        """Change settings of the running engine and write them to the home's file.

        Only an ``owner`` may change the models and their addresses. Raise UsageError for an invalid value, or a setting
        that may not be changed.
        """
        settings = await asyncio.to_thread(lambda: changed(self._context.settings, changes, owner=owner))
        self._context.change(settings)
        return self.setting_views(owner=owner)

    @property
    def replies(self) -> ReplyStore:
        """Return the store of replies to HTTP requests with an idempotency key."""
        return ReplyStore(self._context.catalog)

    @property
    def audit(self) -> AuditLog:
        """Return the log of changes by callers over HTTP."""
        return AuditLog(self._context.catalog)

    def confine(self, roots: Sequence[Path]) -> None:
        """From now on, follow no symbolic link that leads out of these folders, as a server must.

        The paths of the folders themselves must not contain links.
        """
        self._context.confine(roots)
