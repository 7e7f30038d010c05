"""TXT -> lines as they stand. Numbered lines may be headings, as in Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from indexers.formats.decode import read_text
from indexers.formats.flow.blocks import Block, Flow, Paragraph, Part
from indexers.formats.limits import ParseLimits


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
