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

from hybrid_core.store.home import make_folder, refusal

_ALIVE = ".alive"


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """A new folder below ``parent``, removed at the end. Raises StoreError where it cannot be made."""
    sweep(parent)
    folder, lock = _new(parent)
    try:
        yield folder
    finally:
        _remove(folder, lock)


def _new(parent: Path) -> tuple[Path, FileLock]:
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
    """The names of the folders whose process lives."""
    sweep(parent)
    return {file.name.removesuffix(_ALIVE) for file in parent.glob("*" + _ALIVE)}


def sweep(parent: Path) -> None:
    """Remove the folders whose process is gone (its lock is free)."""
    for file in list(parent.glob("*" + _ALIVE)):
        lock = FileLock(file)
        with contextlib.suppress(Timeout, OSError):
            lock.acquire(timeout=0)
            _remove(file.with_name(file.name.removesuffix(_ALIVE)), lock)


def _remove(folder: Path, lock: FileLock) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()
