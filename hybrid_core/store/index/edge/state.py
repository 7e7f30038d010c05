"""state.json beside a shard: what it held at the last flush. Where it is missing the shard is not trusted."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from hybrid_core.store.home import close_to_others

CHECKSUM = "crc32:"


@dataclass(frozen=True, slots=True)
class ShardState:
    """What the shard holds. While ``writing``, it may hold more than ``position`` and ``count`` say.

    ``churn`` is how many points were written or deleted since the shard was last optimised. ``files`` is the
    checksum of its segments (folders.py), after a write a quick look at them, "" where neither was taken. ``mark`` is
    that of the change at ``position``, 0 where an older version recorded it.
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
    """The recorded state, None where there is none or it cannot be read."""
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
    fresh.replace(path)
    if not state.writing:
        sync_folder(path.parent)


def forget_state(path: Path) -> None:
    """Remove the recorded state, durably: from now on the shard is not to be trusted."""
    path.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames and removals in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
