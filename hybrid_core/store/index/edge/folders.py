"""Folders of shards: the library's own for the first process, a private one for any other.

::

    FOLDER/shard            the library's own shard
    FOLDER/state.json       what it holds (``ShardState``)
    FOLDER/owner.lock       held for life by the handle that owns the shard
    FOLDER/loading          there while the shard is loaded: a process that finds it knows of one that died meanwhile
    FOLDER/write.lock       held while the shard is loaded, written or copied, so that a copy is whole
    FOLDER/private/<name>/  shard/, loading and a lock file, of every further handle, until its process is gone
    FOLDER/private.lock     held while private folders are made and removed

Where FOLDER cannot be written, a handle has its private folder below the system's temporary folder, and takes
FOLDER/write.lock for reading: what is copied is whole there too, should somebody else be able to write it.

The system drops all locks when their process dies, however it dies.
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

    While ``writing``, the shard may hold more than ``position`` and ``count`` say. ``churn`` counts the points written
    or deleted since the shard was last optimised. ``files`` is the checksum of its segments, after a write their
    fingerprint, "" where neither was taken. ``mark`` is that of the change at ``position``, 0 where an older version
    recorded it.
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
        """Return whether there is a checksum of what the shard holds."""
        return not self.writing and self.files.startswith(CHECKSUM)


def read_state(path: Path) -> ShardState | None:
    """Return the recorded state, None where there is none or it cannot be read."""
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
    """Replace the recorded state in one step. It is on the disk when this returns, but while ``writing``.

    After a loss of power, the older record that may then be found has an older position: it is replayed.
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
    """Remove the recorded state, durably: from now on the shard is not to be trusted."""
    path.unlink(missing_ok=True)
    sync_folder(path.parent)


class FolderLock:
    """An exclusive lock on a file of its own, also against other handles in this process.

    ``optional``: its file is not made, and where there is none, or it cannot be locked, the lock counts as taken.
    """

    def __init__(self, path: Path, *, optional: bool = False) -> None:
        self.path = path
        self._optional = optional
        self._handle = -1

    def acquire(self, timeout: float = 0.0) -> bool:
        """Take the lock, waiting ``timeout`` seconds at most; False where somebody else holds it."""
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
        """Let go; safe to call twice. The file stays: were it unlinked, two could hold "the" lock."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    @property
    def handle(self) -> int:
        """The file descriptor, −1 while not held. A child that inherits it keeps the lock alive."""
        return self._handle

    def __del__(self) -> None:
        self.release()


class ShardPlace:
    """The folder that one handle may write, and how to release it."""

    def __init__(
        self, folder: Path, home: Path, life: FolderLock, private: bool, borrowed: ExitStack | None = None
    ) -> None:
        """Take a folder; ``borrowed`` gives back a ``home`` outside a folder that cannot be written."""
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
        """The library's own shard, whoever owns it."""
        return self._folder / "shard"

    @property
    def state(self) -> Path:
        """The record of what the library's own shard holds."""
        return self._folder / "state.json"

    @property
    def suspect(self) -> bool:
        """Return whether a process died while it loaded the library's shard or a copy of it.

        Call it as the owner or within ``whole``, when no other process loads the shard.
        """
        return (self._folder / _LOADING).exists()

    def accuse(self) -> None:
        """Record that loading the library's shard ended a process."""
        _mark(self._folder / _LOADING)

    def acquit(self) -> None:
        """Delete that record, because the shard or a copy was loaded or removed."""
        try:
            (self._folder / _LOADING).unlink(missing_ok=True)
        except OSError:
            if not self.borrowed:
                raise

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Mark this handle's folder while its shard is loaded, which may end the process."""
        marker = self._home / _LOADING
        _mark(marker)
        try:
            yield
        finally:
            marker.unlink(missing_ok=True)

    @property
    def handles(self) -> tuple[int, ...]:
        """The lock that a child working on the shard inherits, to keep it should this process be killed.

        Only the write lock: the next opener then owns the shard, and waits until the child has ended.
        """
        return (self._write.handle,) if self._write.handle >= 0 else ()

    @contextmanager
    def whole(self, timeout: float) -> Iterator[None]:
        """Keep every other process from writing or copying the library's own shard.

        Raise ``BusyError`` where that is not possible within ``timeout`` seconds.
        """
        if self._write.handle >= 0:
            raise StoreError("This handle already holds the write lock of the search index.")
        if not self._write.acquire(timeout):
            raise BusyError(
                f"The search index {self._folder} is being written by another process.", "Try again in a moment."
            )
        try:
            yield
        finally:
            self._write.release()

    def release(self) -> None:
        """Give the folder back, and remove it where it was private. Safe to call twice."""
        if self.private and self._life.handle >= 0:
            shutil.rmtree(self._home, ignore_errors=True)
        self._life.release()
        self._returning.close()


def in_use(folder: Path) -> bool:
    """Return whether another handle owns the library's own shard."""
    owner = FolderLock(folder / "owner.lock")
    if not folder.is_dir() or owner.acquire():
        owner.release()
        return False
    return True


def claim(folder: Path) -> ShardPlace:
    """Take the library's own shard where it is free, else a new private folder. Remove those of dead processes."""
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
    """Make a private folder outside a folder that cannot be written, with room for a copy of its shard.

    Raise DiskFullError, which says how much room a copy takes, where no temporary folder has it.
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
    """Copy a shard folder. Its files are mostly holes (pre-allocated pages), and stay so."""
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
    """Return the bytes on the disk (not counting holes) of all files below a folder."""
    return sum(_allocated(path.stat()) for path in folder.rglob("*") if path.is_file())


def _allocated(status: os.stat_result) -> int:
    return status.st_blocks * 512 if hasattr(status, "st_blocks") else status.st_size  # Windows counts no blocks


def fingerprint(shard: Path) -> str:
    """Return the sizes and times of a shard's id trackers, which change with a flush: a quick look at a shard."""
    trackers = sorted(shard.glob("segments/*/*id_tracker*"))
    return " ".join(
        f"{path.parent.name}/{path.name}:{status.st_size}:{status.st_mtime_ns}"
        for path, status in ((path, path.stat()) for path in trackers)
    )


def checksum(shard: Path) -> str:
    """Return the checksum of a shard's segments, which says whether they are as they were written.

    A wrong byte can make Edge abort the process that loads it, or never end. Holes and zeros count alike, so that a
    copy has the checksum of its original. The log and the journals are left out: Edge begins them anew when it loads a
    shard. All files are read: times tell nothing, since writes to mapped files need not change them.
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
    """Return where the hole at a position ends."""
    if not hasattr(os, "SEEK_DATA"):
        return position
    try:
        return os.lseek(handle, position, os.SEEK_DATA)
    except OSError as error:
        return size if error.errno == errno.ENXIO else position  # a hole up to the end, or no holes are told
