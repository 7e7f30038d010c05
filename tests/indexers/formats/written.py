"""Inputs of formats that are written as text, each with what a reader must see in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hybrid_core.types.documents import LineRole
from tests.indexers.formats.packages import read


@dataclass(frozen=True)
class Case:
    """``shows`` stand on the pages in this order, ``hides`` nowhere on them. ``tree`` holds "## Title" for level 2.

    ``metadata`` are fields of the file as "title=Tides"; ``notes`` are parts of its warnings.
    """

    name: str
    content: str | bytes
    shows: tuple[str, ...] = ()
    hides: tuple[str, ...] = ()
    tree: tuple[str, ...] | None = None
    metadata: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def check_case(folder: Path, case: Case) -> None:
    """Read a case and compare it with what a reader must see."""
    path = folder / case.name
    path.write_bytes(case.content if isinstance(case.content, bytes) else case.content.encode())
    info, pages = read(path)
    text = "\n".join(page.text for page in pages)
    at = 0
    for part in case.shows:
        place = text.find(part, at)
        assert place >= 0, f"{case.name} lacks {part!r} after character {at} of:\n{text}"
        at = place + len(part)
    for part in case.hides:
        assert part not in text, f"{case.name} shows {part!r}:\n{text}"
    headings = tuple(f"{'#' * heading.level} {heading.title}" for heading in info.headings or ())
    assert case.tree is None or headings == case.tree, case.name
    shown = {f"{key}={value}" for key, value in info.metadata.items()}
    assert set(case.metadata) <= shown, (case.name, shown)
    for part in case.notes:
        assert any(part in warning for warning in info.warnings), (case.name, info.warnings)
    assert case.notes or not info.warnings, (case.name, info.warnings)


def roles_of(path: Path) -> dict[str, LineRole]:
    """Return the role of each line of a file."""
    return {line.text: line.role for page in read(path)[1] for line in page.lines}
