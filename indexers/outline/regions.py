"""What a layout model calls the parts of the pages, as evidence about their lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from hybrid_core.types.layouts import Region, RegionKind, RegionsByPage
from indexers.outline.prominence import Style, look
from indexers.outline.view import DocumentView, Unit

_MOST = 0.5  # of a line's area that lies in the region it belongs to


class Regions:
    """Regions of pages (from 1) told line by line. Of pages that are missing nothing is known."""

    def __init__(self, doc: DocumentView, by_page: RegionsByPage) -> None:
        self._kinds: dict[tuple[int, int], tuple[RegionKind, int]] = {}
        self._first: set[tuple[int, int]] = set()
        self._lines: Counter[Style] = Counter()
        self._headings: Counter[Style] = Counter()
        for page in doc.pages:
            told = by_page.get(page.page.number)
            if told is None:
                continue
            regions = [region for region in told if region.kind != "figure"]  # of which the model said nothing
            tops: dict[int, tuple[float, int]] = {}
            for at, unit in enumerate(page.units):
                held = _holder(unit, regions)
                self._lines[look(unit)] += 1
                if held is not None:
                    self._kinds[page.page.number, at] = regions[held].kind, held
                    self._headings[look(unit)] += regions[held].kind == "heading"
                    tops[held] = min(tops.get(held, (unit.y0, at)), (unit.y0, at))
            self._first |= {(page.page.number, at) for _, at in tops.values()}

    def kind(self, page: int, unit: int) -> RegionKind | None:
        """None where the line lies in no region, or its page was not read."""
        found = self._kinds.get((page, unit))
        return found[0] if found else None

    def region(self, page: int, unit: int) -> int | None:
        found = self._kinds.get((page, unit))
        return found[1] if found else None

    def heads(self, page: int, unit: int) -> bool:
        """Whether a line is the highest of the region it lies in."""
        return (page, unit) in self._first

    def share(self, style: Style) -> float:
        """How many lines of a look lie in headings, 0 to 1."""
        return self._headings[style] / self._lines[style] if self._lines[style] else 0.0


def _holder(unit: Unit, regions: Sequence[Region]) -> int | None:
    whole = max(unit.x1 - unit.x0, 0.1) * max(unit.y1 - unit.y0, 0.1)
    shares = [(_overlap(unit, region) / whole, at) for at, region in enumerate(regions)]
    share, at = max(shares, key=lambda found: (found[0], -found[1]), default=(0.0, 0))
    return at if share > _MOST else None


def _overlap(unit: Unit, region: Region) -> float:
    x0, y0, x1, y1 = region.box
    across, down = min(unit.x1, x1) - max(unit.x0, x0), min(unit.y1, y1) - max(unit.y0, y0)
    return across * down if across > 0 and down > 0 else 0.0
