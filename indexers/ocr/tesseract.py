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
from indexers.ocr.engine import ReadLine, Word, sureness

INSTALL = "install Tesseract (apt install tesseract-ocr on Debian and Ubuntu, brew install tesseract on macOS)"

_LISTED = re.compile(r'languages in "(.+?)"')
_BOX, _SIZE, _SURE = (re.compile(rf"{name} ([-\d. ]+)") for name in ("bbox", "x_size", "x_wconf"))
_LINES = frozenset({"ocr_line", "ocr_header", "ocr_caption", "ocr_textfloat"})


_UPSIDE_DOWN = 55  # mean confidence: pages on their head or on their right side have about 30, others from 75


@dataclass(frozen=True, slots=True)
class Tesseract:
    """The program with the languages it is asked for, as it writes them ("eng+deu"), and all that it has.

    ``turns``: it has the data that tells which way up a page is.
    """

    program: str
    languages: str
    known: tuple[str, ...]
    turns: bool
    folder: str = ""  # where its data is

    def read(self, image: bytes, dpi: int) -> list[ReadLine]:
        """As Engine says."""
        found = self._ask(image, dpi, "3")
        if self.turns and found and sureness(found) < _UPSIDE_DOWN:
            found = max(found, self._ask(image, dpi, "1"), key=sureness)
        return found

    def _ask(self, image: bytes, dpi: int, layout: str) -> list[ReadLine]:
        """``layout`` 1: first it finds out which way up the page is; 3: it takes it as it is."""
        done = subprocess.run(
            [
                self.program, "stdin", "stdout", "-l", self.languages, "--dpi", str(dpi), "--psm", layout,
                "-c", "tessedit_create_hocr=1",
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


def find_tesseract(
    languages: str, environment: Mapping[str, str] | None = None
) -> tuple[Tesseract, tuple[str, ...]] | str:
    """The program on the path, asked for the languages that it has data for, and those that it has none for; or how to
    get one that can be used. ``TESSDATA_PREFIX`` says where its data is.
    """
    environment = os.environ if environment is None else environment
    program = shutil.which("tesseract", path=environment.get("PATH"))
    if program is None:
        return INSTALL
    done = subprocess.run([program, "--list-langs"], capture_output=True, env=environment, check=False)
    listed = (done.stdout + done.stderr).decode(errors="replace")  # older versions answer on the error stream
    folder = found[1] if (found := _LISTED.search(listed)) else "its folder"
    known = listed.splitlines()[1:] if found else []
    if not known:
        return f"{program} has no language data in {folder}: {INSTALL} with its data"
    asked = languages.split("+")
    has = "+".join(name for name in asked if name in known)
    names = tuple(name for name in known if name != "osd")
    return Tesseract(program, has, names, "osd" in known, folder), tuple(name for name in asked if name not in known)


def lacking(name: str, tesseract: Tesseract, otherwise: str) -> DocumentError:
    """That there is no data for a language; ``otherwise`` says what else reads it."""
    package = f"tesseract-ocr-{name.replace('_', '-')}"
    return DocumentError(
        f"Tesseract has no data for the language '{name}'; it has {', '.join(tesseract.known)}.",
        f"Install it (on Debian and Ubuntu: apt install {package}; elsewhere put {name}.traineddata into "
        f"{tesseract.folder}){otherwise}, or change the setting ocr_languages.",
    )


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
