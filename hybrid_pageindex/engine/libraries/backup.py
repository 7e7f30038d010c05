"""Back up a whole home to one file while it is in use, and restore it into an empty home.

The file is a zip archive with the catalog (always as SQLite, wherever it is), the originals and the settings. So a
backup of a PostgreSQL database and a bucket can be restored into a folder, and the other way round. Search indexes and
caches are left out, because the engine rebuilds them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zipfile
import zlib
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import delete, insert, select

from hybrid_core.errors import DocumentError, NotFoundError, StoreError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import kept_files
from hybrid_core.store.catalog.maintenance import TableDigests, copy_catalog, table_digests
from hybrid_core.store.catalog.schema import SCHEMA_VERSION, meta, whole
from hybrid_core.store.home import CATALOG, ORIGINALS, advice_of, make_file, scratch_folder, working_folder

_KIND, _MANIFEST, _SETTINGS = "hybrid-pageindex backup 1", "backup.json", "config.yaml"
_MOST_MANIFEST = 100 * 10**6  # bytes
_PART = 1 << 20  # bytes
_SPARE = 10**6  # bytes that an upgrade of a copied catalog may add
_NO_BACKUP = "This file is not a backup, or it is damaged."
_ADVICE = "Name a file that 'backup' wrote."
_BUCKET = "bucket"  # the key in ``meta`` of the mark that a catalog shares with its bucket
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, KeyError, NotImplementedError, RuntimeError)


@dataclass(frozen=True, slots=True)
class BackupReport:
    """The contents of a backup. ``missing`` lists originals that the catalog names but that could not be read."""

    file: str
    documents: int
    libraries: int
    rows: int
    originals: int
    bytes: int
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RestoreReport:
    """The result of restoring a backup, or of checking it without changes.

    ``differing`` names tables and originals that differ from the backup. ``missing`` names lost originals.
    """

    documents: int
    libraries: int
    rows: int
    originals: int
    differing: tuple[str, ...]
    missing: tuple[str, ...]
    checked: bool

    @property
    def ok(self) -> bool:
        return not self.differing


def back_up(catalog: Catalog, home: Path, file: Path) -> BackupReport:
    """Write a backup of a home as it is at one instant. Other processes may write meanwhile.

    Raise UsageError if the file exists, StoreError if it cannot be written.
    """
    if file.exists():
        raise UsageError(
            f"The file {file} already exists, so no backup was written.",
            "Name another file, or delete the existing file.",
        )
    part = file.with_name(f".{file.name}.{os.getpid()}.part")
    try:
        make_file(part)
        size = sum((home / name).stat().st_size for name in (CATALOG, f"{CATALOG}-wal") if (home / name).exists())
        parent = working_folder(home / "tmp", size + _SPARE, "A copy of the catalog")
        with scratch_folder(parent) as folder, zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as packed:
            with closing(Catalog(folder / CATALOG)) as copy:
                rows = copy_catalog(catalog, copy, _ignore, changing=True)
                digests = table_digests(copy)
                documents, libraries = _counts(copy)
                with copy.reading() as connection:
                    names = sorted(kept_files(connection))
                copy.wipe()
            packed.write(folder / CATALOG, CATALOG, compresslevel=1)
            missing = [name for name in names if not _add_original(catalog, packed, name)]
            if (home / _SETTINGS).is_file():
                packed.write(home / _SETTINGS, _SETTINGS)
            manifest = {"kind": _KIND, "schema": SCHEMA_VERSION, "tables": digests, "missing": missing}
            packed.writestr(_MANIFEST, json.dumps(manifest))
        with part.open("rb") as stream:
            os.fsync(stream.fileno())
        part.rename(file)
    except OSError as error:
        advice = advice_of(str(error.strerror), file.parent, "Check the folder's permissions.")
        raise StoreError(f"{file}: the backup cannot be written ({error.strerror}).", advice) from error
    finally:
        part.unlink(missing_ok=True)
    return BackupReport(
        str(file), documents, libraries, rows, len(names) - len(missing), file.stat().st_size, tuple(missing)
    )


def restore(catalog: Callable[[], Catalog], home: Path, file: Path, *, check: bool = False) -> RestoreReport:
    """Restore a backup into an empty home. With ``check``, only test it.

    The test restores it into a scratch home, compares rows and files with the backup, and deletes the scratch home.
    Raise DocumentError if the file is no sound backup, UsageError if the home holds libraries.
    """
    with ExitStack() as stack:
        packed = stack.enter_context(_opened(file))
        size = 2 * sum(entry.file_size for entry in packed.infolist())
        parent = working_folder(home / "tmp", size + _SPARE, "A check of the backup") if check else home / "tmp"
        folder = stack.enter_context(scratch_folder(parent))
        manifest = _manifest(file, packed)
        _extract(packed, CATALOG, folder / "backup" / CATALOG)
        try:
            source = Catalog(folder / "backup" / CATALOG)
        except StoreError as error:
            if isinstance(error, UsageError):
                raise
            raise DocumentError(error.message, error.advice, file=file) from error
        with closing(source):
            if check:
                with closing(Catalog(folder / "scratch" / CATALOG)) as scratch:
                    return _restored(file, packed, manifest, source, scratch, folder, checked=True)
            report = _restored(file, packed, manifest, source, catalog(), folder, checked=False)
        if _SETTINGS in packed.namelist() and not (home / _SETTINGS).exists():
            make_file(home / _SETTINGS)
            _extract(packed, _SETTINGS, home / _SETTINGS)
    return report


def _restored(
    file: Path, packed: zipfile.ZipFile, manifest: dict[str, Any], source: Catalog, target: Catalog, folder: Path, *,
    checked: bool,
) -> RestoreReport:  # fmt: skip
    with target.snapshot() as snapshot:
        if snapshot.library_ids():
            raise UsageError(
                "The backup cannot be restored, because this home already contains libraries.",
                "Restore the backup into an empty home, or delete all libraries of this home first.",
            )
    objects = target.objects  # opening them gives the target and its bucket a common mark, which must stay
    with target.reading() as connection:
        bucket = connection.scalar(select(meta.c.value).where(meta.c.key == _BUCKET))
    with source.writing() as connection:
        connection.execute(delete(meta).where(meta.c.key == _BUCKET))
        if bucket is not None:
            connection.execute(insert(meta).values(key=_BUCKET, value=bucket))
    with source.reading() as connection:
        names = sorted(kept_files(connection))
    differing, missing = list[str](), list[str]()
    for name in names:
        place = folder / name
        if not _extract(packed, f"{ORIGINALS}/{name}", place):
            missing.append(name)
        elif not name.startswith(_digest_of(place)):
            differing.append(name)
        else:
            objects.upload(name, place)
            objects.keep(name, place)
            objects.confirm(name, place)
        place.unlink(missing_ok=True)
    if not checked:
        with target.writing() as connection:
            for table in reversed(whole().sorted_tables):
                if table is not meta:
                    connection.execute(delete(table))
    rows = copy_catalog(source, target, _ignore)
    differing += _differing(manifest, table_digests(target))
    differing += [name for name in missing if name not in manifest["missing"]]
    documents, libraries = _counts(target)
    return RestoreReport(
        documents, libraries, rows, len(names) - len(missing), tuple(differing), tuple(missing), checked
    )


def _differing(manifest: dict[str, Any], digests: TableDigests) -> list[str]:
    """Return the names of restored tables that differ from the backup.

    If the backup has an older schema, compare only the numbers of documents, notes and messages, because the upgrade
    may change rows.
    """
    stored = {str(name): tuple(value) for name, value in manifest["tables"].items()}
    if manifest["schema"] != SCHEMA_VERSION:
        return [name for name in ("documents", "notes", "messages") if stored[name][0] != digests[name][0]]
    return [name for name, value in digests.items() if stored.get(name) != value]


def _counts(catalog: Catalog) -> tuple[int, int]:
    """Return the numbers of documents and libraries, without those in the bin."""
    with catalog.snapshot() as snapshot:
        libraries = snapshot.libraries()
        return sum(len(snapshot.document_rows(library)) for library in libraries), len(libraries)


def _add_original(catalog: Catalog, packed: zipfile.ZipFile, name: str) -> bool:
    """Add an original file to the backup. Return False if the file is lost or was removed meanwhile."""
    with suppress(FileNotFoundError):
        packed.write(catalog.objects.fetch(name), f"{ORIGINALS}/{name}", compresslevel=1)
        return True
    return False


def _opened(file: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(file)
    except FileNotFoundError as error:
        raise NotFoundError(f"The backup file {file} does not exist.") from error
    except (OSError, *_DAMAGE) as error:
        raise DocumentError(_NO_BACKUP, _ADVICE, file=file) from error


def _manifest(file: Path, packed: zipfile.ZipFile) -> dict[str, Any]:
    try:
        if packed.getinfo(_MANIFEST).file_size > _MOST_MANIFEST:
            raise ValueError("too large")
        manifest: dict[str, Any] = json.loads(packed.read(_MANIFEST))
        if manifest["kind"] != _KIND or not isinstance(manifest["tables"], dict):
            raise ValueError("another kind of file")
        if {"schema", "missing"} - manifest.keys() or CATALOG not in packed.namelist():
            raise ValueError("incomplete")
    except (*_DAMAGE, TypeError, RecursionError) as error:
        raise DocumentError(_NO_BACKUP, _ADVICE, file=file) from error
    return manifest


def _extract(packed: zipfile.ZipFile, name: str, target: Path) -> bool:
    """Write a file of the archive to ``target``. Return False if the archive lacks it.

    Damaged bytes are written as far as they can be read.
    """
    target.parent.mkdir(mode=0o700, exist_ok=True, parents=True)
    try:
        entry = packed.getinfo(name)
    except KeyError:
        return False
    with target.open("wb") as stream, suppress(*_DAMAGE), packed.open(entry) as content:
        shutil.copyfileobj(content, stream, _PART)
    return True


def _digest_of(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _ignore(_table: str, _rows: int) -> None:
    """Ignore the progress reports of copying a catalog."""
