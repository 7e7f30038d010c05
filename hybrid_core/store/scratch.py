"""Folders that live as long as a process: those of dead processes are removed by the next one."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from hybrid_core.errors import StoreError

_LOCK = ".alive"


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """A new folder below ``parent``, removed at the end. Raises StoreError where it cannot be made."""
    sweep(parent)
    folder = parent / f"{os.getpid()}-{secrets.token_hex(4)}"
    lock = FileLock(folder / _LOCK)
    try:
        folder.mkdir(parents=True)
        lock.acquire(timeout=0)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written ({error.strerror}).", "Choose another --home.") from error
    try:
        yield folder
    finally:
        lock.release()
        shutil.rmtree(folder, ignore_errors=True)


def sweep(parent: Path) -> None:
    """Remove the folders whose process is gone (its lock is free)."""
    if not parent.is_dir():
        return
    for folder in parent.iterdir():
        lock = FileLock(folder / _LOCK)
        with contextlib.suppress(Timeout, OSError):
            if not (folder / _LOCK).exists():
                continue  # another process is just making it
            lock.acquire(timeout=0)
            try:
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                lock.release()
