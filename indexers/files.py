"""A file's bytes and size at one moment."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from hybrid_core.errors import DocumentError


def fingerprint(file: Path) -> tuple[os.stat_result, str]:
    """What the system says of a file, and the SHA-256 of its bytes. Raises DocumentError where it cannot be read."""
    try:
        with file.open("rb") as stream:
            return os.fstat(stream.fileno()), hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise DocumentError(f"{file}: cannot be read ({error.strerror}).") from error


def size(file: Path) -> int:
    """In bytes; 0 where the file cannot be read."""
    try:
        return file.stat().st_size
    except OSError:
        return 0
