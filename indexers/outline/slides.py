"""Decks: each slide's title is a heading; slides that hold nothing else begin a part."""

from __future__ import annotations

import re
from dataclasses import replace
from statistics import median

from hybrid_core.types.documents import Line
from indexers.outline.heading import Heading
from indexers.outline.numbering import compact
from indexers.outline.view import DocumentView, PageView

_WORDS = 100  # of a usual slide, at most
_TOP, _MIDDLE = 0.4, (0.25, 0.6)  # of a slide's height: what may be a title begins above, what divides parts between
_ALIKE = 0.65  # of the largest line's height: boxes of read pictures are as high as their letters
_GAP = 1.0  # line heights between the lines of a title
_LETTERS = 160  # of a title, at most
_AGAIN = 3  # slides after which a title that comes again is a heading again
_BESIDE = 2  # words beside the title of a slide that begins a part, at most
_OPENING = 3  # words that the titles of a series begin with
_SERIES, _BETWEEN = 3, 2  # different titles of it, and other slides between them, at least
_CLOSING = re.compile(
    r"(?:summary|conclusions?|questions?|q ?& ?a|thank you|thanks|appendix|backup|references|agenda)\b[^\w]*$",
    re.I,
)
_WORD = re.compile(r"[^\W\d_]{3}|[\u3040-\u9fff\uac00-\ud7a3]{2}")


def is_deck(doc: DocumentView) -> bool:
    """Whether the pages are slides: wide, with few words."""
    pages = [page.page for page in doc.pages]
    wide = sum(page.width > 1.15 * page.height for page in pages)
    return len(pages) > 2 and wide > 0.8 * len(pages) and median(len(page.text.split()) for page in pages) <= _WORDS


def slide_titles(doc: DocumentView) -> list[Heading]:
    """The titles of a deck's slides, without the first slide's, each where it stands first.

    Slides below a part are those after a slide that holds nothing but its title, in the middle, or whose title begins
    as others do further on ("Goals: …"). One such slide alone parts nothing.
    """
    found: list[Heading] = []
    dividers: set[int] = set()
    for page in doc.pages[1:]:
        lines = _title(page)
        title = " ".join(" ".join(line.text for line in lines).split())
        if not _WORD.search(title) or "://" in title or len(title) > _LETTERS:
            continue
        alone = len(page.page.text.split()) <= len(title.split()) + _BESIDE
        if alone and _MIDDLE[0] < lines[0].y0 / page.page.height < _MIDDLE[1]:
            dividers.add(page.page.number)
        unit = next((at for at, unit in enumerate(page.units) if page.page.lines[unit.line] is lines[0]), -1)
        found.append(Heading(title, page.page.number, unit, 1, "layout", lines[0].y0))
    said = [compact(heading.title) for heading in found]
    found = [heading for at, heading in enumerate(found) if said[at] not in said[max(0, at - _AGAIN) : at]]
    return _levelled(found, dividers)


def _levelled(found: list[Heading], dividers: set[int]) -> list[Heading]:
    parts = {at for at, heading in enumerate(found[:-1]) if heading.page in dividers}
    if len(parts) < 2:
        parts = set()
    parts |= _series(found)
    if not parts:
        return found
    first = min(parts)
    return [
        replace(heading, level=1 if at <= first or at in parts or _CLOSING.match(heading.title) else 2)
        for at, heading in enumerate(found)
    ]


def _series(found: list[Heading]) -> set[int]:
    """Slides whose titles begin with the same words, with other slides between them."""
    openings: dict[str, list[int]] = {}
    for at, heading in enumerate(found):
        words = heading.title.split()
        if len(words) > _OPENING:
            openings.setdefault(compact(" ".join(words[:_OPENING])), []).append(at)
    series: set[int] = set()
    for places in openings.values():
        titles = {compact(found[at].title) for at in places}
        between = places[-1] - places[0] + 1 - len(places)
        if len(titles) >= _SERIES and between >= _BETWEEN:
            series.update(places)
    return series


def _title(page: PageView) -> list[Line]:
    """The lines of a slide's title: the largest of its upper part, or of all of it where that is empty.

    What stands at one place on many slides is a title too where it is as large as one.
    """
    worded = sorted((line for line in page.page.lines if _WORD.search(line.text)), key=lambda line: line.y0)
    top = [line for line in worded if line.y0 < _TOP * page.page.height] or worded
    if not top:
        return []
    largest = max(map(_height, top))
    at = next(at for at, line in enumerate(worded) if line in top and _height(line) >= _ALIKE * largest)
    title = [worded[at]]
    for line in worded[at + 1 :]:
        if not (_goes_on(title[-1], line) or title[-1].text.endswith(("…", "..."))):
            break
        title.append(line)
    return title


def _height(line: Line) -> float:
    return line.y1 - line.y0


def _goes_on(last: Line, line: Line) -> bool:
    near = line.y0 - last.y1 < _GAP * _height(last) and line.x0 < last.x1 and line.x1 > last.x0
    return near and _ALIKE < _height(line) / max(_height(last), 0.1) < 1 / _ALIKE
