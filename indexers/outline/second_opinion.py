"""The rules' evidence of a heading weighed with what a layout model calls its lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby

from indexers.outline.candidates import PossibleHeading, possible_heading
from indexers.outline.layout import Settled
from indexers.outline.numbering import STRONG, compact
from indexers.outline.prominence import look
from indexers.outline.regions import Regions
from indexers.outline.toc_pages import opens_contents
from indexers.outline.view import DocumentView

_MOSTLY = 0.6  # of the lines of a look that the model calls headings: such lines may be headings that rules left out
_NEARLY = 0.9  # so many: a line of it that the model calls text is a heading all the same
_HARDLY = 0.15  # fewer: a numbered line in a table is none
_NEVER = {"picture", "caption", "footnote", "formula", "footer"}
_RUN_IN = 8  # characters that follow a numbered heading in its line, at least, where the text goes on in it


def propose(
    found: list[PossibleHeading], doc: DocumentView, regions: Regions, skip: frozenset[int]
) -> list[PossibleHeading]:
    """The candidates, cut where the model sees two headings, and its headings that are none of them."""
    out = [part for c in found for part in _parts(c, doc, regions)]
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


def weigh(found: list[PossibleHeading], rules: Settled, doc: DocumentView, regions: Regions) -> Settled:
    """Which of the candidates both bear out.

    A heading of the rules goes where the model sees a table, a picture, a caption, the cover's title or, unless most
    lines that look like it are headings, text that no number begins. A heading of the model is added where most
    lines that look like it are headings for it too; not if it comes again and again, is a step, announces a list, or
    looks like the titles of charts.
    """
    kept = {(c.page, unit) for c in rules.headings for unit in range(c.unit, c.last + 1)}
    texts = Counter(compact(c.title) for c in found)
    often = max(6, len(doc.pages) // 12)
    headings = []
    for c in found:
        kind, share = regions.kind(c.page, c.unit), regions.share(c.look)
        if (c.page, c.unit) in kept:
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
    """Whether a number begins it and its text goes on in the same line, which the model therefore calls text."""
    text = doc[c.page].units[c.unit].text
    return c.number is not None and c.unit == c.last and len(text) > len(c.title) + _RUN_IN


def _headings(page: int, doc: DocumentView, regions: Regions) -> Iterator[tuple[int, int]]:
    """First and last unit of what the model calls headings, lines of one look each."""
    units = doc[page].units
    for (region, _), group in groupby(range(len(units)), lambda at: (regions.region(page, at), look(units[at]))):
        lines = list(group)
        if region is not None and regions.kind(page, lines[0]) == "heading":
            yield lines[0], lines[-1]


def _parts(c: PossibleHeading, doc: DocumentView, regions: Regions) -> list[PossibleHeading]:
    """A candidate whose lines lie in several regions, as several."""
    if c.number is not None and c.number.kind in STRONG:  # its title may stand below it
        return [c]
    starts = [c.unit]
    for unit in range(c.unit + 1, c.last + 1):
        before, here = regions.region(c.page, unit - 1), regions.region(c.page, unit)
        if before is not None and here is not None and before != here:
            starts.append(unit)
    if len(starts) == 1 or doc.body is None:
        return [c]
    ends = [*(start - 1 for start in starts[1:]), c.last]
    parts = [possible_heading(doc[c.page], *lines, doc.body) for lines in zip(starts, ends, strict=True)]
    if None in parts:
        return [c]
    return [replace(part, prominence=c.prominence, plain=c.plain) for part in parts if part is not None]
