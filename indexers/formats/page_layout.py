"""Where things stand on a page of any format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hybrid_core.types.layouts import Illustration, PageLayout, PlacedLine
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import format_of


def page_layout(
    path: Path | None,
    password: str | None,
    number: int,
    lines: Sequence[PlacedLine],
    limits: ParseLimits,
    pictures: Sequence[Illustration] = (),
) -> PageLayout:
    """Of the original file; of the drawing of its text and pictures where there is none to look at."""
    format = None if path is None else format_of(path)
    if path is not None and format is not None and format.layout is not None:
        return format.layout(path, password, number, lines, limits)
    from indexers.formats.text_drawing import drawn

    return drawn("\n".join(text for text, _ in lines), pictures)[1]
