"""Folders and files of a home, the folder of all stored data: created, locked, and readable only by their owner.

Each process has its own working folders; other processes delete them after it has ended. Copies that do not fit in the
home go to a temporary folder outside.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from hybrid_core.errors import Advice, BusyError, DiskFullError, ReadOnlyError, StoreError
from hybrid_core.system import CLOSE_ON_EXEC, POSIX, is_own, lock_file, user_name

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
UNWRITABLE = (*FULL, errno.EROFS, errno.EACCES, errno.EPERM)  # errors of the system for a folder that cannot be written
FULL_SIGNS = ("No space left on device", "Disk quota exceeded", "database or disk is full")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9]) *(\..*)?", re.IGNORECASE)
_ALIVE = ".alive"
_USUAL = ("/tmp", "/var/tmp") if POSIX else (tempfile.gettempdir(),)


def open_home(home: Path) -> None:
    """Create the folder of a home, or remove other users' access to an existing one.

    A folder that others may write to, or that contains other folders (``--home .``), stays accessible. Then only the
    access to the home's own files and folders in it is removed. Raise StoreError if the folder cannot be created.
    """
    catalog = home / CATALOG
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        make_folder(home)
    except OSError as error:
        raise StoreError(
            f"{home}: this home folder cannot be written ({error.strerror}).",
            Advice(
                "Choose another home folder with PAGEINDEX_STORAGE_PATH.",
                "Choose another home folder with --home or PAGEINDEX_STORAGE_PATH.",
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
    """Return the names of all files and folders that belong to a home, if ``names`` are the entries of a home.

    If they contain neither a catalog nor a cache, return an empty set.
    """
    return FOLDERS | frozenset(_FILES) if CATALOG in names or CACHE in names else frozenset()


def is_there(path: Path) -> bool:
    """Return whether a path exists. Return False, and raise no error, if this user may not read its folder."""
    return os.path.exists(path)  # noqa: PTH110 - Path.exists raises where a folder may not be searched


def unwritable(path: Path) -> str:
    """Return the reason why this user cannot write an existing path.

    Return "" if the user can write it or it does not exist.
    """
    if not is_there(path) or os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        return ""
    if hasattr(os, "statvfs"):
        with contextlib.suppress(OSError):
            if os.statvfs(path).f_flag & os.ST_RDONLY:
                return "read-only file system"
    return "no permission to write"


def library_folder(home: Path, library: str) -> Path:
    """Return the folder for data derived from a library. The id is escaped to be a safe folder name."""
    name = quote(library, safe=" ")
    return home / "libraries" / (safe_name(name) if sys.platform in ("win32", "darwin") else name)


def safe_name(name: str) -> str:
    """Escape a name for use as a folder name that Windows accepts. Names that differ only in case stay different.

    ``name`` is already escaped as in URLs.
    """
    name = re.sub(r"(?<!%)(?<!%[0-9A-F])[A-Z]", lambda letter: f"%{ord(letter[0]):02X}", name)
    if _DEVICE.fullmatch(name):
        name = f"%{ord(name[0]):02X}{name[1:]}"
    return f"{name[:-1]}%{ord(name[-1]):02X}" if name.endswith((".", " ")) else name


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents, accessible only to this user. Existing folders stay unchanged."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
    folder.chmod(stat.S_IRWXU)


def make_file(file: Path) -> None:
    """Create an empty file, accessible only to this user. An existing file stays unchanged."""
    with contextlib.suppress(FileExistsError):
        handle = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY | CLOSE_ON_EXEC, 0o600)
        os.close(handle)
        file.chmod(stat.S_IRUSR | stat.S_IWUSR)


def close_below(folder: Path) -> None:
    """Remove other users' access to a folder and everything in it.

    Files that disappear meanwhile, or have another owner, are skipped.
    """
    for parent, _, names in os.walk(folder):
        close_to_others(Path(parent))
        for name in names:
            close_to_others(Path(parent, name))


def close_to_others(path: Path) -> None:
    """Remove other users' access to a file or folder, unless it is a link or belongs to another user."""
    with contextlib.suppress(OSError):
        status = path.lstat()
        if status.st_mode & _OTHERS and not stat.S_ISLNK(status.st_mode) and is_own(status):
            path.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS)


@contextlib.contextmanager
def lock_for_recovery(home: Path) -> Iterator[bool]:
    """Prevent other processes from opening the catalog of a home. Yield False if another process holds the lock."""
    lock = home / _RECOVERY
    make_folder(lock.parent)
    make_file(lock)
    handle = os.open(lock, os.O_RDWR | CLOSE_ON_EXEC)
    try:
        yield lock_file(handle)
    finally:
        os.close(handle)  # the file stays: were it unlinked, two could hold "the" lock


def check_not_recovering(home: Path) -> None:
    """Raise BusyError while another process recovers the catalog of this home."""
    try:
        handle = os.open(home / _RECOVERY, (os.O_RDONLY if POSIX else os.O_RDWR) | CLOSE_ON_EXEC)
    except OSError:  # most homes were never recovered
        return
    try:
        for attempt in range(1 if POSIX else 20):  # on Windows two that look at once refuse each other
            time.sleep(0.02 * bool(attempt))
            if lock_file(handle, shared=True):
                return
    finally:
        os.close(handle)
    raise BusyError(
        f"{home}: the command 'recover' is rebuilding the catalog of this home.",
        "Try again when that command has ended.",
    )


def advice_of(reason: str, folder: Path, otherwise: str) -> str:
    """Return advice for a failed read or write: to free space if the disk is full, else ``otherwise``."""
    return space_advice(reason, folder) or otherwise


def space_advice(reason: str, folder: Path) -> str:
    """Return the advice to free space if a read or write failed because the disk is full, else "".

    ``reason`` is the message of the error. The free space is checked too, since SQLite may report only an I/O error.
    """
    with contextlib.suppress(OSError):
        if "full" in reason or "No space" in reason or _is_full(folder):
            return f"{_FREE_SPACE}: the disk of {folder} is full."
    return ""


def disk_full(error: BaseException, folder: Path) -> DiskFullError | None:
    """Return a DiskFullError if an error was caused by a full disk, else None.

    If neither the error nor its causes say so, the disk of ``folder`` is checked. Errors from workers and servers are
    recognised by their text.
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
    """Convert the error of a failed creation of a file or folder in a home. ``what`` is its path.

    Return DiskFullError if the disk is full, ReadOnlyError if the home is read-only, else StoreError.
    """
    message = f"{what}: cannot be written ({error.strerror})."
    if error.errno in FULL:
        return DiskFullError(message, f"{_FREE_SPACE}: the disk of {what.parent} is full.")
    kind = ReadOnlyError if error.errno in UNWRITABLE else StoreError
    return kind(message, Advice("Choose another home.", "Choose another --home."))


def _is_full(folder: Path) -> bool:
    return not unwritable(folder) and shutil.disk_usage(folder).free < _ROOM  # an image that is mounted has none free


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """Create a new folder below ``parent``, yield it, and delete it at the end.

    Raise StoreError if it cannot be created.
    """
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
    """Delete the working folders of ended processes. Return the names of the folders of running processes."""
    sweep(parent)
    return {file.name.removesuffix(_ALIVE) for file in parent.glob("*" + _ALIVE)}


def sweep(parent: Path) -> None:
    """Delete the working folders of ended processes. A free lock shows that the process has ended."""
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
    """Return a private folder in the first temporary folder of the system with ``need`` bytes free.

    Raise DiskFullError if no temporary folder has enough space. Its message begins with ``purpose``.
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
    """Return ``folder`` if it is writable and its disk has ``need`` bytes free, else a temporary folder.

    Raise DiskFullError if no temporary folder has enough space. Its message begins with ``purpose``.
    """
    existing = next(parent for parent in (folder, *folder.parents) if is_there(parent))
    if not unwritable(existing) and shutil.disk_usage(existing).free >= need:
        return folder
    return temporary_folder(need, purpose)


def _temp_folders() -> Iterator[Path]:
    named = [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")]
    yield from dict.fromkeys(Path(place).absolute() for place in (*named, *_USUAL) if place)


def _own_folder(place: Path) -> Path:
    """Create a folder below ``place`` that no other user can open, and return it. Raise OSError if it fails."""
    folder = place / f"hybrid-pageindex-{user_name()}"
    folder.mkdir(mode=stat.S_IRWXU, exist_ok=True)
    status = folder.lstat()
    others = POSIX and stat.S_IMODE(status.st_mode) & _OTHERS  # on Windows the folder of the user's profile is closed
    if not stat.S_ISDIR(status.st_mode) or not is_own(status) or others:
        raise PermissionError(0, f"other users can write to the folder {folder.name}")
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(0, "cannot be written")
    return folder
