"""One heading with where it stands: what every source of evidence yields and merging works on."""

from __future__ import annotations

from dataclasses import dataclass

from hybrid_core.types.documents import HeadingSource


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading in its place. ``unit`` indexes the page's units, -1 where only the page is known."""

    title: str
    page: int
    unit: int
    level: int
    source: HeadingSource
    y: float | None = None  # a bookmark's own target where its title was not found on the page
    confirmed: bool = False  # a layout model calls it a heading too
