"""Pictures (PNG, JPEG, TIFF, WebP, BMP) -> pages without text, a frame each, which OCR and models read."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, ImageOps

from hybrid_core.errors import BrokenFileError, DocumentError, LimitError
from hybrid_core.types.documents import ParsedPage
from indexers.formats.info import FileInfo
from indexers.formats.limits import ParseLimits
from indexers.formats.page_look import PageLook

_KINDS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF")
_LEAST_DPI, _MOST_DPI, _USUAL_DPI = 50, 1_200, 150  # what a file says of itself is believed between the first two
_LONGEST_SIDE = 14_400.0  # points: what a PDF page may have

Image.MAX_IMAGE_PIXELS = None  # the limit is ours


class RasterFile:
    """An open picture. Raises LimitError where it has too many frames or dots, DocumentError where it is damaged."""

    def __init__(self, path: Path, limits: ParseLimits = ParseLimits()) -> None:
        try:
            with warnings.catch_warnings(action="ignore"):
                self._image = Image.open(path, formats=_KINDS)
                self.pages = int(getattr(self._image, "n_frames", 1)) if self._image.format == "TIFF" else 1
        except Exception as error:  # Pillow raises many types for damaged input
            raise BrokenFileError(f"{path}: damaged, it cannot be read as a picture ({error}).") from error
        limits.check("max_pages", self.pages, f"{path}: it has {self.pages:,} frames")
        self._limits = limits
        try:
            self._seek(1)
        except LimitError as error:
            self._image.close()
            raise LimitError(f"{path}: {error.message}", error.advice) from error

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
        """A frame (1-based) as a grey image in PGM."""
        width, height = self._size(number)
        frame = self.frame(number).convert("L").resize((_dots(width, dpi), _dots(height, dpi)))
        return b"P5\n%d %d\n255\n" % frame.size + frame.tobytes()

    def looks(self, start: int, stop: int) -> list[PageLook]:
        """Each frame is one picture."""
        found = []
        for number in range(start, min(stop, self.pages + 1)):
            width, height = self._size(number)
            box = (0, 0, round(width), round(height))
            found.append(PageLook(number, width, height, ((f"frame {number}", box),), ()))
        return found

    def frame(self, number: int) -> Image.Image:
        """A frame as it is meant to be seen, without transparency. Raises DocumentError where it is damaged."""
        self._seek(number)
        try:
            frame = ImageOps.exif_transpose(self._image)
            if frame.mode in ("RGBA", "LA", "PA") or "transparency" in frame.info:
                ground = Image.new("RGBA", frame.size, "white")
                frame = Image.alpha_composite(ground, frame.convert("RGBA"))
            return frame.convert("RGB")
        except (OSError, ValueError, SyntaxError, EOFError) as error:
            raise DocumentError(f"frame {number} is damaged ({error}).") from error

    def close(self) -> None:
        self._image.close()

    def _seek(self, number: int) -> None:
        try:
            self._image.seek(number - 1)
        except (OSError, ValueError, SyntaxError, EOFError) as error:
            raise DocumentError(f"frame {number} is damaged ({error}).") from error
        dots = self._image.width * self._image.height
        size = f"{self._image.width:,} × {self._image.height:,}"
        self._limits.check("max_pixels", dots, f"a frame of {size} has {dots:,} dots")

    def _size(self, number: int) -> tuple[float, float]:
        """A frame's width and height in points."""
        self._seek(number)
        width, height = self._image.size
        if self._image.getexif().get(0x0112, 1) in (5, 6, 7, 8):  # stored lying on its side
            width, height = height, width
        said = self._image.info.get("dpi", (0, 0))[0]
        dpi = float(said) if _LEAST_DPI < said < _MOST_DPI else _USUAL_DPI
        scale = min(72 / dpi, _LONGEST_SIDE / max(width, height))
        return max(1.0, width * scale), max(1.0, height * scale)


@contextmanager
def as_pdf(path: Path, limits: ParseLimits) -> Iterator[Path]:
    """A picture as a PDF with a page for each frame, for what draws pages."""
    import pymupdf

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
