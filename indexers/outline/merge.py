"""Build the outline of a document by the learned model, or from slide titles.

The model decides on headings from bookmarks, printed contents and layout.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from statistics import median

import numpy as np
import numpy.typing as npt

from hybrid_core.types.documents import Line, ParsedDocument
from indexers.outline.candidates import PossibleHeading, candidates
from indexers.outline.heading import Heading, clean_title, continues, from_bookmarks
from indexers.outline.heading_model import (
    FEATURES,
    BoostedTrees,
    Possible,
    choose,
    evidence,
    heading_model,
    likelihoods,
    style_numbers,
)
from indexers.outline.layout import Settled, settle
from indexers.outline.nesting import FlatHeading, levels
from indexers.outline.numbering import STRONG, bare, compact, numbering
from indexers.outline.printed_toc import PrintedToc, from_printed_toc
from indexers.outline.quality import signs_of_headings
from indexers.outline.regions import Regions, propose, weigh
from indexers.outline.toc import find_listings, opens_contents
from indexers.outline.view import DocumentView, PageView

_WORDS = 100  # maximum words of a typical slide
# shares of a slide's height: a title begins above the first, a title in the middle begins a part
_TOP, _MIDDLE = 0.4, (0.25, 0.6)
_ALIKE = 0.65  # share of the largest line's height, since heights of lines read by OCR vary with their letters
_GAP = 1.0  # maximum distance of the lines of a title, in line heights
_LETTERS = 160  # maximum letters of a title
_AGAIN = 3  # slides after which a repeated title is a heading again
_BESIDE = 2  # maximum words beside the title of a slide that begins a part
_OPENING = 3  # first words that the titles of a series share
_SERIES, _BETWEEN = 3, 2  # minimum of different titles in a series, and of other slides between them
_CLOSING = re.compile(
    r"(?:summary|conclusions?|questions?|q ?& ?a|thank you|thanks|appendix|backup|references|agenda)\b[^\w]*$",
    re.I,
)
_NUMBERED_PART = re.compile(r"\s*[(\[]\s*\d{1,2}\s*(?:/|of|von|de|sur|di|из)\s*\d{1,2}\s*[)\]]\s*$")
"""The numbering of slides that continue a title: "Results (2/3)"."""
_WORD = re.compile(r"[^\W\d_]{3}|[\u3040-\u9fff\uac00-\ud7a3]{2}")


def is_deck(doc: DocumentView) -> bool:
    """Return whether the pages are slides: wide, with few words."""
    pages = [page.page for page in doc.pages]
    wide = sum(page.width > 1.15 * page.height for page in pages)
    return len(pages) > 2 and wide > 0.8 * len(pages) and median(len(page.text.split()) for page in pages) <= _WORDS


def slide_titles(doc: DocumentView) -> list[Heading]:
    """Return the titles of a presentation's slides except the first slide. A repeated title is returned once.

    Slides are grouped below a slide that has only a title, or whose title prefix repeats ("Goals: …"). A single such
    slide forms no group.
    """
    headings: list[Heading] = []
    dividers: set[int] = set()
    parts: set[str] = set()
    for page in doc.pages[1:]:
        lines = _slide_title(page)
        written = " ".join(" ".join(line.text for line in lines).split())
        title = clean_title(continues(written) or written)
        if not _WORD.search(title) or "://" in title or len(title) > _LETTERS:
            continue
        if part := _NUMBERED_PART.search(title):
            series = compact(title[: part.start()])
            if series in parts:
                continue
            parts.add(series)
        alone = len(page.page.text.split()) <= len(title.split()) + _BESIDE
        if alone and _MIDDLE[0] < lines[0].y0 / page.page.height < _MIDDLE[1]:
            dividers.add(page.page.number)
        unit = next((at for at, unit in enumerate(page.units) if page.page.lines[unit.line] is lines[0]), -1)
        headings.append(Heading(title, page.page.number, unit, 1, "layout", lines[0].y0))
    keys = [compact(heading.title) for heading in headings]
    headings = [heading for at, heading in enumerate(headings) if keys[at] not in keys[max(0, at - _AGAIN) : at]]
    return _levelled(headings, dividers)


def _levelled(headings: list[Heading], dividers: set[int]) -> list[Heading]:
    parts = {at for at, heading in enumerate(headings[:-1]) if heading.page in dividers}
    if len(parts) < 2:
        parts = set()
    parts |= _series(headings)
    if not parts:
        return headings
    first = min(parts)
    return [
        replace(heading, level=1 if at <= first or at in parts or _CLOSING.match(heading.title) else 2)
        for at, heading in enumerate(headings)
    ]


def _series(headings: list[Heading]) -> set[int]:
    """Return the indexes of slide titles that begin with the same words, if other slides are between them."""
    openings: dict[str, list[int]] = {}
    for at, heading in enumerate(headings):
        words = heading.title.split()
        if len(words) > _OPENING:
            openings.setdefault(compact(" ".join(words[:_OPENING])), []).append(at)
    series: set[int] = set()
    for places in openings.values():
        titles = {compact(headings[at].title) for at in places}
        between = places[-1] - places[0] + 1 - len(places)
        if len(titles) >= _SERIES and between >= _BETWEEN:
            series.update(places)
    return series


def _slide_title(page: PageView) -> list[Line]:
    """Return the lines of a slide's title: the largest in its upper part, or on the whole slide if that is empty.

    Lines that repeat at one position on many slides may also be titles.
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


Floats = npt.NDArray[np.float64]
_START = 14  # letters and digits by which titles on a page are equal
_SMALLEST_FRAME = 3
_AS_LARGE = 0.04  # maximum share of headings that are as large as the document's title


@dataclass(frozen=True, slots=True)
class HeadingList:
    """A document's headings in reading order, with levels from 1 that may skip numbers.

    ``spare`` are weaker headings (level 0), for large sections without other headings. ``signs`` are features of the
    headings that indicate their quality; empty for headings from bookmarks or slides.
    """

    headings: tuple[Heading, ...]
    spare: tuple[Heading, ...]
    signs: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Possibilities:
    """All possible headings in reading order, the headings that the rules accept, and the features of each."""

    items: tuple[Possible, ...]
    rules: Settled
    evidence: Floats


def outline(
    document: ParsedDocument,
    doc: DocumentView,
    toc_pages: int,
    regions: Regions | None = None,
    trees: BoostedTrees | None = None,
) -> HeadingList:
    """Return the headings that the learned model accepts from bookmarks, printed contents and lines.

    If ``trees`` is None, the shipped model is used. A model without trees leaves the decision to the rules.
    """
    bookmarks = from_bookmarks(document.bookmarks, doc)
    if len(bookmarks) < _SMALLEST_FRAME and is_deck(doc):
        return HeadingList(tuple(slide_titles(doc)), ())
    possible = possible_headings(bookmarks, doc, toc_pages, regions)
    if not possible.items:
        return HeadingList((), ())
    trees = heading_model() if trees is None else trees
    likely = np.array([item.likely for item in possible.items])
    chances = likelihoods(trees, possible.evidence, likely, style_numbers(possible.items))
    chosen = choose(chances) if len(trees.columns) else likely
    pairs = []
    titles: set[str] = set()
    weak = [_heading(c) for c in possible.rules.spare]
    for item, is_chosen in zip(possible.items, chosen.tolist(), strict=True):
        h = replace(item.heading, title=clean_title(item.heading.title))
        if earlier := continues(h.title):
            if not titles.isdisjoint((compact(earlier), bare(earlier))):
                continue
            h = h if h.source == "bookmark" else replace(h, title=earlier)
        if is_chosen or h.source == "bookmark":
            titles |= {compact(h.title), bare(h.title)}
            confirmed = not item.entry and regions is not None and regions.kind(h.page, h.unit) == "heading"
            level = h.level if item.entry else 0
            pairs.append((replace(h, confirmed=confirmed), FlatHeading(h.title, level, item.look, flat=item.title)))
        elif item.likely and item.look:
            weak.append(_heading(item.look))
    depths = levels([item for _, item in pairs])
    by_bookmarks = any(item.heading.source == "bookmark" for item in possible.items)
    return HeadingList(
        tuple(replace(h, level=level) for (h, _), level in zip(pairs, depths, strict=True)),
        tuple(sorted(weak, key=lambda h: (h.page, h.unit))),
        () if by_bookmarks else signs_of_headings(possible.items, chances, chosen, len(doc.pages)),
    )


def possible_headings(
    bookmarks: list[Heading], doc: DocumentView, toc_pages: int, regions: Regions | None = None
) -> Possibilities:
    """Return the entries of bookmarks or printed contents, together with the lines that look like headings.

    The entries come from the more complete source of the two.
    """
    printed = from_printed_toc(doc, toc_pages)
    skip = printed.pages | find_listings(doc)
    looked = candidates(doc, skip)
    rules = settle(looked, doc)
    if regions is not None:
        looked = propose(looked, doc, regions, skip)
        rules = weigh(looked, rules, doc, regions)
    by_bookmarks = len(bookmarks) >= max(_SMALLEST_FRAME, 0.5 * len(printed.headings))
    frame = bookmarks if by_bookmarks else list(printed.headings)
    if len(frame) < _SMALLEST_FRAME:
        frame = []
    # The page in the contents may be wrong, for example after a new layout. The actual page of the title counts.
    standing = {compact(c.title)[:_START] for c in rules.headings}
    frame = [h for h in frame if h.unit >= 0 or h.y is not None or compact(h.title)[:_START] not in standing]
    frame = _compressed([_as_printed(h, rules.headings, doc) for h in frame])
    at = {(c.page, unit): c for c in looked for unit in range(c.unit, c.last + 1)}
    frame = [replace(h, title=c.title) if (c := at.get((h.page, h.unit))) and c.labelled else h for h in frame]
    items = [Possible(h, at.get((h.page, h.unit)), entry=True, likely=True) for h in frame]
    items += _graft(frame, rules.possible, rules.headings, at, printed, doc)
    items.sort(key=lambda item: (item.heading.page, item.heading.unit))
    values = evidence(items, rules, doc, printed.located) if items else np.zeros((0, len(FEATURES)))
    return Possibilities(tuple(items), rules, values)


def _as_printed(h: Heading, by_layout: list[PossibleHeading], doc: DocumentView) -> Heading:
    """Return a bookmark with the title that its page shows, if the bookmark adds a file name or series to it."""
    if h.source != "bookmark" or bare(h.title) in "".join(doc[h.page].compact):
        return h
    whole = compact(h.title)
    inside = [
        c for c in by_layout if c.page == h.page and len(compact(c.title)) >= _START and compact(c.title) in whole
    ]
    best = max(inside, key=lambda c: (c.rise, len(c.title), -c.unit), default=None)
    return h if best is None else replace(h, title=best.title, unit=best.unit)


def _heading(c: PossibleHeading) -> Heading:
    return Heading(clean_title(c.title), c.page, c.unit, 0, "layout")


def _graft(
    frame: list[Heading],
    looked: list[PossibleHeading],
    by_layout: list[PossibleHeading],
    at: dict[tuple[int, int], PossibleHeading],
    printed: PrintedToc,
    doc: DocumentView,
) -> Iterable[Possible]:
    """Yield possible headings that the printed contents or bookmarks (``frame``) lack.

    They come from contents of single chapters, and from layout.
    """
    titles = {(h.page + d, bare(h.title), _word(h.title)) for h in frame for d in (-1, 0, 1)}
    starts = {(h.page, compact(h.title)[:_START]) for h in frame}
    taken = {(h.page, h.unit) for h in frame}
    for h in printed.finer:
        if (h.page, h.unit) not in taken and not _entitled(h.page, h.title, titles):
            taken.add((h.page, h.unit))
            yield Possible(h, at.get((h.page, h.unit)), likely=True)
    looks = {c.look for h in frame if (c := at.get((h.page, h.unit)))}
    front = _front(doc, frame, printed.pages)
    cover = [c for c in by_layout if c.page <= front]
    title = max(cover, key=lambda c: _title_worth(c, cover), default=None) or _headline(by_layout)
    by_rules = set(map(id, by_layout))
    for c in looked:
        if any((c.page, unit) in taken for unit in range(c.unit, c.last + 1)) or _entitled(c.page, c.title, titles):
            continue
        start = compact(c.title)[:_START]
        if len(start) == _START and (c.page, start) in starts:
            continue  # the same title, shortened or extended
        likely = id(c) in by_rules and compact(c.title) not in printed.names  # names are authors
        if c.page <= front and c is not title and not opens_contents(c.title):  # other lines of a title page
            likely = likely and c.look in looks and c.page > cover[0].page and _long_lines(doc, c.page) >= 8
        yield Possible(_heading(c), c, likely=likely, title=c is title)


def _word(title: str) -> str:
    """Return the word before a title's number ("part", "item"), "" if there is none."""
    number = numbering(title)
    return number.kind if number is not None and number.kind in STRONG else ""


def _entitled(page: int, title: str, titles: set[tuple[int, str, str]]) -> bool:
    """Return whether contents or bookmarks list this title on this page.

    "Item 5. Other Information" and "Part II. Other Information" are different titles.
    """
    word, rest = _word(title), bare(title)
    return any((page, rest, other) in titles for other in ({word, ""} if word else {"", *STRONG}))


def _headline(looked: list[PossibleHeading]) -> PossibleHeading | None:
    """Return the title of a document without a cover, None if it has none.

    It is a heading on page 1 that is larger than nearly all others.
    """
    first = [c for c in looked if c.page == 1 and c.number is None]
    title = max(first, key=lambda c: (c.rise, -c.unit), default=None)
    if title is None:
        return None
    as_large = sum(c.rise > title.rise - 0.03 for c in looked) - 1
    return title if as_large <= _AS_LARGE * len(looked) else None


def _front(doc: DocumentView, frame: list[Heading], contents: frozenset[int]) -> int:
    """Return the number of the last cover or title page, 0 if there is none.

    Cover pages come before the printed contents or, without these, before the text begins.
    """
    after = [next((h.page for h in frame if h.page > 1), 0)] if frame and frame[0].page > 1 else []
    if contents:
        return max(1, min([min(contents), *after]) - 1)
    text = next((page.page.number for page in doc.pages if _is_text(doc, page.page.number)), 1)
    return min([text, *after]) - 1


def _long_lines(doc: DocumentView, page: int) -> int:
    return sum(len(unit.text) > 40 for unit in doc[page].units)


def _is_text(doc: DocumentView, page: int) -> bool:
    """Return whether a page is body text: it has many long lines, or its lines are mostly long."""
    long_lines = _long_lines(doc, page)
    return long_lines >= 10 or (long_lines >= 5 and long_lines >= 0.7 * len(doc[page].units))


def _compressed(frame: list[Heading]) -> list[Heading]:
    """Return the entries of bookmarks or contents with levels renumbered from 1 without gaps."""
    ranks = {level: rank for rank, level in enumerate(sorted({h.level for h in frame}), 1)}
    return [replace(h, level=ranks[h.level]) for h in frame]


def _title_worth(c: PossibleHeading, cover: list[PossibleHeading]) -> tuple[float, ...]:
    """Return a sort key for candidates for the document's title, the best last.

    Better are an earlier page, a repetition on the next title page, several words, and a larger size.
    """
    again = any(other is not c and bare(other.title) == bare(c.title) for other in cover)
    return (-c.page, c.size * (1 + 0.5 * again + 0.5 * (len(c.title.split()) > 2)), -c.unit)
