"""Picture files (PNG, JPEG, TIFF, WebP, BMP) with a page per frame, and pictures inside other files."""

from __future__ import annotations

import io
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, ImageOps

from hybrid_core.errors import BrokenFileError, DocumentError, LimitError
from hybrid_core.types.documents import ParsedPage
from hybrid_core.types.locators import Illustration
from indexers.formats.format import FileInfo, OpenFile, PageLook
from indexers.formats.limits import ParseLimits, system_reason

_FINE = 1_500  # pixels of the longer side; smaller pictures, such as screenshots, are enlarged for OCR
_MOST_DOTS = 25_000_000
_SIDE = 1_400  # pixels of the longer side of a picture drawn on a page


_KINDS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF")
_LEAST_DPI, _MOST_DPI, _USUAL_DPI = 50, 1_200, 150  # the file's own resolution is used between the first two
_LEAST_WIDTH, _LEAST_HEIGHT = 120, 40  # minimum pixels of a picture with words
_LONGEST_SIDE = 14_400.0  # points: the maximum of a PDF page

Image.MAX_IMAGE_PIXELS = None  # our own limit applies


class RasterFile:
    """An open picture. Raises LimitError if it has too many frames or pixels, DocumentError if it is damaged."""

    def __init__(self, path: Path, limits: ParseLimits = ParseLimits()) -> None:
        try:
            with warnings.catch_warnings(action="ignore"):
                self._image = Image.open(path, formats=_KINDS)
                self.pages = int(getattr(self._image, "n_frames", 1)) if self._image.format == "TIFF" else 1
        except Exception as error:  # Pillow raises many types for damaged input
            raise BrokenFileError(
                f"the file is damaged: it cannot be read as a picture{system_reason(error)}.", file=path
            ) from error
        limits.check("max_pages", self.pages, f"the file has {self.pages:,} frames", file=path)
        self._limits = limits
        try:
            self._seek(1)
        except LimitError as error:
            self._image.close()
            raise LimitError(error.problem, error.advice, file=path) from error

    def info(self) -> FileInfo:
        return FileInfo(self.pages, (), {}, ())

    def read(self, numbers: Iterable[int], on_page: Callable[[int], None]) -> Iterator[ParsedPage | DocumentError]:
        for number in numbers:
            try:
                width, height = self._size(number)
                label = f"frame {number}" if self.pages > 1 else ""
                yield ParsedPage(number, label, width, height, images=1, needs_ocr=True)
            except DocumentError as error:
                yield error
            on_page(number)

    def grey(self, number: int, dpi: int) -> bytes:
        """Return a frame (1-based) as a greyscale PGM image."""
        width, height = self._size(number)
        frame = self.frame(number).convert("L").resize((_dots(width, dpi), _dots(height, dpi)))
        return b"P5\n%d %d\n255\n" % frame.size + frame.tobytes()

    def looks(self, start: int, stop: int) -> list[PageLook]:
        """Return a description (PageLook) for each of these frames: the frame is one picture."""
        looks = []
        for number in range(start, min(stop, self.pages + 1)):
            width, height = self._size(number)
            box = (0, 0, round(width), round(height))
            looks.append(PageLook(number, width, height, ((f"frame {number}", box),), ()))
        return looks

    def frame(self, number: int) -> Image.Image:
        """Return a frame as an image, rotated as its metadata says and without transparency. Raise DocumentError if it
        is damaged.
        """
        self._seek(number)
        try:
            frame = ImageOps.exif_transpose(self._image)
            if frame.mode in ("RGBA", "LA", "PA") or "transparency" in frame.info:
                ground = Image.new("RGBA", frame.size, "white")
                frame = Image.alpha_composite(ground, frame.convert("RGBA"))
            return frame.convert("RGB")
        except (OSError, ValueError, SyntaxError, EOFError) as error:
            raise DocumentError(f"frame {number} is damaged{system_reason(error)}.") from error

    def close(self) -> None:
        self._image.close()

    def _seek(self, number: int) -> None:
        try:
            self._image.seek(number - 1)
        except (OSError, ValueError, SyntaxError, EOFError) as error:
            raise DocumentError(f"frame {number} is damaged{system_reason(error)}.") from error
        dots = self._image.width * self._image.height
        size = f"{self._image.width:,} × {self._image.height:,}"
        self._limits.check("max_pixels", dots, f"a frame of {size} has {dots:,} pixels")

    def _size(self, number: int) -> tuple[float, float]:
        """Return a frame's width and height in points."""
        self._seek(number)
        width, height = self._image.size
        if self._image.getexif().get(0x0112, 1) in (5, 6, 7, 8):  # stored rotated by 90 degrees
            width, height = height, width
        declared = self._image.info.get("dpi", (0, 0))[0]
        dpi = float(declared) if _LEAST_DPI < declared < _MOST_DPI else _USUAL_DPI
        scale = min(72 / dpi, _LONGEST_SIDE / max(width, height))
        return max(1.0, width * scale), max(1.0, height * scale)


@contextmanager
def as_pdf(path: Path, limits: ParseLimits) -> Iterator[Path]:
    """Convert a picture to a temporary PDF with a page per frame, for code that draws pages."""
    import pymupdf  # slow to import (half a second), and reading pictures does not need it

    picture = RasterFile(path, limits)
    pages = pymupdf.open()
    try:
        for number, page in enumerate(picture.read(range(1, picture.pages + 1), lambda _: None), 1):
            if isinstance(page, DocumentError):
                raise page
            with tempfile.SpooledTemporaryFile() as file:
                picture.frame(number).save(file, "JPEG", quality=90)
                file.seek(0)
                drawn = pages.new_page(width=page.width, height=page.height)
                drawn.insert_image(drawn.rect, stream=file.read())
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder, f"{path.stem}.pdf")
            pages.save(target)
            yield target
    finally:
        pages.close()
        picture.close()


def _dots(points: float, dpi: int) -> int:
    return max(1, round(points / 72 * dpi))


def open_raster(path: Path, _: str | None, limits: ParseLimits) -> OpenFile:
    return RasterFile(path, limits)


def look_at_raster(path: Path, _: str | None, start: int, stop: int, limits: ParseLimits) -> list[PageLook]:
    return RasterFile(path, limits).looks(start, stop)


def grey_picture(data: bytes, limits: ParseLimits) -> bytes | None:
    """Return a picture as a greyscale PGM image.

    Return None if it is too small to show words, too large, or damaged.
    """
    shown = _opened(data, "L", limits)
    if shown is None or shown.width < _LEAST_WIDTH or shown.height < _LEAST_HEIGHT:
        return None
    times = min(3.0, max(1.0, _FINE / max(shown.size)), (_MOST_DOTS / (shown.width * shown.height)) ** 0.5)
    if times != 1:
        size = round(shown.width * times), round(shown.height * times)
        shown = shown.resize(size, Image.Resampling.BICUBIC)
    return b"P5\n%d %d\n255\n" % shown.size + shown.tobytes()


def illustration(data: bytes, line: int, limits: ParseLimits) -> Illustration | None:
    """Return a picture to draw on a page, None if it is too large or damaged."""
    shown = _opened(data, "RGB", limits)
    if shown is None:
        return None
    shown.thumbnail((_SIDE, _SIDE))
    written = io.BytesIO()
    shown.save(written, "JPEG", quality=90)
    return Illustration(line, written.getvalue(), shown.width, shown.height)


def picture_stream(data: bytes, crop: tuple[float, float, float, float], limits: ParseLimits) -> bytes | None:
    """Return a picture as JPEG, or as PNG if it is transparent. Return None if it is too large or damaged.

    ``crop`` are the shares to cut off on the left, top, right and bottom.
    """
    shown = _opened(data, "RGBA", limits)
    if shown is None:
        return None
    left, top, right, bottom = (min(0.99, max(0.0, side)) for side in crop)
    box = (left * shown.width, top * shown.height, (1 - right) * shown.width, (1 - bottom) * shown.height)
    if box[2] - box[0] >= 1 and box[3] - box[1] >= 1:
        shown = shown.crop(box)
    shown.thumbnail((_SIDE, _SIDE))
    opaque = shown.getchannel("A").getextrema()[0] == 255
    written = io.BytesIO()
    shown.convert("RGB" if opaque else "RGBA").save(written, "JPEG" if opaque else "PNG", quality=90)
    return written.getvalue()


def _opened(data: bytes, mode: str, limits: ParseLimits) -> Image.Image | None:
    try:
        with warnings.catch_warnings(action="ignore"):
            image = Image.open(io.BytesIO(data), formats=_KINDS)
            if image.width * image.height > limits.max_pixels:
                return None
            shown = ImageOps.exif_transpose(image)
            if mode != "RGBA" and (shown.mode in ("RGBA", "LA", "PA") or "transparency" in shown.info):
                shown = Image.alpha_composite(Image.new("RGBA", shown.size, "white"), shown.convert("RGBA"))
            return shown.convert(mode)
    except Exception:  # noqa: BLE001 - Pillow raises many types for damaged input, which shows no words
        return None
