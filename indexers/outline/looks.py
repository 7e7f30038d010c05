"""What the lines of one look mostly are over a whole document: headings, captions, sentences, steps."""

from __future__ import annotations

from collections import Counter, defaultdict

from indexers.outline.candidates import PossibleHeading
from indexers.outline.prominence import Style, look
from indexers.outline.view import DocumentView, PageView

_FEW = 3  # lines of a look by which nothing is told yet
_HARDLY, _NEARLY = 0.3, 0.8  # shares of lines below which text goes on
_TEXT = 0.1  # of all long lines: a look that so many have is one that text is set in
_LONG, _BEGINNING = 40, 24  # characters of a long line, and of one that may begin a paragraph


class Looks:
    """Shares of a document's lines, by their look."""

    def __init__(self, found: list[PossibleHeading], doc: DocumentView) -> None:
        lines = [(look(unit), unit.text) for page in doc.pages for unit in page.units]
        self._lines = Counter(style for style, _ in lines)
        self._capitals = Counter(style for style, text in lines if text.isupper() and "  " not in text)
        self._possible: Counter[Style] = Counter()
        self._possible_capitals: Counter[Style] = Counter()
        for c in found:
            height = c.last - c.unit + 1
            self._possible[c.look] += height
            self._possible_capitals[c.look] += height if c.capitals else 0
        leading = _leading(found, doc, lines)
        self.captions = {look for look, share in leading.items() if share < _HARDLY}
        """Looks of lines below which text hardly ever goes on: titles of charts and tables."""
        self.openers = {look for look, share in leading.items() if share > _NEARLY}
        """Looks of lines below which it nearly always does."""
        self.steps = _steps(found)
        """Looks in which lines that a single number begins are mostly sentences: steps, items of lists."""

    def share(self, c: PossibleHeading) -> float:
        """How many of the lines of a candidate's look may be headings, 0 to 1; where only capitals make it stand out,
        of those in capitals.
        """
        if c.capitals and not c.bold and self._capitals[c.look]:
            return self._possible_capitals[c.look] / self._capitals[c.look]
        return self._possible[c.look] / self._lines[c.look] if self._lines[c.look] else 1.0


def _leading(found: list[PossibleHeading], doc: DocumentView, lines: list[tuple[Style, str]]) -> dict[Style, float]:
    """By look the share of unnumbered candidates right below which text or another heading comes."""
    long = Counter(style for style, text in lines if len(text) > _LONG)
    texts = {style for style, count in long.items() if count >= _TEXT * long.total()}
    begins = {(c.page, c.unit) for c in found}
    leads: defaultdict[Style, list[bool]] = defaultdict(list)
    for c in found:
        if c.number is None:
            leads[c.look].append(_leads(c, doc[c.page], begins, texts))
    return {look: sum(told) / len(told) for look, told in leads.items() if len(told) > _FEW}


def _leads(c: PossibleHeading, page: PageView, begins: set[tuple[int, int]], texts: set[Style]) -> bool:
    """Whether text or another heading comes right below, or nothing does on its page."""
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


def _steps(found: list[PossibleHeading]) -> set[Style]:
    sentences: defaultdict[Style, list[bool]] = defaultdict(list)
    for c in found:
        if c.counted:
            sentences[c.look].append(c.sentence)
    return {look for look, told in sentences.items() if len(told) >= _FEW and 2 * sum(told) > len(told)}
