"""A sample document: the annual report of an invented company, a PDF of 24 pages.

``python -m hybrid_pageindex.sample PATH`` writes it. It has a cover, a printed table of contents, roman-numbered front
matter, page labels, running heads, tables and notes, but no bookmarks, like most annual reports. Its figures add up.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

COMPANY = "Kestrel Vale Water Technologies, Inc."
FRONT_MATTER = 4  # pages labelled i to iv; the body begins with 1

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP = 612.0, 792.0, 72.0, 540.0, 84.0
_DATE = "D:20251114090000Z"
_ROMAN = ("i", "ii", "iii", "iv")


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A question about the sample report, the page that answers it, and words of the answer."""

    question: str
    page: int
    answer: str


SAMPLE_QUESTIONS = (
    SampleQuestion("What was the capital expenditure in fiscal 2025?", 13, "58.7 million"),
    SampleQuestion("How many people does Kestrel Vale employ?", 7, "3,140 people"),
    SampleQuestion("What share of net sales comes from the largest customer?", 6, "9 percent"),
    SampleQuestion("What is the lawsuit about the Thornby foundry about?", 10, "stormwater"),
    SampleQuestion("When does the term loan mature?", 22, "June 30, 2029"),
    SampleQuestion("What was the effective tax rate in fiscal 2025?", 23, "23.0 percent"),
    SampleQuestion("Which quarterly dividend did the Board declare in October 2025?", 24, "$0.11 per share"),
)

_TEXT = "sample_report.txt"  # page texts in a small markup, separated by lines "~~~"; _PageWriter.write explains it


def write_sample_report(path: Path) -> Path:
    """Write the sample report to ``path``, create its folder, and return the path.

    The bytes are always the same. Raise OSError if the file cannot be written.
    """
    import pymupdf  # imported here: it takes most of a second and only this function needs it

    document = pymupdf.open()
    for number, markup in enumerate(_read_page_texts(), start=1):
        page = document.new_page(width=_WIDTH, height=_HEIGHT)
        writer = _PageWriter(page)
        if number > 1:
            writer.frame(page_label(number))
        for kind, argument in _parse_blocks(markup):
            writer.write(kind, argument)
    document.set_page_labels([
        {"startpage": 0, "prefix": "", "style": "r", "firstpagenum": 1},
        {"startpage": FRONT_MATTER, "prefix": "", "style": "D", "firstpagenum": 1},
    ])  # fmt: skip
    title = f"{COMPANY} 2025 Annual Report"
    document.set_metadata({"title": title, "author": COMPANY, "creationDate": _DATE, "modDate": _DATE})
    data: bytes = document.tobytes(garbage=3, deflate=True, no_new_id=True)
    document.close()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def page_label(number: int) -> str:
    """Return the label printed on a page: "i" to "iv", then "1" and so on."""
    return _ROMAN[number - 1] if number <= FRONT_MATTER else str(number - FRONT_MATTER)


def _read_page_texts() -> list[str]:
    return (resources.files("hybrid_pageindex") / _TEXT).read_text(encoding="utf-8").split("\n~~~\n")


def _parse_blocks(markup: str) -> Iterator[tuple[str, str]]:
    """Yield the blocks of a page as (sign, text). The sign is the markup that begins a line, such as "##".

    The lines of a paragraph are joined; its sign is "".
    """
    paragraph: list[str] = []
    for line in [*markup.strip().split("\n"), ""]:
        sign, _, text = line.partition(" ")
        if (line and not sign.strip("#-|^=>")) or sign.startswith("!"):
            yield sign, text
        elif line:
            paragraph.append(line)
        elif paragraph:
            yield "", " ".join(paragraph)
            paragraph = []
        else:
            yield "gap", ""


class _PageWriter:
    """Writer of the blocks of one PDF page, from top to bottom."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._y = _TOP

    def frame(self, label: str) -> None:
        """Draw the running head and the printed page label."""
        self._text(_LEFT, 46, COMPANY, 8.5, "tiit")
        self._right(_RIGHT, 46, "2025 Annual Report", 8.5, "tiit")
        self._right(_WIDTH / 2 + self._length(label, 9, "tiro") / 2, 760, label, 9, "tiro")

    def write(self, sign: str, text: str) -> None:
        """Write a block according to its sign.

        "#", "##" and "###" are headings by level. "-" is a list item. "|" is a table row with its cells, "|^" the
        header row and "|=" a total. ">" is a line of the printed contents; its length is the depth. "!12" is a centred
        cover line in size 12. "gap" is space. Any other text is a paragraph.
        """
        if sign.startswith("#"):
            self._heading(text, len(sign))
        elif sign.startswith("|"):
            self._row(sign, [cell.strip() for cell in text.split("|")])
        elif sign.startswith(">"):
            self._contents_line(text, len(sign) - 1)
        elif sign.startswith("!"):
            self._cover_line(text, float(sign[1:]))
        elif sign == "-":
            self._paragraph(text, indent=14)
        elif sign == "gap":
            self._y += 6
        else:
            self._paragraph(text)

    def _heading(self, text: str, level: int) -> None:
        size, before = {1: (20.0, 14.0), 2: (15.0, 10.0), 3: (12.0, 6.0)}[level]
        self._y += size + before
        self._text(_LEFT, self._y, text, size, "hebo")
        self._y += 2

    def _paragraph(self, text: str, indent: float = 0) -> None:
        size, leading = 11.5, 15.5
        lines = textwrap.wrap(text, 94 if not indent else 91)
        self._y += leading
        if indent:
            self._text(_LEFT, self._y, "-", size, "tiro")
        self._page.insert_text(
            (_LEFT + indent, self._y), lines, fontsize=size, fontname="tiro", lineheight=leading / size
        )
        self._y += leading * (len(lines) - 1) + 6

    def _row(self, sign: str, cells: list[str]) -> None:
        """Draw a table row with its label at the left margin and right-aligned figures in even columns."""
        head, total = sign == "|^", sign == "|="
        font = "hebo" if head or total else "helv"
        columns = len(cells) - 1
        step = 88.0 if columns < 4 else 268.0 / columns
        self._y += 17
        if total:
            self._page.draw_line((_RIGHT - step * columns + 12, self._y - 11), (_RIGHT, self._y - 11), width=0.4)
        self._text(_LEFT, self._y, cells[0], 9.5, font)
        for i, cell in enumerate(cells[1:], start=1):
            self._right(_RIGHT - step * (columns - i), self._y, cell, 9.5, font)
        if head:
            self._page.draw_line((_LEFT, self._y + 4), (_RIGHT, self._y + 4), width=0.8)
            self._y += 3

    def _contents_line(self, text: str, depth: int) -> None:
        title, label = (part.strip() for part in text.split("|"))
        x = _LEFT + 18 * depth
        self._y += 19
        space = _RIGHT - x - self._length(title + "  ", 10.5, "tiro") - self._length("  iii", 10.5, "tiro")
        dots = "." * int(space / self._length(".", 10.5, "tiro"))
        self._text(x, self._y, f"{title} {dots}", 10.5, "tiro")
        self._right(_RIGHT, self._y, label, 10.5, "tiro")

    def _cover_line(self, text: str, size: float) -> None:
        self._y += size + 26
        font = "hebo" if size > 15 else "helv"
        self._right(_WIDTH / 2 + self._length(text, size, font) / 2, self._y + 80, text, size, font)

    def _text(self, x: float, y: float, text: str, size: float, font: str) -> None:
        self._page.insert_text((x, y), text, fontsize=size, fontname=font)

    def _right(self, x: float, y: float, text: str, size: float, font: str) -> None:
        self._text(x - self._length(text, size, font), y, text, size, font)

    @staticmethod
    def _length(text: str, size: float, font: str) -> float:
        import pymupdf

        return float(pymupdf.get_text_length(text, fontname=font, fontsize=size))


def main(arguments: list[str]) -> int:
    """Write the report to the given path. Return the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m hybrid_pageindex.sample PATH\n")
        return 2
    try:
        path = write_sample_report(Path(arguments[0]))
    except OSError as error:
        sys.stderr.write(f"{arguments[0]}: cannot be written ({error.strerror}).\n")
        return 1
    sys.stdout.write(f"{path}: {len(_read_page_texts())} pages\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
