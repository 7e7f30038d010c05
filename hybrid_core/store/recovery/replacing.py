"""A home that one process has for itself, and the catalog in it replaced by another one, all or nothing."""

from __future__ import annotations

import datetime
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hybrid_core.errors import BusyError, StoreError
from hybrid_core.store.home import CATALOG, advice_of, lock_for_recovery
from hybrid_core.store.scratch import living

_WHOLE_FILE = (512, 0x40000000)  # the bytes that SQLite locks: pending, reserved, shared
_LOG_LOCKS = (9, 120)  # those of the index of its log: one a connection holds as long as it is open
_PIECE = 1 << 20  # bytes
_IN_USE = "Stop every process that uses this home (serve, worker, watch, mcp, notebooks), then run the command again."


class Exclusive:
    """A home whose catalog no other process has open or can open. ``handle`` is the catalog's file, None
    where it is missing: only through it may the file be read, since closing another one would drop the lock.
    """

    def __init__(self, home: Path, handle: int | None) -> None:
        self.home, self.catalog, self._handle = home, home / CATALOG, handle

    @property
    def log(self) -> Path:
        """The write-ahead log beside the catalog; it may not be there."""
        return self.catalog.with_name(f"{CATALOG}-wal")

    def copy(self, target: Path) -> None:
        """Write the bytes of the catalog's file to ``target``: none where it is missing. Raises StoreError."""
        try:
            with target.open("xb") as copy:
                target.chmod(0o600)
                at = 0
                while self._handle is not None and (piece := os.pread(self._handle, _PIECE, at)):
                    copy.write(piece)
                    at += len(piece)
        except OSError as error:
            advice = advice_of(str(error.strerror), target.parent, "Check the disk; copy the file away first.")
            raise StoreError(f"{self.catalog}: cannot be copied ({error.strerror}).", advice) from error

    def replace(self, folded: Path, new: Path) -> Path | None:
        """Put ``new`` in the catalog's place. Return where the damaged one lies now, None where there was none.

        ``folded`` is the damaged one with its log in it. A kill at any moment leaves the old catalog or the new one,
        and never one with the log of the other.
        """
        aside = self._keep_aside()
        for file in (folded, new):
            _sync(file)
        if self.log.exists():
            folded.replace(self.catalog)  # the same content, so that its log can go
            _sync(self.home)
        for name in ("-wal", "-shm"):
            self.catalog.with_name(CATALOG + name).unlink(missing_ok=True)
        _sync(self.home)
        new.replace(self.catalog)
        _sync(self.home)
        return aside

    def _keep_aside(self) -> Path | None:
        """Give the damaged files a second name. A name that an earlier, killed call gave is used again."""
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
        _sync(self.home)
        return first

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
            _sync(part)
            part.replace(target)


@contextmanager
def exclusive(home: Path) -> Iterator[Exclusive]:
    """Have a home alone. Raises BusyError where another process uses it, StoreError where it cannot be written."""
    catalog = home / CATALOG
    used = BusyError(f"{home}: it is in use.", _IN_USE)
    with lock_for_recovery(home) as locked:
        if not locked:
            raise BusyError(f"{home}: another process recovers this home.", "Wait until it has ended.")
        handles = list[int]()
        try:
            if _is_open_here(catalog):  # SQLite's locks do not part users within a process
                raise used
            for file, span in ((catalog, _WHOLE_FILE), (catalog.with_name(f"{CATALOG}-shm"), _LOG_LOCKS)):
                with suppress(FileNotFoundError):
                    handles.append(os.open(file, os.O_RDWR | os.O_CLOEXEC))
                    fcntl.lockf(handles[-1], fcntl.LOCK_EX | fcntl.LOCK_NB, *span)
            if not catalog.exists() and living(home / "tmp"):
                raise used
            yield Exclusive(home, handles[0] if catalog.exists() else None)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN) and not os.access(catalog, os.R_OK | os.W_OK):
                raise StoreError(f"{catalog}: cannot be read or written.", "Check the file's permissions.") from error
            if error.errno in (errno.EACCES, errno.EAGAIN):
                raise used from error
            advice = advice_of(str(error.strerror), home, "Check the folder's permissions and the disk.")
            raise StoreError(f"{home}: cannot be written ({error.strerror}).", advice) from error
        finally:
            for handle in handles:
                os.close(handle)


def _is_open_here(file: Path) -> bool:
    """Return True if this process has the file open, as far as the system tells it."""
    place = str(file.resolve())
    with suppress(OSError):
        for handle in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                if str(handle.readlink()) == place:
                    return True
    return False


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
