"""Folders and files of a home: created, locked and readable only by their owner, whatever the umask.

Working folders belong to a process; the next process removes those of dead ones. Copies that do not fit in the home go
to a temporary folder outside.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from hybrid_core.errors import Advice, BusyError, DiskFullError, ReadOnlyError, StoreError

if TYPE_CHECKING:
    from filelock import FileLock

CATALOG, CACHE, ORIGINALS, COPIES = "catalog.sqlite", "cache.sqlite", "originals", "copies"
FOLDERS = frozenset({"libraries", "locks", ORIGINALS, COPIES, "tmp", "words"})
_RECOVERY = Path("locks", "recover.lock")
_SQLITE = tuple(f"{file}{more}" for file in (CACHE, CATALOG) for more in ("-wal", "-shm", ""))
_FILES = ("config.yaml", "made-by-eval.json", *_SQLITE)
_FREE_SPACE = "Free some space"
_ROOM = 1 << 16  # bytes: with fewer SQLite cannot make the files beside a catalog
FULL = (errno.ENOSPC, errno.EDQUOT)
UNWRITABLE = (*FULL, errno.EROFS, errno.EACCES, errno.EPERM)  # what a system answers that keeps a folder from writes
FULL_SIGNS = ("No space left on device", "Disk quota exceeded", "database or disk is full")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_ALIVE = ".alive"
_USUAL = ("/tmp", "/var/tmp")


def open_home(home: Path) -> None:
    """Make the folder of a home, or take others' rights to one that an older version made.

    A folder that others may write to, or that holds folders which are not ours (``--home .``), keeps its rights:
    only what is ours in it is closed. Raise StoreError where the folder cannot be made.
    """
    catalog = home / CATALOG
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        make_folder(home)
    except OSError as error:
        raise StoreError(
            f"{home}: this home cannot be written ({error.strerror}).",
            Advice(
                "Choose another with PAGEINDEX_STORAGE_PATH.", "Choose another with --home or PAGEINDEX_STORAGE_PATH."
            ),
        ) from error
    if unwritable(home):  # a copy to read keeps its rights
        return
    with contextlib.suppress(OSError):  # a folder of somebody else's
        if not home.stat().st_mode & _WRITABLE_BY_OTHERS and all(
            entry.name in FOLDERS or not entry.is_dir() for entry in home.iterdir()
        ):
            close_to_others(home)
        if catalog.exists() and catalog.stat().st_mode & _OTHERS:
            for name in FOLDERS:
                close_below(home / name)
            for name in _FILES:  # the catalog comes last: it tells that all is done
                close_to_others(home / name)


def own_entries(names: Collection[str]) -> frozenset[str]:
    """Return what a folder with these entries holds of a home: none where it is no home."""
    return FOLDERS | frozenset(_FILES) if CATALOG in names or CACHE in names else frozenset()


def is_there(path: Path) -> bool:
    """Return whether a path exists as far as this user can see."""
    return os.path.exists(path)  # noqa: PTH110 - Path.exists raises where a folder may not be searched


def unwritable(path: Path) -> str:
    """Return why this user cannot write an existing file or folder, "" where they can or it does not exist."""
    if not is_there(path) or os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        return ""
    with contextlib.suppress(OSError):
        if os.statvfs(path).f_flag & os.ST_RDONLY:
            return "read-only file system"
    return "no permission to write"


def library_folder(home: Path, library: str) -> Path:
    """Return the folder for data derived from a library. Its id is escaped to be a safe folder name."""
    return home / "libraries" / quote(library, safe=" ")


def make_folder(folder: Path) -> None:
    """Make a folder and what it lacks above it, for its owner alone. An existing one stays as it is."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
    folder.chmod(stat.S_IRWXU)


def make_file(file: Path) -> None:
    """Make an empty file, for its owner alone. An existing one stays as it is."""
    with contextlib.suppress(FileExistsError):
        handle = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
        os.fchmod(handle, stat.S_IRUSR | stat.S_IWUSR)
        os.close(handle)


def close_below(folder: Path) -> None:
    """Take others' rights to a folder and everything in it. What vanishes meanwhile, or is not ours, is left out."""
    for parent, _, names in os.walk(folder):
        close_to_others(Path(parent))
        for name in names:
            close_to_others(Path(parent, name))


def close_to_others(path: Path) -> None:
    """Take others' rights to one file or folder, where it is ours and no link."""
    with contextlib.suppress(OSError):
        status = path.lstat()
        if status.st_mode & _OTHERS and not stat.S_ISLNK(status.st_mode) and status.st_uid == os.geteuid():
            path.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS)


@contextlib.contextmanager
def lock_for_recovery(home: Path) -> Iterator[bool]:
    """Keep other processes from opening the catalog of a home; yield False where another one does so already."""
    lock = home / _RECOVERY
    make_folder(lock.parent)
    make_file(lock)
    handle = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            alone = True
        except BlockingIOError:
            alone = False
        yield alone
    finally:
        os.close(handle)  # the file stays: were it unlinked, two could hold "the" lock


def check_not_recovering(home: Path) -> None:
    """Raise BusyError while another process recovers the catalog of this home."""
    try:
        handle = os.open(home / _RECOVERY, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # most homes were never recovered
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BusyError(
            f"{home}: the command 'recover' is rebuilding the catalog of this home.",
            "Try again when that command has ended.",
        ) from error
    finally:
        os.close(handle)


def advice_of(reason: str, folder: Path, otherwise: str) -> str:
    """Return advice for a failed read or write."""
    return space_advice(reason, folder) or otherwise


def space_advice(reason: str, folder: Path) -> str:
    """Return the advice to free some space if that is why a read or write failed, else "".

    SQLite reports an I/O error if the disk is too full for its log.
    """
    with contextlib.suppress(OSError):
        if "full" in reason or "No space" in reason or _is_full(folder):
            return f"{_FREE_SPACE}: the disk of {folder} is full."
    return ""


def disk_full(error: BaseException, folder: Path) -> DiskFullError | None:
    """Return a DiskFullError if an error was caused by a full disk, else None.

    ``folder`` is used if the error names no path. Errors from workers and servers are recognised by their text.
    """
    if isinstance(error, ReadOnlyError):
        return None
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, DiskFullError):
            return cause
        numbered = isinstance(cause, OSError) and cause.errno in FULL
        if numbered or any(sign in str(cause) for sign in FULL_SIGNS):
            break
        cause = cause.__cause__
    lacking = isinstance(error, (OSError, StoreError)) and bool(space_advice("", folder))
    if cause is None and not lacking:
        return None
    if not isinstance(error, StoreError):
        return DiskFullError(f"The disk of {folder} is full.", f"{_FREE_SPACE}.")
    return DiskFullError(error.message, advice_of("", folder, f"{_FREE_SPACE}."))


def refusal(error: OSError, what: Path) -> StoreError:
    """Return why ``what`` cannot be made in a home, as the error that says whether the home can be written at all."""
    message = f"{what}: cannot be written ({error.strerror})."
    if error.errno in FULL:
        return DiskFullError(message, f"{_FREE_SPACE}: the disk of {what.parent} is full.")
    kind = ReadOnlyError if error.errno in UNWRITABLE else StoreError
    return kind(message, Advice("Choose another home.", "Choose another --home."))


def _is_full(folder: Path) -> bool:
    return not unwritable(folder) and shutil.disk_usage(folder).free < _ROOM  # an image that is mounted has none free


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Make a new folder below ``parent``, and remove it at the end. Raise StoreError where it cannot be made."""
    sweep(parent)
    folder, lock = _new(parent)
    try:
        yield folder
    finally:
        _remove(folder, lock)


def _new(parent: Path) -> tuple[Path, FileLock]:
    from filelock import FileLock, Timeout  # takes long to import, and no search needs it

    while True:
        folder = parent / f"{os.getpid()}-{secrets.token_hex(4)}"
        lock = FileLock(  # beside the folder: it is there before the folder is
            folder.with_name(folder.name + _ALIVE), mode=0o600
        )
        try:
            make_folder(parent)
            lock.acquire(timeout=0)
            make_folder(folder)
            return folder, lock
        except Timeout:  # somebody who sweeps was quicker to lock the new file
            continue
        except OSError as error:
            raise refusal(error, folder) from error


def living(parent: Path) -> set[str]:
    """Return the names of the folders whose process is alive."""
    sweep(parent)
    return {file.name.removesuffix(_ALIVE) for file in parent.glob("*" + _ALIVE)}


def sweep(parent: Path) -> None:
    """Remove the folders whose process is gone (its lock is free)."""
    from filelock import FileLock, Timeout

    for file in list(parent.glob("*" + _ALIVE)):
        lock = FileLock(file)
        with contextlib.suppress(Timeout, OSError):
            lock.acquire(timeout=0)
            _remove(file.with_name(file.name.removesuffix(_ALIVE)), lock)


def _remove(folder: Path, lock: FileLock) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()


def temporary_folder(need: int, purpose: str) -> Path:
    """Return a private folder on the first temporary disk with ``need`` bytes free.

    ``purpose`` begins the error message. Raise DiskFullError with the free space of each place if none fits.
    """
    refused = []
    for place in _temp_folders():
        try:
            folder = _own_folder(place)
            free = shutil.disk_usage(folder).free
        except OSError as error:
            refused.append(f"{place} ({error.strerror or error})")
            continue
        if free >= need:
            return folder
        refused.append(f"{place} ({free >> 20} MB free)")
    megabytes = (need >> 20) + 1
    raise DiskFullError(
        f"{purpose} needs {megabytes} MB in a temporary folder, and no folder has enough space: {', '.join(refused)}.",
        f"Set the environment variable TMPDIR to a folder with {megabytes} MB of free space.",
    )


def working_folder(folder: Path, need: int, purpose: str) -> Path:
    """Return a folder in the home if it is writable and its disk has ``need`` bytes free, else a temporary folder.

    Raise as ``temporary_folder``.
    """
    existing = next(parent for parent in (folder, *folder.parents) if is_there(parent))
    if not unwritable(existing) and shutil.disk_usage(existing).free >= need:
        return folder
    return temporary_folder(need, purpose)


def _temp_folders() -> Iterator[Path]:
    named = [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")]
    yield from dict.fromkeys(Path(place).absolute() for place in (*named, *_USUAL) if place)


def _own_folder(place: Path) -> Path:
    """Return a folder below ``place`` that nobody else can open. Raise OSError where there can be none."""
    folder = place / f"hybrid-pageindex-{os.geteuid()}"
    folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise PermissionError(0, f"{folder.name} can be written by other users, too")
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(0, "cannot be written")
    return folder
