"""Regions found by a layout model, used as a second opinion on headings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from hybrid_core.types.locators import Region, RegionKind, RegionsByPage
from indexers.outline.candidates import PossibleHeading, Style, look, possible_heading
from indexers.outline.layout import Settled
from indexers.outline.numbering import STRONG, compact
from indexers.outline.toc import opens_contents
from indexers.outline.view import DocumentView, Unit

_MOST = 0.5  # minimum share of a line's area in the region that it belongs to


class Regions:
    """The regions of a layout model, by page (from 1) and line. Pages that it did not read are missing."""

    def __init__(self, doc: DocumentView, by_page: RegionsByPage) -> None:
        self._kinds: dict[tuple[int, int], tuple[RegionKind, int]] = {}
        self._first: set[tuple[int, int]] = set()
        self._lines: Counter[Style] = Counter()
        self._headings: Counter[Style] = Counter()
        for page in doc.pages:
            regions_of = by_page.get(page.page.number)
            if regions_of is None:
                continue
            regions = [region for region in regions_of if region.kind != "figure"]  # lines in figures have no region
            tops: dict[int, tuple[float, int]] = {}
            for at, unit in enumerate(page.units):
                holder = _holder(unit, regions)
                self._lines[look(unit)] += 1
                if holder is not None:
                    self._kinds[page.page.number, at] = regions[holder].kind, holder
                    self._headings[look(unit)] += regions[holder].kind == "heading"
                    tops[holder] = min(tops.get(holder, (unit.y0, at)), (unit.y0, at))
            self._first |= {(page.page.number, at) for _, at in tops.values()}

    def kind(self, page: int, unit: int) -> RegionKind | None:
        """Return the kind of region around a line; None if there is none, or the page was not read."""
        entry = self._kinds.get((page, unit))
        return entry[0] if entry else None

    def region(self, page: int, unit: int) -> int | None:
        entry = self._kinds.get((page, unit))
        return entry[1] if entry else None

    def heads(self, page: int, unit: int) -> bool:
        """Return whether a line is the top line of its region."""
        return (page, unit) in self._first

    def share(self, style: Style) -> float:
        """Return the share of the lines of a style that the model sees in heading regions, 0 to 1."""
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


_MOSTLY = 0.6  # share of a look's lines in heading regions from which headings are added
_NEARLY = 0.9  # share from which a line of the look is a heading even in a text region
_HARDLY = 0.15  # share below which a numbered line in a table is not a heading
_NEVER = {"picture", "caption", "footnote", "formula", "footer"}
_RUN_IN = 8  # minimum characters after a numbered heading in its line if text continues there


def propose(
    possible: list[PossibleHeading], doc: DocumentView, regions: Regions, skip: frozenset[int]
) -> list[PossibleHeading]:
    """Return the candidates for headings, together with those that only the layout model found.

    A candidate is split where the model sees two headings.
    """
    out = [part for c in possible for part in _split_candidate(c, doc, regions)]
    taken = {(c.page, unit) for c in out for unit in range(c.unit, c.last + 1)}
    for page in doc.pages:
        number = page.page.number
        if doc.body is None or number in skip:
            continue
        for first, last in _headings(number, doc, regions):
            if not any((number, unit) in taken for unit in range(first, last + 1)):
                c = possible_heading(page, first, last, doc.body)
                out += [] if c is None else [c]
    return sorted(out, key=lambda c: (c.page, c.unit))


def weigh(possible: list[PossibleHeading], rules: Settled, doc: DocumentView, regions: Regions) -> Settled:
    """Combine the verdicts of the rules and of the layout model, and return the accepted headings.

    A heading of the rules is rejected if the model detects a table, a picture, a caption, the cover's title, unnumbered
    text, or list items. Clear numbering such as "Article 3" can outweigh this, and so can a style whose lines are
    mostly headings. A heading of the model is added if most lines of its style are headings according to the model.
    Lines that repeat often, steps, announcements of lists, and lines that look like chart titles are not added.
    """
    placed = {(c.page, unit) for c in rules.headings for unit in range(c.unit, c.last + 1)}
    texts = Counter(compact(c.title) for c in possible)
    often = max(6, len(doc.pages) // 12)
    headings = []
    for c in possible:
        kind, share = regions.kind(c.page, c.unit), regions.share(c.look)
        if (c.page, c.unit) in placed:
            if opens_contents(c.title) or _stays(c, kind, share, doc, regions):
                headings.append(c)
        elif kind == "heading" and share >= _MOSTLY and texts[compact(c.title)] <= often:
            step = c.counted and c.look in rules.looks.steps
            if not step and c.title[-1] != ":" and c.look not in rules.looks.captions:
                headings.append(c)
    spare = [c for c in rules.spare if regions.kind(c.page, c.unit) in (None, "heading", "text")]
    return Settled(headings, spare, rules.looks, headings)


def _stays(c: PossibleHeading, kind: str | None, share: float, doc: DocumentView, regions: Regions) -> bool:
    strong = c.number is not None and c.number.kind in STRONG
    if kind == "table":
        return (share >= _MOSTLY and regions.heads(c.page, c.unit)) or (strong and share > _HARDLY)
    if kind in _NEVER:
        return strong
    if kind == "list-item":
        return c.number is not None
    if kind == "text":
        return strong or share >= _NEARLY or _runs_in(c, doc)
    return kind != "title"


def _runs_in(c: PossibleHeading, doc: DocumentView) -> bool:
    """Return whether a line begins with a number and continues as normal text.

    The layout model takes such lines for text.
    """
    text = doc[c.page].units[c.unit].text
    return c.number is not None and c.unit == c.last and len(text) > len(c.title) + _RUN_IN


def _headings(page: int, doc: DocumentView, regions: Regions) -> Iterator[tuple[int, int]]:
    """Yield (first line, last line) of each heading of the layout model, as indexes of a page.

    The lines of a heading have one look.
    """
    units = doc[page].units
    for (region, _), group in groupby(range(len(units)), lambda at: (regions.region(page, at), look(units[at]))):
        lines = list(group)
        if region is not None and regions.kind(page, lines[0]) == "heading":
            yield lines[0], lines[-1]


def _split_candidate(c: PossibleHeading, doc: DocumentView, regions: Regions) -> list[PossibleHeading]:
    """Return a candidate for a heading, divided into several if its lines are in several regions."""
    if c.number is not None and c.number.kind in STRONG:  # its title may be below it
        return [c]
    starts = [c.unit]
    for unit in range(c.unit + 1, c.last + 1):
        before, current = regions.region(c.page, unit - 1), regions.region(c.page, unit)
        if before is not None and current is not None and before != current:
            starts.append(unit)
    if len(starts) == 1 or doc.body is None:
        return [c]
    ends = [*(start - 1 for start in starts[1:]), c.last]
    parts = [possible_heading(doc[c.page], *lines, doc.body) for lines in zip(starts, ends, strict=True)]
    if None in parts:
        return [c]
    return [replace(part, prominence=c.prominence, plain=c.plain) for part in parts if part is not None]
