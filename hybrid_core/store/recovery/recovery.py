"""Recovery of a damaged or missing catalog.

It salvages the data into a new catalog, which then replaces the old one completely or not at all.
"""

from __future__ import annotations

import datetime
import errno
import mmap
import os
import shutil
import sqlite3
import struct
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.exc import SQLAlchemyError

from hybrid_core.errors import BusyError, SchemaError, StoreError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.schema import PROGRAM, SCHEMA_VERSION
from hybrid_core.store.home import CATALOG, ORIGINALS, advice_of, living, lock_for_recovery, open_home, scratch_folder
from hybrid_core.store.objects import FolderStore
from hybrid_core.store.recovery.layouts import Layout, Schema, read_schema, statements_of
from hybrid_core.store.recovery.mending import Mending, name_originals
from hybrid_core.store.recovery.pages import fold, open_pages
from hybrid_core.store.recovery.salvage import Salvage, Saved
from hybrid_core.system import CLOSE_ON_EXEC, POSIX, lock_span, sync_file, sync_folder
from hybrid_core.text.terms import ORDER_BYTES

_WHOLE_FILE = (512, 0x40000000)  # the bytes that SQLite locks: pending, reserved, shared
_LOG_LOCKS = (9, 120)  # bytes that every open connection locks in the index of the log
_PIECE = 1 << 20  # bytes
_IN_USE = "Stop every process that uses this home (serve, worker, watch, mcp, notebooks), then run the command again."


@dataclass(frozen=True, slots=True)
class Recovery:
    """The result of a recovery.

    ``damaged`` is the new path of the old file, None if it was undamaged (``whole``) or ``missing``. ``tables`` has the
    saved rows by table. ``lost`` counts deleted rows that referred to lost ones, ``emptied`` rows with lost values.
    ``libraries`` are those whose lost row was created again. ``rebuild`` is the number of documents to index again,
    ``unnamed`` the number of stored files whose address was lost. ``newest`` is False if a part of the write-ahead log
    is unreadable, so that the latest changes may be lost.
    """

    whole: bool
    missing: bool
    damaged: Path | None
    tables: dict[str, Saved]
    lost: Counter[str]
    emptied: Counter[str]
    libraries: tuple[str, ...]
    rebuild: int
    unnamed: int
    newest: bool


def recover_catalog(home: Path) -> Recovery:
    """Copy all readable data of a home's catalog into a new catalog, and replace the old one if it is damaged.

    The damaged file stays unchanged until the new one is complete; then it is renamed. Raise BusyError while another
    process uses the home, SchemaError if a newer version wrote the catalog, and StoreError if the disk cannot be used.
    """
    if not any((home / name).exists() for name in (CATALOG, f"{CATALOG}-wal", ORIGINALS)):
        raise StoreError(
            f"{home}: this folder holds neither a catalog nor uploaded files.", "Name the home to recover with --home."
        )
    open_home(home)
    with exclusive(home) as home_lock, scratch_folder(home / "tmp") as scratch:
        folded, new = scratch / "damaged.sqlite", scratch / CATALOG
        home_lock.copy(folded)
        newest = fold(home_lock.log, folded)
        missing = not folded.stat().st_size
        try:
            tables = {} if missing else _salvage(folded, new)
        except sqlite3.Error as error:
            advice = advice_of(str(error), home, "Check the disk, then run the command again.")
            raise StoreError(f"{new}: the new catalog cannot be written ({error}).", advice) from error
        with closing(_open_salvaged(new)) as catalog:
            mending = Mending(catalog, tables)
            mending.run()
        unnamed = _name_originals(new, home / ORIGINALS)
        sound = not missing and newest and not mending.changed and _is_sound(folded)
        whole = sound and all(saved.whole and not saved.gone and not saved.partly for saved in tables.values())
        damaged = None
        if not whole:
            _finish(new)
            damaged = home_lock.replace(folded, new)
    if whole and unnamed:
        _name_originals(home / CATALOG, home / ORIGINALS)
    return Recovery(
        whole, missing, damaged, tables, mending.lost, mending.emptied, tuple(mending.libraries), mending.rebuild,
        unnamed, newest,
    )  # fmt: skip


def _salvage(damaged: Path, new: Path) -> dict[str, Saved]:
    """Create the catalog ``new`` from the readable data in ``damaged``. Return the saved rows by table.

    The schema is that of the version that wrote the damaged file.
    """
    Catalog(new).close()
    with damaged.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        with closing(sqlite3.connect(new)) as target:
            expected = statements_of(target)
        pages = open_pages(data)
        schema = read_schema(pages, expected)
        version, program = _version(data, schema)
        if version > SCHEMA_VERSION:
            raise SchemaError(
                f"A newer version wrote the catalog (schema version {version}; this program reads up to "
                f"{SCHEMA_VERSION}).",
                f"Upgrade hybrid-pageindex{f' to {program} or newer' if program else ''}, then run the command again.",
            )
        if version < SCHEMA_VERSION:
            new.unlink()
            schema = _older_schema(schema)
        with closing(sqlite3.connect(new, isolation_level=None)) as target:
            target.execute("PRAGMA journal_mode=OFF")
            target.execute("PRAGMA synchronous=OFF")
            target.execute("PRAGMA foreign_keys=OFF")
            for sql in schema.statements if version < SCHEMA_VERSION else ():
                target.execute(sql)
            target.execute("BEGIN")
            target.execute("DELETE FROM meta")
            tables = Salvage(pages, schema, target).run()
            stored = target.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
            if stored != (str(version),) or (version == SCHEMA_VERSION and schema.replaced):
                tables["meta"].gone += 1  # so that the catalog does not pass for a whole one
            target.execute("INSERT OR REPLACE INTO meta VALUES ('schema', ?)", [str(version)])
            target.execute("INSERT OR IGNORE INTO meta VALUES ('catalog', ?)", [uuid.uuid4().hex])
            target.execute("COMMIT")
    return tables


def _older_schema(schema: Schema) -> Schema:
    """Return a schema without the expected tables that are missing, since an older version did not have them."""
    layouts = {name: layout for name, layout in schema.layouts.items() if name not in schema.missing}
    tables_first = sorted(schema.statements, key=lambda sql: not sql.upper().startswith("CREATE TABLE"))
    statements = tuple(sql for sql in tables_first if "sqlite_sequence" not in sql)
    return Schema(layouts, statements, frozenset(), schema.sequence)


def _version(data: mmap.mmap, schema: Schema) -> tuple[int, str]:
    """Return the schema version of a damaged catalog, or the current one if it is unreadable.

    Also return the oldest version of the program that reads this schema, "" if it is unknown.
    """
    meta: Layout = schema.layouts["meta"]
    pages = open_pages(data)  # apart: the salvage walks through this table once more
    records = pages.records(pages.new_tree(table=True), meta.root) if meta.root else ()
    values = {str(row["key"]): str(row["value"]) for row in map(meta.row, records) if row is not None}
    number = values.get("schema", "")
    version = int(number) if number.isdigit() else SCHEMA_VERSION
    if schema.usual and version < SCHEMA_VERSION:
        version = SCHEMA_VERSION  # the number is damaged
    return version, values.get(PROGRAM, "")


def _open_salvaged(new: Path) -> Catalog:
    """Open the salvaged catalog, which upgrades an older schema. Raise StoreError if that fails."""
    try:
        return Catalog(new)
    except (SQLAlchemyError, ValueError, KeyError, struct.error) as error:
        raise StoreError(
            f"The data saved from the damaged catalog cannot be upgraded to this version ({error}).",
            "Run recover with the version that wrote the catalog. The damaged catalog is unchanged.",
        ) from error


def _name_originals(file: Path, originals: Path) -> int:
    with closing(Catalog(file)) as catalog, catalog.writing() as connection:
        return name_originals(connection, list(FolderStore(originals).names()))


def _is_sound(file: Path) -> bool:
    """Return whether SQLite finds no damage in a copy of the catalog, and the ordered terms are valid."""
    try:
        with closing(sqlite3.connect(file)) as connection:
            checks = ("PRAGMA integrity_check(1)", "PRAGMA foreign_key_check")
            if [row[0] for check in checks for row in connection.execute(check)] != ["ok"]:
                return False
            has_orders = connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'orders'").fetchone()
            garbled = "SELECT 1 FROM orders WHERE typeof(terms) != 'blob' OR length(terms) % ? LIMIT 1"
            return not has_orders or connection.execute(garbled, [ORDER_BYTES]).fetchone() is None
    except (sqlite3.Error, UnicodeDecodeError):
        return False


def _finish(new: Path) -> None:
    """Check the new catalog, and merge its write-ahead log into the file. Raise StoreError if the check fails."""
    try:
        with closing(sqlite3.connect(new)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            checks = ("PRAGMA integrity_check", "PRAGMA foreign_key_check")
            problems = [str(row[0]) for check in checks for row in connection.execute(check)]
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        problems = [str(error)]
    if problems != ["ok"]:
        raise StoreError(
            f"The new catalog is incomplete ({', '.join(problems[:3])}); the damaged catalog is unchanged.",
            "Check the disk, then run the command again.",
        )


class Exclusive:
    """A home whose catalog no other process has open or can open.

    ``handle`` is the descriptor of the open catalog file, None if the file is missing. Read the file only through it,
    since closing another descriptor would release the lock. ``handles`` are the descriptors of all locked files.
    """

    def __init__(self, home: Path, handle: int | None, handles: list[int]) -> None:
        self.home, self.catalog = home, home / CATALOG
        self._handle, self._handles = handle, handles

    @property
    def log(self) -> Path:
        """Return the path of the catalog's write-ahead log, which may not exist."""
        return self.catalog.with_name(f"{CATALOG}-wal")

    def copy(self, target: Path) -> None:
        """Copy the catalog's file to ``target``; the copy is empty if there is no file. Raise StoreError on failure."""
        try:
            with target.open("xb") as copy:
                target.chmod(0o600)
                if self._handle is not None:
                    os.lseek(self._handle, 0, os.SEEK_SET)
                while self._handle is not None and (piece := os.read(self._handle, _PIECE)):
                    copy.write(piece)
        except OSError as error:
            advice = advice_of(
                str(error.strerror),
                target.parent,
                "Check the disk, and copy the file to another disk before you try again.",
            )
            raise StoreError(
                f"{self.catalog}: the damaged catalog cannot be copied ({error.strerror}).", advice
            ) from error

    def replace(self, folded: Path, new: Path) -> Path | None:
        """Replace the catalog by ``new``. Return the new path of the damaged one, None if there was none.

        ``folded`` is the damaged catalog with its write-ahead log merged. If the process is killed meanwhile, one of
        the two catalogs remains, never a catalog with the log of the other.
        """
        aside = self._keep_aside()
        for file in (folded, new):
            sync_file(file)
        if not POSIX:  # Windows replaces no file that is open; the lock for recovery still keeps others out
            self._let_go()
        if self.log.exists():
            folded.replace(self.catalog)  # both files have the same content, so the log can be deleted
            sync_folder(self.home)
        for name in ("-wal", "-shm"):
            self.catalog.with_name(CATALOG + name).unlink(missing_ok=True)
        sync_folder(self.home)
        new.replace(self.catalog)
        sync_folder(self.home)
        return aside

    def _keep_aside(self) -> Path | None:
        """Give the damaged catalog and its log a second name, and return the first new path, None without files.

        The name that an earlier call gave before it was killed is used again.
        """
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        for number in range(1, 1000):
            aside = self.catalog.with_name(f"{CATALOG}.damaged-{day}" + (f"-{number}" if number > 1 else ""))
            logged = aside.with_name(f"{aside.name}-wal")
            if not aside.exists() and not logged.exists():
                break
            if aside.exists() and self.catalog.exists() and aside.samefile(self.catalog):
                break
        first = None
        for source, target in ((self.catalog, aside), (self.log, logged)):
            if source.exists():
                first = first or target
                if not target.exists():
                    self._link(source, target)
        sync_folder(self.home)
        return first

    def _let_go(self) -> None:
        """Close the files of the catalog, which releases the locks on them."""
        self._handle = None
        while self._handles:
            os.close(self._handles.pop())

    def _link(self, source: Path, target: Path) -> None:
        try:
            os.link(source, target)
        except OSError as error:
            if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EMLINK, errno.EXDEV):
                raise
            part = target.with_name(f"{target.name}.part")  # a file system without links
            part.unlink(missing_ok=True)
            if source == self.catalog:
                self.copy(part)
            else:
                shutil.copyfile(source, part)
            sync_file(part)
            part.replace(target)


@contextmanager
def exclusive(home: Path) -> Iterator[Exclusive]:
    """Lock the catalog of a home for this process alone.

    Raise BusyError if another process uses the home, and StoreError if it cannot be written.
    """
    catalog = home / CATALOG
    used = BusyError(f"{home}: this home cannot be recovered while another process uses it.", _IN_USE)
    with lock_for_recovery(home) as locked:
        if not locked:
            raise BusyError(f"{home}: another process is recovering this home.", "Wait until that process has ended.")
        handles = list[int]()
        try:
            if _is_open_here(catalog):  # SQLite's locks do not part users within a process
                raise used
            for file, span in ((catalog, _WHOLE_FILE), (catalog.with_name(f"{CATALOG}-shm"), _LOG_LOCKS)):
                with suppress(FileNotFoundError):
                    handles.append(os.open(file, os.O_RDWR | CLOSE_ON_EXEC))
                    if not lock_span(handles[-1], *span):
                        raise used
            if not catalog.exists() and living(home / "tmp"):
                raise used
            yield Exclusive(home, handles[0] if catalog.exists() else None, handles)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN) and not os.access(catalog, os.R_OK | os.W_OK):
                raise StoreError(
                    f"{catalog}: the catalog file cannot be read or written.", "Check the file's permissions."
                ) from error
            if error.errno in (errno.EACCES, errno.EAGAIN):
                raise used from error
            advice = advice_of(str(error.strerror), home, "Check the folder's permissions and the disk.")
            raise StoreError(f"{home}: this home folder cannot be written ({error.strerror}).", advice) from error
        finally:
            for handle in handles:
                os.close(handle)


def _is_open_here(file: Path) -> bool:
    """Return whether this process has the file open, as far as the system reports it."""
    place = str(file.resolve())
    with suppress(OSError):
        for handle in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                if str(handle.readlink()) == place:
                    return True
    return False
