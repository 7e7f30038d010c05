"""TXT -> lines as they stand; RTF -> its paragraphs. Numbered lines may be headings, as in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hybrid_core.errors import DocumentError
from indexers.formats.decode import read_text
from indexers.formats.defects import plain_reason
from indexers.formats.flow.blocks import Block, Flow, Paragraph, Part, Table
from indexers.formats.limits import ParseLimits

_RTF = b"{\\rtf"
_PAGE_END = re.compile(r"\\page(?![a-z])\s?")


def read_txt(path: Path, limits: ParseLimits) -> Flow:
    """A text file. A form feed ends a page."""
    text, warnings = read_text(path)
    return Flow(_pages(text), {}, warnings, clauses=True)


def _pages(text: str) -> Iterator[Part]:
    line = 0
    for page in text.split("\f"):
        yield Part(list(_lines(page, line)))
        line += page.count("\n")


def _lines(text: str, before: int) -> Iterator[Block]:
    """Lines that stand together are one block, so that what was broken to fit a screen stays readable."""
    held: list[str] = []
    first = 0
    for at, line in enumerate([*text.split("\n"), ""], before + 1):
        if line.strip():
            first = first if held else at
            held.append(line)
        elif held:
            yield Paragraph("\n".join(held), f"line {first}")
            held = []


def read_rtf(path: Path, limits: ParseLimits) -> Flow:
    """An RTF file; the writer's page breaks end pages. Raises DocumentError where it is none."""
    from striprtf.striprtf import rtf_to_text

    data = path.read_bytes()
    start = data[:1024].find(_RTF)
    if start < 0:
        raise DocumentError(f"{path}: not an RTF file (it does not begin with {{\\rtf).")
    try:
        source = _PAGE_END.sub(r"\\par \\'0c\\par ", data[start:].decode("latin-1"))
        text = rtf_to_text(source, errors="replace")
    except (ValueError, LookupError, IndexError, KeyError, TypeError, RecursionError) as error:
        raise DocumentError(f"{path}: damaged, it cannot be read as RTF ({plain_reason(error)}).") from error
    return Flow(_rtf_pages(text), _rtf_info(data), clauses=True)


def _rtf_pages(text: str) -> Iterator[Part]:
    before = 0
    for page in text.split("\f"):
        yield Part(list(_rtf_blocks(page, before)))
        before += page.count("\n")


def _rtf_blocks(text: str, before: int) -> Iterator[Block]:
    rows: list[tuple[str, ...]] = []
    for at, line in enumerate([*text.split("\n"), ""], before + 1):
        if line.endswith("|") and line.count("|") > 1:
            rows.append(tuple(cell.strip() for cell in line.split("|")[:-1]))
            continue
        if rows:
            yield Table(tuple(rows), place=f"paragraph {at - len(rows)}")
            rows = []
        if line.strip():
            yield Paragraph(line, f"paragraph {at}")


def _rtf_info(data: bytes) -> dict[str, str]:
    found = {}
    info = data.find(b"{\\info")
    for key in ("title", "author", "subject", "keywords"):
        if info >= 0 and (said := re.search(rb"\{\\%s ([^{}\\]{1,500})\}" % key.encode(), data[info : info + 4096])):
            found[key] = said[1].decode("latin-1").strip()
    return {key: value for key, value in found.items() if value}
