"""A home and everything in it can be read by its owner alone, whatever the umask."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from hybrid_core.errors import BusyError, DiskFullError, ReadOnlyError, StoreError

CATALOG, CACHE, ORIGINALS, COPIES = "catalog.sqlite", "cache.sqlite", "originals", "copies"
FOLDERS = frozenset({"libraries", "locks", ORIGINALS, COPIES, "tmp", "words"})
_RECOVERY = Path("locks", "recover.lock")
_SQLITE = tuple(f"{file}{more}" for file in (CACHE, CATALOG) for more in ("-wal", "-shm", ""))
_FILES = ("config.yaml", "made-by-eval.json", *_SQLITE)
FREE_SPACE = "Free some space"  # begins the advice where a disk is full
_ROOM = 1 << 16  # bytes: with fewer SQLite cannot make the files beside a catalog
FULL = (errno.ENOSPC, errno.EDQUOT)
UNWRITABLE = (*FULL, errno.EROFS, errno.EACCES, errno.EPERM)  # what a system answers that keeps a folder from writes
FULL_SIGNS = ("No space left on device", "Disk quota exceeded", "database or disk is full")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_SHARED = stat.S_IWGRP | stat.S_IWOTH


def open_home(home: Path) -> None:
    """Make the folder of a home, or take others' rights to one that an older version made.

    A folder that others may write to, or that holds folders which are not ours (``--home .``), keeps its rights:
    only what is ours in it is closed. Raises StoreError where the folder cannot be made.
    """
    catalog = home / CATALOG
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        make_folder(home)
    except OSError as error:
        raise StoreError(
            f"{home}: this home cannot be written ({error.strerror}).",
            "Choose another with --home or PAGEINDEX_STORAGE_PATH.",
        ) from error
    if unwritable(home):  # a copy to read keeps its rights
        return
    with contextlib.suppress(OSError):  # a folder of somebody else's
        if not home.stat().st_mode & _SHARED and all(map(_is_ours, home.iterdir())):
            close_to_others(home)
        if catalog.exists() and catalog.stat().st_mode & _OTHERS:
            for name in FOLDERS:
                close_below(home / name)
            for name in _FILES:  # the catalog comes last: it tells that all is done
                close_to_others(home / name)


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
    """Where what is derived from a library lies; its id is escaped so that any script makes a safe folder."""
    return home / "libraries" / quote(library, safe=" ")


def make_folder(folder: Path) -> None:
    """A folder and what it lacks above it, for its owner alone; nothing happens to what is there."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
    folder.chmod(stat.S_IRWXU)


def make_file(file: Path) -> None:
    """An empty file, for its owner alone; nothing happens to one that is there."""
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
        found = path.lstat()
        if found.st_mode & _OTHERS and not stat.S_ISLNK(found.st_mode) and found.st_uid == os.geteuid():
            path.chmod(stat.S_IMODE(found.st_mode) & ~_OTHERS)


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
        os.close(handle)  # the file stays: were it unlinked, two could hold «the» lock


def check_not_recovering(home: Path) -> None:
    """Raise BusyError while another process recovers the catalog of this home."""
    try:
        handle = os.open(home / _RECOVERY, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # most homes were never recovered
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BusyError(f"{home}: its catalog is being recovered.", "Try again when that has ended.") from error
    finally:
        os.close(handle)


def advice_of(reason: str, folder: Path, otherwise: str) -> str:
    """What to do about a failed read or write; SQLite calls a full disk an I/O error where its log has no room."""
    with contextlib.suppress(OSError):
        if "full" in reason or "No space" in reason or _is_full(folder):
            return f"{FREE_SPACE}: the disk of {folder} is full."
    return otherwise


def disk_full(error: BaseException, folder: Path) -> DiskFullError | None:
    """Return what a full disk was the reason of as such, None for every other error.

    ``folder`` is the one that is written to where the error names none. What a worker or a server tells has its
    errors as text only.
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
    lacking = isinstance(error, (OSError, StoreError)) and bool(advice_of("", folder, ""))
    if cause is None and not lacking:
        return None
    if not isinstance(error, StoreError):
        return DiskFullError(f"The disk of {folder} is full.", "Free some space.")
    return DiskFullError(error.message, error.advice if "Free" in error.advice else "Free some space.")


def refusal(error: OSError, what: Path) -> StoreError:
    """Return why ``what`` cannot be made in a home, as the error that says whether the home can be written at all."""
    message = f"{what}: cannot be written ({error.strerror})."
    if error.errno in FULL:
        return DiskFullError(message, f"{FREE_SPACE}: the disk of {what.parent} is full.")
    kind = ReadOnlyError if error.errno in UNWRITABLE else StoreError
    return kind(message, "Choose another --home.")


def _is_full(folder: Path) -> bool:
    return not unwritable(folder) and shutil.disk_usage(folder).free < _ROOM  # an image that is mounted has none free


def _is_ours(entry: Path) -> bool:
    return entry.name in FOLDERS or not entry.is_dir()
