"""The pictures that pages without a look of their own show, to be drawn with their text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from hybrid_core.errors import DocumentError
from hybrid_core.types.layouts import Illustration
from indexers.formats.flow.dots import illustration
from indexers.formats.format import IllustratedFile
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import open_file

_MOST = 30  # on a page; what comes after is not drawn


def illustrations(
    path: Path, password: str | None, pages: Sequence[tuple[int, str]], limits: ParseLimits
) -> tuple[tuple[Illustration, ...], ...]:
    """Those of pages, each given by its number (from 1) and its text as it is kept."""
    file = open_file(path, password, limits)
    try:
        if not isinstance(file, IllustratedFile):
            return ((),) * len(pages)
        return tuple(tuple(_of_page(file, number, text.split("\n"), limits)) for number, text in pages)
    finally:
        file.close()


def _of_page(file: IllustratedFile, number: int, kept: Sequence[str], limits: ParseLimits) -> Iterator[Illustration]:
    page = next(iter(file.read([number], lambda _: None)))  # type: ignore[attr-defined]
    if isinstance(page, DocumentError):
        return
    ends = _ends([line.text for line in page.lines], kept)
    for count, (line, data) in enumerate(file.images(number)):
        if count < _MOST and (made := illustration(data, ends[min(line, len(ends) - 1)], limits)) is not None:
            yield made


def _ends(lines: Sequence[str], kept: Sequence[str]) -> list[int]:
    """Where each line of a page ends, and the page begins, in its text as it is kept, which has more: what OCR read."""
    ends, at = [0], 0
    for line in lines:
        found = next((number for number in range(at, len(kept)) if kept[number] == line), None)
        at = len(kept) if found is None else found + 1
        ends.append(at)
    return ends
