"""Streams of an OLE file, within the limits of packages."""

from __future__ import annotations

from pathlib import Path

from hybrid_core.errors import BrokenFileError
from indexers.formats.limits import ParseLimits


def streams(path: Path, limits: ParseLimits, *names: str) -> dict[str, bytes]:
    """The bytes of those streams that are there, by their names. Raises DocumentError where the file is damaged."""
    import olefile

    size = path.stat().st_size
    limits.check("max_expanded_bytes", size, f"{path}: it has {size:,} bytes")
    try:
        with olefile.OleFileIO(str(path)) as file:
            return {name: file.openstream(name).read() for name in names if file.exists(name)}
    except (OSError, ValueError, IndexError) as error:
        raise BrokenFileError(f"{path}: damaged, its streams cannot be listed.") from error
