"""OCR engines: their protocol, Tesseract, and the choice of a first and second engine."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import fmean
from typing import Literal, Protocol

from hybrid_core.errors import DocumentError
from hybrid_core.system import POSIX, end_with_parent, install_command
from hybrid_core.types.notes import Note

EngineName = Literal["Tesseract", "RapidOCR"]


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its box in pixels from the top left. ``sure`` is the engine's confidence, 0 to 100."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    sure: float


@dataclass(frozen=True, slots=True)
class ReadLine:
    """Words of one line in reading order. ``size`` is the height from ascenders to descenders, in pixels."""

    words: tuple[Word, ...]
    size: float


class Engine(Protocol):
    def read(self, image: bytes, dpi: int) -> list[ReadLine]:
        """Return the lines of text in a grey image (PGM) in any rotation.

        Raise DocumentError if the engine fails.
        """


def sureness(lines: Sequence[ReadLine]) -> float:
    """Return the mean confidence in the words, 0 to 100; 0 if there are none."""
    return fmean(word.sure for line in lines for word in line.words) if lines else 0.0


_INSTALL_TESSERACT = (
    "install Tesseract (apt install tesseract-ocr on Debian and Ubuntu, brew install tesseract on macOS)"
)

_LANGUAGE_FOLDER = re.compile(r'languages in "(.+?)"')
_BOX, _SIZE, _SURE = (re.compile(rf"{name} ([-\d. ]+)") for name in ("bbox", "x_size", "x_wconf"))
_LINES = frozenset({"ocr_line", "ocr_header", "ocr_caption", "ocr_textfloat"})


_UPSIDE_DOWN = 55  # mean confidence: pages on their head or on their right side have about 30, others from 75


@dataclass(frozen=True, slots=True)
class Tesseract:
    """The OCR engine Tesseract, with the requested languages in its own form ("eng+deu") and all installed ones.

    ``turns`` is True if its data for detecting the orientation of a page is installed.
    """

    program: str
    languages: str
    languages_installed: tuple[str, ...]
    turns: bool
    folder: str = ""  # where its data is

    def read(self, image: bytes, dpi: int) -> list[ReadLine]:
        """Return the lines of text in a picture, as described in Engine."""
        lines = self._ask(image, dpi, "3")
        if self.turns and lines and sureness(lines) < _UPSIDE_DOWN:
            lines = max(lines, self._ask(image, dpi, "1"), key=sureness)
        return lines

    def _ask(self, image: bytes, dpi: int, layout: str) -> list[ReadLine]:
        """Run the program on an image and return its lines.

        ``layout`` "1" detects the orientation of the page, "3" does not.
        """
        done = subprocess.run(
            [
                self.program, "stdin", "stdout", "-l", self.languages, "--dpi", str(dpi), "--psm", layout,
                "-c", "tessedit_create_hocr=1",
            ],
            input=image,
            capture_output=True,
            env=os.environ | {"OMP_THREAD_LIMIT": "1"},  # there is a worker per core already
            preexec_fn=end_with_parent if POSIX else None,
            check=False,
        )  # fmt: skip
        if done.returncode:
            messages = done.stderr.decode(errors="replace").strip().splitlines()
            raise DocumentError(f"Tesseract failed ({messages[-1] if messages else f'exit status {done.returncode}'})")
        try:
            return list(_hocr_lines(ElementTree.fromstring(done.stdout)))
        except ElementTree.ParseError as error:
            raise DocumentError(f"the output of Tesseract is not valid hOCR ({error})") from error


def find_tesseract(
    languages: str, environment: Mapping[str, str] | None = None
) -> tuple[Tesseract, tuple[str, ...]] | str:
    """Find the Tesseract program on the search path, and its installed languages.

    Return (engine, requested languages that are missing), or advice on installing it. ``TESSDATA_PREFIX`` in
    ``environment`` is the folder of its data.
    """
    environment = os.environ if environment is None else environment
    program = shutil.which("tesseract", path=environment.get("PATH"))
    if program is None:
        return _INSTALL_TESSERACT
    done = subprocess.run([program, "--list-langs"], capture_output=True, env=environment, check=False)
    listed = (done.stdout + done.stderr).decode(errors="replace")  # older versions answer on the error stream
    folder = listing[1] if (listing := _LANGUAGE_FOLDER.search(listed)) else "its folder"
    installed = listed.splitlines()[1:] if listing else []
    if not installed:
        return f"{program} has no language data in {folder}: {_INSTALL_TESSERACT} with its data"
    requested = languages.split("+")
    has = "+".join(name for name in requested if name in installed)
    names = tuple(name for name in installed if name != "osd")
    return Tesseract(program, has, names, "osd" in installed, folder), tuple(
        name for name in requested if name not in installed
    )


def lacking(name: str, tesseract: Tesseract, otherwise: str) -> DocumentError:
    """Return the error for a requested language whose data is not installed.

    ``otherwise`` is additional advice, on another engine that can read the language.
    """
    package = f"tesseract-ocr-{name.replace('_', '-')}"
    return DocumentError(
        f"Tesseract has no data for the language '{name}', but only for these languages: "
        f"{', '.join(tesseract.languages_installed)}.",
        f"Install the data (on Debian and Ubuntu: apt install {package}; elsewhere put {name}.traineddata into "
        f"{tesseract.folder}){otherwise}, or change the setting ocr_languages.",
    )


def _hocr_lines(hocr: ElementTree.Element) -> Iterator[ReadLine]:
    """Yield the lines of an hOCR document, the output format of Tesseract.

    Positions, sizes and confidences are in the title attributes: http://kba.github.io/hocr-spec/1.2.
    """
    for element in hocr.iter():
        if element.get("class") in _LINES:
            words = tuple(_hocr_words(element))
            if words:
                size = _SIZE.search(element.get("title", ""))
                yield ReadLine(words, float(size[1]) if size else max(word.y1 - word.y0 for word in words))


def _hocr_words(line: ElementTree.Element) -> Iterator[Word]:
    for element in line:
        title, text = element.get("title", ""), "".join(element.itertext()).strip()
        box, sure = _BOX.search(title), _SURE.search(title)
        if text and box and sure:
            x0, y0, x1, y1 = map(float, box[1].split())
            yield Word(text, x0, y0, x1, y1, float(sure[1]))


VERSION = "ocr-3"
"""The version of the code that runs OCR. With a higher version, pages are read again."""

_EAST_ASIAN = frozenset(("chi_sim", "chi_tra", "jpn"))
_RAPID = _EAST_ASIAN | frozenset(
    "eng afr aze bos cat ces cym dan deu est eus fin fra frk gle glg hrv hun ind isl ita kur lat lav lit ltz mlt mri "
    "msa nld nor oci pol por que ron slk slv spa sqi swa swe tgl tur uzb_latn vie".split()
)
"""The languages that RapidOCR's model reads, by Tesseract's names (https://rapidai.github.io/RapidOCRDocs, PP-OCRv6
small).
"""
_PARTS = ("rapidocr", "cv2", "onnxruntime")


@dataclass(frozen=True, slots=True)
class Ocr:
    """The available OCR engines. ``languages`` are those requested, in Tesseract's form ("eng+deu").

    ``tesseract`` has the installed ones of these languages; it is None if none is installed.
    """

    languages: str
    tesseract: Tesseract | None
    rapid: bool

    @property
    def first(self) -> EngineName:
        """Return the engine to use first: Tesseract, except for Chinese and Japanese.

        Tesseract is five times faster than RapidOCR, but makes five times more errors in these languages.
        """
        if self.tesseract is None:
            return "RapidOCR"
        return "RapidOCR" if self.rapid and _EAST_ASIAN & set(self.languages.split("+")) else "Tesseract"

    @property
    def second(self) -> EngineName | None:
        """Return the engine to use if the first one is uncertain, None if there is none."""
        return "RapidOCR" if self.rapid and self.first == "Tesseract" else None

    @property
    def reads(self) -> frozenset[str]:
        """Return the languages that can be read, by Tesseract's codes."""
        installed = frozenset() if self.tesseract is None else frozenset(self.tesseract.languages_installed)
        return installed | (_RAPID if self.rapid else frozenset())

    @property
    def tag(self) -> str:
        """Return a text that identifies everything that affects the recognised text, such as engines and languages."""
        tesseract = "" if self.tesseract is None else self.tesseract.languages
        return hashlib.sha256(f"{VERSION}|{self.languages}|{tesseract}|{self.rapid}".encode()).hexdigest()[:8]

    @property
    def shown(self) -> str:
        """Return a text for the user that describes the engines."""
        parts = []
        if self.tesseract is not None:
            installed = ", ".join(self.tesseract.languages_installed)
            parts.append(
                f"Tesseract ({self.tesseract.program}), reading {self.tesseract.languages}; it has {installed}"
            )
        if self.rapid:
            what = {"Tesseract": "what Tesseract is in doubt of", "RapidOCR": "every page"}[self.first]
            parts.append(f"RapidOCR, reading {what}: Chinese, Japanese and Latin script")
        return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class NoOcr:
    """The reason why no OCR engine can be used, with advice."""

    reason: Note


def some_ocr() -> bool:
    """Return whether an engine seems to be installed, by a fast check."""
    return shutil.which("tesseract") is not None or find_spec("rapidocr") is not None


OFF = NoOcr(Note("ocr.off"))


def find_ocr(wish: str, languages: str) -> Ocr | NoOcr:
    """Return the installed engines, or the reason why none can be used.

    ``wish`` is the setting ``ocr``; "never" is such a reason. Raise DocumentError if there are engines, but none for a
    requested language.
    """
    if wish == "never":
        return OFF
    rapid = all(find_spec(part) is not None for part in _PARTS)
    engine = find_tesseract(languages)
    if isinstance(engine, str):
        tesseract = None
    else:
        tesseract, missing = engine
        if missing and not (rapid and set(missing) <= _RAPID):
            raise lacking(missing[0], engine[0], f", or {install_command('ocr')}" if missing[0] in _RAPID else "")
        tesseract = tesseract if tesseract.languages else None
    if tesseract is None and not rapid:
        lacks = engine if isinstance(engine, str) else "install its languages"
        return NoOcr(Note("ocr.lacking", lacking=lacks, install=install_command("ocr")))
    if tesseract is None and (unknown := sorted(set(languages.split("+")) - _RAPID)):
        raise DocumentError(
            f"RapidOCR does not read the language '{unknown[0]}'.",
            "Install Tesseract with the data of this language, or change the setting ocr_languages.",
        )
    return Ocr(languages, tesseract, rapid)
