"""Headings by their look: which candidates hold up once the whole document is known."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from indexers.outline.candidates import PossibleHeading
from indexers.outline.looks import Looks
from indexers.outline.numbering import STRONG, as_letter, compact
from indexers.outline.plates import find_plates
from indexers.outline.prominence import WEAK, Style
from indexers.outline.toc_pages import opens_contents
from indexers.outline.view import DocumentView

_ALL = 0.8
_NEXT = (1, 2)  # how far on the next number may be: one may have been overlooked


@dataclass(frozen=True, slots=True)
class Settled:
    """``spare`` are weaker ones, which could split a section without headings of its own. ``possible`` are all that the
    rules leave in doubt: no steps of instructions, no sentences that announce a list, no letters on plates.
    """

    headings: list[PossibleHeading]
    spare: list[PossibleHeading]
    looks: Looks
    possible: list[PossibleHeading]


def settle(found: list[PossibleHeading], doc: DocumentView) -> Settled:
    """The candidates that are headings.

    Out go labels that repeat all over (table heads), steps of instructions, sentences that announce a list, titles of
    charts, styles most of whose lines are something else or that only ever follow a larger heading (authors,
    subtitles), styles hardly used, and numbers in body type that are not part of a sequence; on plates all but what
    is numbered well. A bold sentence stays where all lines set like it open a text.
    """
    looks = Looks(found, doc)
    if doc.body is None:
        return Settled([], [], looks, [])
    texts = Counter(compact(c.title) for c in found)
    per_page = Counter(c.page for c in found)
    counts: Counter[Style] = Counter()
    follow: Counter[Style] = Counter()
    for c in found:
        if c.number is None and c.prominence > WEAK:
            counts[c.look] += 1
            follow[c.look] += c.follows
    supported = in_sequence(found)
    plates = find_plates([page.page for page in doc.pages])
    often = max(6, len(doc.pages) // 12)
    least = 1 if len(doc.pages) <= 5 else 2 if len(doc.pages) <= 20 else 3
    kept: list[PossibleHeading] = []
    spare: list[PossibleHeading] = []
    possible: list[PossibleHeading] = []
    for c, in_order in zip(found, supported, strict=True):
        ratio = c.size / doc.body.size if doc.body.size else 1.0
        announced = c.number is None and c.sentence and c.title[-1] == ":"
        if announced or (c.counted and c.look in looks.steps):
            continue
        well = opens_contents(c.title) or _numbered_well(c, in_order, ratio)
        if well or c.page not in plates:
            possible.append(c)
        if well:
            kept.append(c)
            continue
        if c.page in plates or c.look in looks.captions:
            continue
        if (c.number and c.plain) or texts[compact(c.title)] > often or (per_page[c.page] > 14 and c.prominence < 0.6):
            continue
        share = looks.share(c)
        enough = 0.08 if ratio > 1.15 else 0.3 if c.bold else 0.55
        subtitle = counts[c.look] and follow[c.look] >= 0.7 * counts[c.look]
        rare = counts[c.look] < least and ratio < 1.25
        if share < enough or subtitle:
            continue
        opener = c.bold and c.look in looks.openers and share > _ALL
        if opener or (not rare and c.prominence > WEAK):
            kept.append(c)
        elif c.bold or ratio > 1.15:
            spare.append(c)
    return Settled(kept, spare, looks, possible)


def _numbered_well(c: PossibleHeading, in_order: bool, ratio: float) -> bool:
    if c.number is None or c.prominence <= WEAK:
        return False
    return c.number.kind in STRONG or in_order or (not c.plain and ratio > 1.15)


def in_sequence(found: list[PossibleHeading]) -> list[bool]:
    """For each candidate whether the one before or after it in its numbering is there too."""
    out = [False] * len(found)
    seen: dict[tuple[str, int], int] = {}  # (scheme, depth) -> the last candidate so numbered
    for i, c in enumerate(found):
        for number in (c.number, as_letter(c.title)):
            if number is None:
                continue
            key = number.kind, len(number.value)
            at = seen.get(key, -1)
            before = (found[at].number, as_letter(found[at].title)) if at >= 0 else ()
            values = [(*number.value[:-1], number.value[-1] - step) for step in _NEXT]
            if any(n is not None and n.kind == number.kind and n.value in values for n in before):
                out[i] = out[at] = True
            if at < 0 or out[i] or number.value[-1] == 1:
                seen[key] = i
    return out
