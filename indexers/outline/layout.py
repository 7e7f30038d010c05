"""Detection of headings by their look.

Rules accept or reject candidates by statistics over the whole document.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from hybrid_core.types.documents import ParsedPage
from indexers.outline.candidates import REMARK, WEAK, PossibleHeading, Style, look, names_above
from indexers.outline.numbering import STRONG, as_letter, compact
from indexers.outline.toc import opens_contents
from indexers.outline.view import DocumentView, PageView

_FEW = 3  # with fewer lines of a look, its statistics are ignored
_HARDLY, _NEARLY = 0.3, 0.8  # shares of candidates directly above text: captions have less, titles more
_TEXT = 0.1  # share of all long lines from which a look is a style of body text
_LONG, _BEGINNING = 40, 24  # minimum characters of a long line, and of a line that may begin a paragraph


class Looks:
    """Statistics of the looks (font, size, weight) of a document's lines: how often lines of a look may be headings."""

    def __init__(self, possible: list[PossibleHeading], doc: DocumentView) -> None:
        names = names_above(doc)
        lines = [
            (look(unit), unit.text)
            for page in doc.pages
            for unit in page.units
            if compact(unit.text) not in names and not REMARK.fullmatch(unit.text)
        ]
        self._lines = Counter(style for style, _ in lines)
        self._capitals = Counter(style for style, text in lines if text.isupper() and "  " not in text)
        self._possible: Counter[Style] = Counter()
        self._possible_capitals: Counter[Style] = Counter()
        for c in possible:
            height = c.last - c.unit + 1
            self._possible[c.look] += height
            self._possible_capitals[c.look] += height if c.capitals else 0
        leading = _leading(possible, doc, lines)
        self.captions = {look for look, share in leading.items() if share < _HARDLY}
        """Looks of lines that are hardly ever directly above text: titles of charts and tables."""
        self.openers = {look for look, share in leading.items() if share > _NEARLY}
        """Looks of lines that are nearly always directly above text."""
        self.steps = _steps(possible)
        """Looks whose lines with a single number at the beginning are mostly sentences: steps, items of lists."""

    def share(self, c: PossibleHeading) -> float:
        """Return the share of the lines in a candidate's look that may be headings, 0 to 1.

        If the candidate stands out only by capitals, only lines in capitals are counted.
        """
        if c.capitals and not c.bold and self._capitals[c.look]:
            return self._possible_capitals[c.look] / self._capitals[c.look]
        return self._possible[c.look] / self._lines[c.look] if self._lines[c.look] else 1.0


def _leading(possible: list[PossibleHeading], doc: DocumentView, lines: list[tuple[Style, str]]) -> dict[Style, float]:
    """Return ``{look: share}``: of its unnumbered candidates, how many are directly above text or another heading."""
    long = Counter(style for style, text in lines if len(text) > _LONG)
    texts = {style for style, count in long.items() if count >= _TEXT * long.total()}
    begins = {(c.page, c.unit) for c in possible}
    leads: defaultdict[Style, list[bool]] = defaultdict(list)
    for c in possible:
        if c.number is None:
            leads[c.look].append(_leads(c, doc[c.page], begins, texts))
    return {look: sum(gaps) / len(gaps) for look, gaps in leads.items() if len(gaps) > _FEW}


def _leads(c: PossibleHeading, page: PageView, begins: set[tuple[int, int]], texts: set[Style]) -> bool:
    """Return whether a candidate is directly above text or another heading, or is the last line on the page."""
    heading = page.units[c.last]
    below = [
        (unit.y0, at)
        for at, unit in enumerate(page.units)
        if unit.y0 > heading.y0 + 1 and unit.x0 < heading.x1 and unit.x1 > heading.x0 and not c.unit <= at <= c.last
    ]
    if not below:
        return True
    at = min(below)[1]
    unit = page.units[at]
    return (c.page, at) in begins or (look(unit) in texts and len(unit.text) > _BEGINNING)


def _steps(possible: list[PossibleHeading]) -> set[Style]:
    sentences: defaultdict[Style, list[bool]] = defaultdict(list)
    for c in possible:
        if c.counted:
            sentences[c.look].append(c.sentence)
    return {look for look, flags in sentences.items() if len(flags) >= _FEW and 2 * sum(flags) > len(flags)}


def find_plates(pages: Sequence[ParsedPage]) -> frozenset[int]:
    """Return the pages with pictures (plates) in a printed document: single pages that were read only by OCR.

    Large letters on such pages are often part of pictures. Several such pages in a row are a scanned part, which has
    normal headings. If most pages were read by OCR, there are no plates.
    """
    with_text = [page for page in pages if page.lines]
    read = {page.number for page in with_text if page.ocr}
    if 2 * len(read) >= len(with_text):
        return frozenset()
    return frozenset(number for number in read if not read & {number - 1, number + 1})


_ALL = 0.8
_NEXT = (1, 2)  # differences to the next number: one may have been missed


@dataclass(frozen=True, slots=True)
class Settled:
    """The headings that the rules accept. ``spare`` are less certain ones, used to split sections without headings.

    ``possible`` are the candidates that may still be headings. Steps of instructions, sentences that announce lists,
    and letters in pictures are left out.
    """

    headings: list[PossibleHeading]
    spare: list[PossibleHeading]
    looks: Looks
    possible: list[PossibleHeading]


def settle(headings: list[PossibleHeading], doc: DocumentView) -> Settled:
    """Return the candidates that the rules accept as headings.

    Labels that repeat everywhere (column headings), steps of instructions, sentences that announce a list, and titles
    of charts are removed. A style is removed if it is rarely used, or if its lines are mostly something else. It is
    also removed if its lines always follow a larger heading (authors, subtitles). Numbers in body style outside a
    sequence are removed, too.

    On pages with pictures (plates), only well-numbered headings stay. A bold sentence stays if all lines in its style
    are directly above text.
    """
    looks = Looks(headings, doc)
    if doc.body is None:
        return Settled([], [], looks, [])
    texts = Counter(compact(c.title) for c in headings)
    per_page = Counter(c.page for c in headings)
    counts: Counter[Style] = Counter()
    follow: Counter[Style] = Counter()
    for c in headings:
        if c.number is None and c.prominence > WEAK:
            counts[c.look] += 1
            follow[c.look] += c.follows
    supported = in_sequence(headings)
    plates = find_plates([page.page for page in doc.pages])
    often = max(6, len(doc.pages) // 12)
    min_count = 1 if len(doc.pages) <= 5 else 2 if len(doc.pages) <= 20 else 3
    settled: list[PossibleHeading] = []
    spare: list[PossibleHeading] = []
    possible: list[PossibleHeading] = []
    for c, in_order in zip(headings, supported, strict=True):
        ratio = c.size / doc.body.size if doc.body.size else 1.0
        announced = c.number is None and c.sentence and c.title[-1] == ":"
        if announced or (c.counted and c.look in looks.steps):
            continue
        well = opens_contents(c.title) or _numbered_well(c, in_order, ratio) or (c.named and c.prominence > WEAK)
        if well or c.page not in plates:
            possible.append(c)
        if well:
            settled.append(c)
            continue
        if c.page in plates or c.look in looks.captions:
            continue
        if (c.number and c.plain) or texts[compact(c.title)] > often or (per_page[c.page] > 14 and c.prominence < 0.6):
            continue
        share = looks.share(c)
        enough = 0.08 if ratio > 1.15 else 0.3 if c.bold else 0.55
        subtitle = counts[c.look] and follow[c.look] >= 0.7 * counts[c.look]
        rare = counts[c.look] < min_count and ratio < 1.25
        if share < enough or subtitle:
            continue
        opener = c.bold and c.look in looks.openers and share > _ALL
        if opener or (not rare and c.prominence > WEAK):
            settled.append(c)
        elif c.bold or ratio > 1.15:
            spare.append(c)
    return Settled(settled, spare, looks, possible)


def _numbered_well(c: PossibleHeading, in_order: bool, ratio: float) -> bool:
    if c.number is None or c.prominence <= WEAK:
        return False
    return c.number.kind in STRONG or in_order or (not c.plain and ratio > 1.15)


def in_sequence(possible: list[PossibleHeading]) -> list[bool]:
    """Return for each candidate whether another candidate has the previous or next number of its numbering."""
    out = [False] * len(possible)
    seen: dict[tuple[str, int], int] = {}  # (scheme, depth) -> the last candidate with this numbering
    for i, c in enumerate(possible):
        for number in (c.number, as_letter(c.title)):
            if number is None:
                continue
            key = number.kind, len(number.value)
            at = seen.get(key, -1)
            before = (possible[at].number, as_letter(possible[at].title)) if at >= 0 else ()
            values = [(*number.value[:-1], number.value[-1] - step) for step in _NEXT]
            if any(n is not None and n.kind == number.kind and n.value in values for n in before):
                out[i] = out[at] = True
            if at < 0 or out[i] or number.value[-1] == 1:
                seen[key] = i
    return out
