"""Pictures inside files that flow: which of them may show words, and their bytes for OCR."""

from __future__ import annotations

import base64
import binascii
import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote_to_bytes

from PIL import Image, ImageOps

from hybrid_core.errors import DocumentError
from indexers.formats.flow.safety import Package
from indexers.formats.limits import ParseLimits

_ENDINGS = (".png", ".jpg", ".jpeg", ".jpe", ".gif", ".bmp", ".tif", ".tiff", ".webp")
_KINDS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF")
_LEAST_BYTES = 2_000  # smaller files are bullets, lines and icons
_LEAST_WIDTH, _LEAST_HEIGHT = 120, 40  # dots
_FINE = 1_500  # dots of the longer side; what has fewer, as pictures of screens do, is enlarged for the engines
_MOST_DOTS = 25_000_000
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


def packed_pictures(path: Path, limits: ParseLimits) -> Callable[[str], bytes]:
    """What gives a package's pictures by their names, also when the package was closed."""

    def read(name: str) -> bytes:
        package = Package(path, limits)
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


def grey_picture(data: bytes, limits: ParseLimits) -> bytes | None:
    """A picture as a grey image in PGM; None where it is too small to show words, too large, or damaged."""
    try:
        with warnings.catch_warnings(action="ignore"):
            image = Image.open(io.BytesIO(data), formats=_KINDS)
            wide, high = image.size
            if wide < _LEAST_WIDTH or high < _LEAST_HEIGHT or wide * high > limits.max_pixels:
                return None
            shown = ImageOps.exif_transpose(image)
            if shown.mode in ("RGBA", "LA", "PA") or "transparency" in shown.info:
                shown = Image.alpha_composite(Image.new("RGBA", shown.size, "white"), shown.convert("RGBA"))
            grey = shown.convert("L")
    except Exception:  # noqa: BLE001 - Pillow raises many types for damaged input, which shows no words
        return None
    times = min(3.0, max(1.0, _FINE / max(grey.size)), (_MOST_DOTS / (wide * high)) ** 0.5)
    if times != 1:
        grey = grey.resize((round(grey.width * times), round(grey.height * times)), Image.Resampling.BICUBIC)
    return b"P5\n%d %d\n255\n" % grey.size + grey.tobytes()
