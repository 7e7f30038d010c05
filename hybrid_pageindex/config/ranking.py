"""The ranking weights that searches use: those that come along, or a file of the user's own."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from retrievers.features.model import RankingModel, load_model, shipped_model


def find_ranking(path: str = "") -> RankingModel:
    """Return the weights in the file ``path``, "" for those that come along. A file that changes is read again.

    Raises UsageError, which names the file, where it cannot be read or is wrong.
    """
    if not path:
        return shipped_model()
    file = Path(path).expanduser()
    try:
        stamp = file.stat()
    except OSError:
        return load_model(file)  # which raises
    return _read(file, stamp.st_mtime_ns, stamp.st_size, stamp.st_ino)


@lru_cache(maxsize=8)
def _read(file: Path, *stamp: int) -> RankingModel:
    return load_model(file)
