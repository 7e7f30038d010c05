"""Folders of index shards: the library's own shard for the first process, a private copy for each further one.

A handle is one open index.

::

    FOLDER/shard            the library's own shard
    FOLDER/state.json       the content of that shard (``ShardState``)
    FOLDER/owner.lock       locked by the handle that owns the shard, until that handle is closed
    FOLDER/loading          exists while the shard is loaded; found later, it means that a process died while loading
    FOLDER/write.lock       locked while the shard is loaded, written or copied, so that a copy is complete
    FOLDER/private/<name>/  shard/, loading and a lock file of each further handle, until its process ends
    FOLDER/private.lock     locked while private folders are created and removed

If FOLDER cannot be written, a handle has its private folder below the system's temporary folder, and locks
FOLDER/write.lock for reading. So its copy is complete even if another user can write FOLDER.

The system releases all locks of a process that dies.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from hybrid_core.errors import BusyError, StoreError
from hybrid_core.store.home import close_to_others, make_folder, scratch_folder, temporary_folder
from hybrid_core.system import CLOSE_ON_EXEC, lock_file, replace_file, sync_folder

CHECKSUM = "crc32:"
SPARE_BYTES = 64 << 20  # beside a copy of a shard: some file systems fill the holes of files that are mapped
_POLL_SECONDS = 0.005
_BLOCK = 1 << 16
_ZEROS = bytes(_BLOCK)
_LOADING = "loading"
_JOURNAL = "_journal.dat"


@dataclass(frozen=True, slots=True)
class ShardState:
    """The recorded content of a shard.

    While ``writing``, the shard may contain newer points than ``position`` and ``count`` say. ``position`` is that of
    the last applied change in the catalog's log, and ``mark`` the random mark of this change, 0 if unknown. ``churn``
    counts the points written or deleted since the last optimisation. ``files`` is a checksum or a ``fingerprint`` of
    the shard's files, "" if neither was recorded.
    """

    manifest: Mapping[str, str | int]
    position: int
    count: int
    churn: int = 0
    writing: bool = False
    files: str = ""
    mark: int = 0

    @property
    def checked(self) -> bool:
        """Return whether the record is final (not ``writing``) and contains a checksum of the shard's files."""
        return not self.writing and self.files.startswith(CHECKSUM)


def read_state(path: Path) -> ShardState | None:
    """Return the recorded state of a shard from its file, None if the file is missing or unreadable."""
    try:
        raw = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(raw, dict):
        return None
    try:
        state = ShardState(**raw)
    except TypeError:
        return None
    numbers = (state.position, state.count, state.churn, state.mark)
    sound = isinstance(state.manifest, dict) and all(type(n) is int and n >= 0 for n in numbers)
    return state if sound and isinstance(state.writing, bool) and isinstance(state.files, str) else None


def write_state(path: Path, state: ShardState) -> None:
    """Replace the recorded state of a shard atomically. Unless ``writing``, it is on disk when the call returns.

    After a power failure an older record may reappear. Its position is older too, so the later changes are applied
    again.
    """
    fresh = path.with_name(path.name + ".new")
    with fresh.open("w", encoding="utf-8") as file:
        json.dump(asdict(state), file, ensure_ascii=False, indent=1)
        if not state.writing:
            file.flush()
            os.fsync(file.fileno())
    close_to_others(fresh)
    replace_file(fresh, path)
    if not state.writing:
        sync_folder(path.parent)


def forget_state(path: Path) -> None:
    """Delete the recorded state of a shard from the disk, so that the shard is not trusted any more."""
    path.unlink(missing_ok=True)
    sync_folder(path.parent)


class FolderLock:
    """An exclusive lock on a lock file. It excludes other processes, and other locks of the file in this process.

    With ``optional`` the lock file is not created. If it is missing or cannot be locked, the lock counts as acquired.
    """

    def __init__(self, path: Path, *, optional: bool = False) -> None:
        self.path = path
        self._optional = optional
        self._handle = -1

    def acquire(self, timeout: float = 0.0) -> bool:
        """Acquire the lock within ``timeout`` seconds. Return False if it stays held elsewhere."""
        try:
            handle = os.open(
                self.path, CLOSE_ON_EXEC | (os.O_RDONLY if self._optional else os.O_RDWR | os.O_CREAT), 0o600
            )
        except OSError:
            if self._optional:
                return True
            raise
        deadline = time.monotonic() + timeout
        while True:
            try:
                locked = lock_file(handle)
            except OSError:  # some network file systems lock only what is open for writing
                os.close(handle)
                if self._optional:
                    return True
                raise
            except BaseException:
                os.close(handle)
                raise
            if locked:
                self._handle = handle
                return True
            if time.monotonic() >= deadline:
                os.close(handle)
                return False
            time.sleep(_POLL_SECONDS)

    def release(self) -> None:
        """Release the lock; safe to call twice.

        The lock file is not deleted, since two processes could then lock two different files of this name.
        """
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    @property
    def handle(self) -> int:
        """Return the file descriptor, −1 if the lock is not acquired. A child that inherits it keeps the lock."""
        return self._handle

    def __del__(self) -> None:
        self.release()


class ShardPlace:
    """The folder of a shard that one open index may write, with its locks.

    It is the library's own folder or, if another index owns that, a private folder.
    """

    def __init__(
        self, folder: Path, home: Path, life: FolderLock, private: bool, borrowed: ExitStack | None = None
    ) -> None:
        """Use the shard in ``home``: the library's ``folder`` itself or, if ``private``, a folder with a copy.

        ``life`` is the lock that shows that ``home`` is in use. ``borrowed`` removes the temporary folder with the copy
        at the end, if the library's folder cannot be written.
        """
        self.shard = home / "shard"
        self.private = private
        self.borrowed = borrowed is not None
        self._returning = borrowed or ExitStack()
        self._folder = folder
        self._home = home
        self._life = life
        self._write = FolderLock(folder / "write.lock", optional=self.borrowed)

    @property
    def own_shard(self) -> Path:
        """Return the folder of the library's own shard, even if another process owns it."""
        return self._folder / "shard"

    @property
    def state(self) -> Path:
        """Return the path of the file with the recorded state of the library's own shard."""
        return self._folder / "state.json"

    @property
    def suspect(self) -> bool:
        """Return whether a process died while it loaded the library's shard or a copy of it.

        Call it as the owner or within ``whole``, so that no other process is loading the shard.
        """
        return (self._folder / _LOADING).exists()

    def accuse(self) -> None:
        """Record that a process died while it loaded the library's shard, so that the shard is not trusted."""
        _mark(self._folder / _LOADING)

    def acquit(self) -> None:
        """Delete the record that ``accuse`` wrote, because the shard has been loaded or removed since."""
        try:
            (self._folder / _LOADING).unlink(missing_ok=True)
        except OSError:
            if not self.borrowed:
                raise

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Keep a marker file in the folder while its shard is loaded. If it remains, loading crashed the process."""
        marker = self._home / _LOADING
        _mark(marker)
        try:
            yield
        finally:
            marker.unlink(missing_ok=True)

    @property
    def handles(self) -> tuple[int, ...]:
        """Return the lock descriptors for a child that works on the shard, so that its locks outlive this process.

        It is only the write lock: if this process dies, the next one owns the shard and waits for the child.
        """
        return (self._write.handle,) if self._write.handle >= 0 else ()

    @contextmanager
    def whole(self, timeout: float) -> Iterator[None]:
        """Hold the lock against writing or copying the library's own shard in other processes.

        Raise ``BusyError`` if that is not possible within ``timeout`` seconds.
        """
        if self._write.handle >= 0:
            raise StoreError("This process is already writing the search index.")
        if not self._write.acquire(timeout):
            raise BusyError(
                f"The search index {self._folder} is being written by another process.", "Try again in a moment."
            )
        try:
            yield
        finally:
            self._write.release()

    def release(self) -> None:
        """Release the folder, and delete it if it is private. Safe to call twice."""
        if self.private and self._life.handle >= 0:
            shutil.rmtree(self._home, ignore_errors=True)
        self._life.release()
        self._returning.close()


def in_use(folder: Path) -> bool:
    """Return whether another process, or another index in this process, owns the library's own shard."""
    owner = FolderLock(folder / "owner.lock")
    if not folder.is_dir() or owner.acquire():
        owner.release()
        return False
    return True


def claim(folder: Path) -> ShardPlace:
    """Take the library's own shard if nothing else owns it, otherwise create a private folder.

    Private folders of ended processes are deleted.
    """
    make_folder(folder)
    owner = FolderLock(folder / "owner.lock")
    owned = owner.acquire()
    guard = FolderLock(folder / "private.lock")
    if not guard.acquire(timeout=0.0 if owned else 30.0):
        if owned:
            return ShardPlace(folder, folder, owner, private=False)
        raise BusyError(f"Another process is writing the search index {folder}.", "Try again in a moment.")
    try:
        _remove_abandoned(folder / "private")
        if owned:
            return ShardPlace(folder, folder, owner, private=False)
        home = folder / "private" / f"{os.getpid()}-{secrets.token_hex(4)}"
        make_folder(home)
        life = FolderLock(home / "lock")
        life.acquire()
        return ShardPlace(folder, home, life, private=True)
    finally:
        guard.release()


def borrow(folder: Path) -> ShardPlace:
    """Create a private folder on another disk, with space for a copy of the shard, because the home cannot be written.

    Raise DiskFullError, which states the space needed, if no temporary folder has enough.
    """
    need = allocated_bytes(folder / "shard") + SPARE_BYTES
    parent = temporary_folder(need, f"A copy of the search index {folder}")
    with ExitStack() as returning:
        home = returning.enter_context(scratch_folder(parent))
        life = FolderLock(home / "lock")
        life.acquire()
        return ShardPlace(folder, home, life, private=True, borrowed=returning.pop_all())


def _remove_abandoned(private: Path) -> None:
    for home in private.iterdir() if private.is_dir() else ():
        lock = FolderLock(home / "lock")
        try:
            if lock.acquire():
                if (home / _LOADING).exists():  # it died over a copy of the library's shard
                    _mark(private.parent / _LOADING)
                shutil.rmtree(home, ignore_errors=True)
        except OSError:
            continue  # not ours to remove, or vanishing; the next opener looks again
        finally:
            lock.release()


def _mark(path: Path) -> None:
    with suppress(OSError):  # on a full disk the shard is loaded without
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))


def copy_shard(source: Path, target: Path) -> None:
    """Copy the folder of a shard. Its files are sparse, and so are the copies."""
    for path in sorted(source.rglob("*")):
        place = target / path.relative_to(source)
        if path.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            _copy_sparse(path, place)


def _copy_sparse(source: Path, target: Path) -> None:
    with source.open("rb") as read, target.open("wb") as write:
        while block := read.read(_BLOCK):
            if block == _ZEROS:
                write.seek(_BLOCK, os.SEEK_CUR)
            else:
                write.write(block)
        write.truncate(read.tell())


def allocated_bytes(folder: Path) -> int:
    """Return the disk usage in bytes of all files below a folder, without the holes of sparse files."""
    return sum(_allocated(path.stat()) for path in folder.rglob("*") if path.is_file())


def _allocated(status: os.stat_result) -> int:
    return status.st_blocks * 512 if hasattr(status, "st_blocks") else status.st_size  # Windows counts no blocks


def fingerprint(shard: Path) -> str:
    """Return the sizes and times of a shard's id trackers, which change with each flush.

    It is a cheap substitute for ``checksum``.
    """
    trackers = sorted(shard.glob("segments/*/*id_tracker*"))
    return " ".join(
        f"{path.parent.name}/{path.name}:{status.st_size}:{status.st_mtime_ns}"
        for path, status in ((path, path.stat()) for path in trackers)
    )


def checksum(shard: Path) -> str:
    """Return the checksum of a shard's segments, which shows whether their content is unchanged.

    A wrong byte can make Edge abort or hang the process that loads the shard. Holes of sparse files count as zeros, so
    that a copy has the checksum of its original. The log and the journals are excluded, since Edge recreates them when
    it loads a shard. All files are read, since writes to memory-mapped files need not change their times.
    """
    whole = 0
    for path in sorted((shard / "segments").rglob("*")):
        if path.is_file() and not path.name.endswith(_JOURNAL):
            whole = zlib.crc32(f"{path.relative_to(shard)} {_checksum(path)}".encode(), whole)
    return f"{CHECKSUM}{whole:08x}"


def _checksum(path: Path) -> int:
    crc = position = 0
    with path.open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        while position < size:
            position = _next_data(file.fileno(), position, size) // _BLOCK * _BLOCK
            file.seek(position)
            if (block := file.read(_BLOCK)) != _ZEROS[: len(block)]:
                crc = zlib.crc32(block, zlib.crc32(position.to_bytes(8, "big"), crc))
            position += _BLOCK
    return zlib.crc32(size.to_bytes(8, "big"), crc)


def _next_data(handle: int, position: int, size: int) -> int:
    """Return the end of the hole in a sparse file at ``position``, or ``position`` itself if there is no hole."""
    if not hasattr(os, "SEEK_DATA"):
        return position
    try:
        return os.lseek(handle, position, os.SEEK_DATA)
    except OSError as error:
        return size if error.errno == errno.ENXIO else position  # a hole up to the end, or no holes are told
