"""Pictures inside files that flow: which of them may show words, and their bytes."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote_to_bytes

from hybrid_core.errors import DocumentError
from indexers.formats.limits import ParseLimits

if TYPE_CHECKING:
    from indexers.formats.flow.safety import Package

_ENDINGS = (".png", ".jpg", ".jpeg", ".jpe", ".gif", ".bmp", ".tif", ".tiff", ".webp")
_LEAST_BYTES = 2_000  # smaller files are bullets, lines and icons
_DATA = re.compile(r"data:image/(?:png|jpe?g|gif|bmp|tiff|webp)[^,]{0,100},", re.I)
_KIND = re.compile(r"image/(?:png|x-png|jpe?g|pjpeg|gif|bmp|x-ms-bmp|tiff|webp)", re.I)


def picture_in(package: Package, name: str) -> str:
    """The name of a package's entry, "" where it is no picture that may show words."""
    return name if may_show_words(name, package.size(name)) else ""


def may_show_words(name: str, size: int) -> bool:
    return name.lower().endswith(_ENDINGS) and size >= _LEAST_BYTES


def picture_of_kind(kind: str, size: int) -> bool:
    """Whether a picture of a media type («image/png») and so many bytes may show words."""
    return _KIND.fullmatch(kind) is not None and size >= _LEAST_BYTES


def picture_in_link(link: str) -> str:
    """A link that holds a picture itself (``data:``), "" for any other."""
    return link if len(link) >= _LEAST_BYTES and _DATA.match(link) else ""


def packed_pictures(path: Path, limits: ParseLimits, data: bytes | None = None) -> Callable[[str], bytes]:
    """What gives a package's pictures by their names, also when the package was closed. ``data`` as Package has it."""
    from indexers.formats.flow.safety import Package

    def read(name: str) -> bytes:
        package = Package(path, limits, data)
        try:
            return package.read(name)
        finally:
            package.close()

    return read


def linked_picture(link: str) -> bytes:
    """The picture that a ``data:`` link holds. Raises DocumentError where it is damaged."""
    head, _, data = link.partition(",")
    return picture_in_base64(data) if head.lower().endswith(";base64") else unquote_to_bytes(data)


def picture_in_base64(written: str) -> bytes:
    """Raises DocumentError where it is damaged."""
    try:
        return base64.b64decode(written)
    except (ValueError, binascii.Error) as error:
        raise DocumentError(f"a picture in it is damaged ({error})") from error
