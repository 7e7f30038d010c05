"""Tesseract, the program that reads pictures of text: whether it is there, and how it is asked."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hybrid_core.errors import DocumentError
from hybrid_core.system.parent import end_with_parent

INSTALL = "install Tesseract (apt install tesseract-ocr on Debian and Ubuntu, brew install tesseract on macOS)"

_LISTED = re.compile(r'languages in "(.+?)"')
_BOX, _SIZE, _SURE = (re.compile(rf"{name} ([-\d. ]+)") for name in ("bbox", "x_size", "x_wconf"))
_LINES = frozenset({"ocr_line", "ocr_header", "ocr_caption", "ocr_textfloat"})


@dataclass(frozen=True, slots=True)
class Tesseract:
    """The program with the languages it is asked for, as it writes them ("eng+deu"), and all that it has.

    ``turns``: it has the data that tells which way up a page is.
    """

    program: str
    languages: str
    known: tuple[str, ...]
    turns: bool


@dataclass(frozen=True, slots=True)
class NoOcr:
    """Why pages without text are not read, and what to do about it."""

    reason: str


OFF = NoOcr("OCR is switched off by the setting ocr")


@dataclass(frozen=True, slots=True)
class Word:
    """A word and its box in pixels from the top left. ``sure`` is Tesseract's confidence, 0 to 100."""

    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    sure: float


@dataclass(frozen=True, slots=True)
class ReadLine:
    """Words of one line in reading order. ``size`` is from ascenders to descenders, in pixels."""

    words: tuple[Word, ...]
    size: float


def find_tesseract(languages: str, environment: Mapping[str, str] | None = None) -> Tesseract | NoOcr:
    """The program on the path, or why there is none that can be used. ``TESSDATA_PREFIX`` says where its data is.

    Raises DocumentError where it has data, but not for a language that is asked for.
    """
    environment = os.environ if environment is None else environment
    program = shutil.which("tesseract", path=environment.get("PATH"))
    if program is None:
        return NoOcr(f"{INSTALL} and index again to read them by OCR")
    done = subprocess.run([program, "--list-langs"], capture_output=True, env=environment, check=False)
    listed = (done.stdout + done.stderr).decode(errors="replace")  # older versions answer on the error stream
    folder = found[1] if (found := _LISTED.search(listed)) else "its folder"
    known = listed.splitlines()[1:] if found else []
    if not known:
        return NoOcr(f"{program} has no language data in {folder}: {INSTALL} with its data, and index again")
    if missing := [name for name in languages.split("+") if name not in known]:
        package = f"tesseract-ocr-{missing[0].replace('_', '-')}"
        raise DocumentError(
            f"Tesseract has no data for the language '{missing[0]}'; it has {', '.join(known)}.",
            f"Install it (on Debian and Ubuntu: apt install {package}; elsewhere put {missing[0]}.traineddata into "
            f"{folder}), or change the setting ocr_languages.",
        )
    return Tesseract(program, languages, tuple(name for name in known if name != "osd"), "osd" in known)


def find_ocr(wish: str, languages: str) -> Tesseract | NoOcr:
    """``find_tesseract``, unless the setting ``ocr`` is "never"."""
    return OFF if wish == "never" else find_tesseract(languages)


def read_image(tesseract: Tesseract, image: bytes, dpi: int, *, turned: bool = False) -> list[ReadLine]:
    """The lines of text on an image (PGM or PNG). ``turned``: first find out which way up it is.

    Raises DocumentError where the program fails or is ended by a signal.
    """
    done = subprocess.run(
        [
            tesseract.program, "stdin", "stdout", "-l", tesseract.languages, "--dpi", str(dpi),
            "--psm", "1" if turned else "3", "-c", "tessedit_create_hocr=1",
        ],
        input=image,
        capture_output=True,
        env=os.environ | {"OMP_THREAD_LIMIT": "1"},  # there is a worker per core already
        preexec_fn=end_with_parent,
        check=False,
    )  # fmt: skip
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise DocumentError(f"Tesseract failed ({said[-1] if said else f'exit status {done.returncode}'})")
    try:
        return list(_lines(ElementTree.fromstring(done.stdout)))
    except ElementTree.ParseError as error:
        raise DocumentError(f"what Tesseract answered is no hOCR ({error})") from error


def _lines(hocr: ElementTree.Element) -> Iterator[ReadLine]:
    """http://kba.github.io/hocr-spec/1.2: places, sizes and confidences are in the title attributes."""
    for element in hocr.iter():
        if element.get("class") in _LINES:
            words = tuple(_words(element))
            if words:
                size = _SIZE.search(element.get("title", ""))
                yield ReadLine(words, float(size[1]) if size else max(word.y1 - word.y0 for word in words))


def _words(line: ElementTree.Element) -> Iterator[Word]:
    for element in line:
        title, text = element.get("title", ""), "".join(element.itertext()).strip()
        box, sure = _BOX.search(title), _SURE.search(title)
        if text and box and sure:
            x0, y0, x1, y1 = map(float, box[1].split())
            yield Word(text, x0, y0, x1, y1, float(sure[1]))
