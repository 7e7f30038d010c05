"""Pictures inside files that flow as dots: grey ones for OCR, and those that are drawn on pages."""

from __future__ import annotations

import io
import warnings

from PIL import Image, ImageOps

from hybrid_core.types.layouts import Illustration
from indexers.formats.limits import ParseLimits

_KINDS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF")
_LEAST_WIDTH, _LEAST_HEIGHT = 120, 40  # dots of a picture with words
_FINE = 1_500  # dots of the longer side; what has fewer, as pictures of screens do, is enlarged for the engines
_MOST_DOTS = 25_000_000
_SIDE = 1_400  # dots of a picture that is drawn on a page


def grey_picture(data: bytes, limits: ParseLimits) -> bytes | None:
    """A picture as a grey image in PGM; None where it is too small to show words, too large, or damaged."""
    shown = _opened(data, "L", limits)
    if shown is None or shown.width < _LEAST_WIDTH or shown.height < _LEAST_HEIGHT:
        return None
    times = min(3.0, max(1.0, _FINE / max(shown.size)), (_MOST_DOTS / (shown.width * shown.height)) ** 0.5)
    if times != 1:
        size = round(shown.width * times), round(shown.height * times)
        shown = shown.resize(size, Image.Resampling.BICUBIC)
    return b"P5\n%d %d\n255\n" % shown.size + shown.tobytes()


def illustration(data: bytes, line: int, limits: ParseLimits) -> Illustration | None:
    """A picture to be drawn on a page; None where it is too large or damaged."""
    shown = _opened(data, "RGB", limits)
    if shown is None:
        return None
    shown.thumbnail((_SIDE, _SIDE))
    written = io.BytesIO()
    shown.save(written, "JPEG", quality=90)
    return Illustration(line, written.getvalue(), shown.width, shown.height)


def _opened(data: bytes, mode: str, limits: ParseLimits) -> Image.Image | None:
    try:
        with warnings.catch_warnings(action="ignore"):
            image = Image.open(io.BytesIO(data), formats=_KINDS)
            if image.width * image.height > limits.max_pixels:
                return None
            shown = ImageOps.exif_transpose(image)
            if shown.mode in ("RGBA", "LA", "PA") or "transparency" in shown.info:
                shown = Image.alpha_composite(Image.new("RGBA", shown.size, "white"), shown.convert("RGBA"))
            return shown.convert(mode)
    except Exception:  # noqa: BLE001 - Pillow raises many types for damaged input, which shows no words
        return None
