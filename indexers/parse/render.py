"""A page of the original file drawn as an image."""

from __future__ import annotations

import hashlib
from pathlib import Path

from hybrid_core.errors import DocumentError
from indexers.parse.pdf import open_pdf

_MOST_PIXELS = 40_000_000


def render_page(path: Path, sha256: str, page: int, dpi: int, password: str | None = None) -> bytes:
    """PNG bytes of a page (1-based). Very large pages are drawn at a lower resolution.

    Raises DocumentError where the file is no longer the one that was indexed or cannot be drawn.
    """
    with path.open("rb") as stream:
        if hashlib.file_digest(stream, "sha256").hexdigest() != sha256:
            raise DocumentError(f"{path}: it has changed since it was indexed.", "Index it again.")
    document = open_pdf(path, password)
    try:
        source = document[page - 1]
        pixels = source.rect.width * source.rect.height * (dpi / 72) ** 2
        fitting = dpi if pixels <= _MOST_PIXELS else int(dpi * (_MOST_PIXELS / pixels) ** 0.5)
        return bytes(source.get_pixmap(dpi=max(1, fitting), alpha=False).tobytes("png"))
    except Exception as error:
        raise DocumentError(f"{path}: page {page} cannot be drawn ({error}).") from error
    finally:
        document.close()
