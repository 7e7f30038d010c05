"""Which engines are here, and which of them reads a page first."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from importlib.util import find_spec

from hybrid_core.errors import DocumentError
from indexers.ocr.engine import EngineName
from indexers.ocr.tesseract import Tesseract, find_tesseract, lacking

VERSION = "ocr-3"
"""Of what reads pages from their pictures: raising it reads them again."""
INSTALL = "pip install 'hybrid-pageindex[ocr]'"

_EAST_ASIAN = frozenset(("chi_sim", "chi_tra", "jpn"))
_RAPID = _EAST_ASIAN | frozenset(
    "eng afr aze bos cat ces cym dan deu est eus fin fra frk gle glg hrv hun ind isl ita kur lat lav lit ltz mlt mri "
    "msa nld nor oci pol por que ron slk slv spa sqi swa swe tgl tur uzb_latn vie".split()
)
"""Tesseract's names of what RapidOCR's model reads (https://rapidai.github.io/RapidOCRDocs, PP-OCRv6 small)."""
_PARTS = ("rapidocr", "cv2", "onnxruntime")


@dataclass(frozen=True, slots=True)
class Ocr:
    """The engines to read with. ``languages`` are those asked for, as Tesseract writes them ("eng+deu"); ``tesseract``
    is asked for those of them that it has, None where it has none of them.
    """

    languages: str
    tesseract: Tesseract | None
    rapid: bool

    @property
    def first(self) -> EngineName:
        """Tesseract, five times as fast, but for Chinese and Japanese, which it reads with five times the errors."""
        if self.tesseract is None:
            return "RapidOCR"
        return "RapidOCR" if self.rapid and _EAST_ASIAN & set(self.languages.split("+")) else "Tesseract"

    @property
    def second(self) -> EngineName | None:
        """Who is asked where the first is in doubt."""
        return "RapidOCR" if self.rapid and self.first == "Tesseract" else None

    @property
    def reads(self) -> frozenset[str]:
        """The languages that can be read, as Tesseract calls them."""
        known = frozenset() if self.tesseract is None else frozenset(self.tesseract.known)
        return known | (_RAPID if self.rapid else frozenset())

    @property
    def tag(self) -> str:
        """Of all that decides what is read."""
        tesseract = "" if self.tesseract is None else self.tesseract.languages
        return hashlib.sha256(f"{VERSION}|{self.languages}|{tesseract}|{self.rapid}".encode()).hexdigest()[:8]

    @property
    def shown(self) -> str:
        """In words."""
        said = []
        if self.tesseract is not None:
            known = ", ".join(self.tesseract.known)
            said.append(f"Tesseract ({self.tesseract.program}), reading {self.tesseract.languages}; it has {known}")
        if self.rapid:
            what = {"Tesseract": "what Tesseract is in doubt of", "RapidOCR": "every page"}[self.first]
            said.append(f"RapidOCR, reading {what}: Chinese, Japanese and Latin script")
        return "; ".join(said)


@dataclass(frozen=True, slots=True)
class NoOcr:
    """Why pages without text are not read, and what to do about it."""

    reason: str


def some_ocr() -> bool:
    """Whether an engine seems to be here, at no cost."""
    return shutil.which("tesseract") is not None or find_spec("rapidocr") is not None


OFF = NoOcr("OCR is switched off by the setting ocr")


def find_ocr(wish: str, languages: str) -> Ocr | NoOcr:
    """The engines that are installed, unless the setting ``ocr`` is "never", or why there is none that can be used.

    Raises DocumentError where there are engines, but none for a language that is asked for.
    """
    if wish == "never":
        return OFF
    rapid = all(find_spec(part) is not None for part in _PARTS)
    found = find_tesseract(languages)
    if isinstance(found, str):
        tesseract = None
    else:
        tesseract, missing = found
        if missing and not (rapid and set(missing) <= _RAPID):
            raise lacking(missing[0], found[0], f", or {INSTALL}" if missing[0] in _RAPID else "")
        tesseract = tesseract if tesseract.languages else None
    if tesseract is None and not rapid:
        lacks = found if isinstance(found, str) else "install its languages"
        return NoOcr(f"{lacks}, or {INSTALL}, and index again to read them by OCR")
    if tesseract is None and (unknown := sorted(set(languages.split("+")) - _RAPID)):
        raise DocumentError(
            f"RapidOCR does not read the language '{unknown[0]}'.",
            "Install Tesseract with its data, or change the setting ocr_languages.",
        )
    return Ocr(languages, tesseract, rapid)
