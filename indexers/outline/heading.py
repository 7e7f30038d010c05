"""Headings, the positions of their titles on pages, and the document's bookmarks."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from hybrid_core.text.tokens import fold
from hybrid_core.types.documents import Bookmark, HeadingSource
from indexers.outline.numbering import bare, compact, numbering
from indexers.outline.view import DocumentView, PageView

_CONTINUED = re.compile(
    r"\W*(?:[(（\[]|\s[-–—]\s*|,\s+)\s*(?:continued(?:\s+(?:from|on)\s+(?:page\s+)?\w+)?|cont[’'.]?d?\.?|concluded"
    r"|continuación|suite|fortsetzung|forts\.|segue|seguito|vervolg|продолжение|[续續](?:上?表)?|続き?|つづき|계속)"
    r"\s*[)）\]]?\s*$",
    re.IGNORECASE,
)
_LEADERS = re.compile(
    r"(?:(?:\s*[.·•…‥⋯・‧_]){4,}|[…⋯]{2,}|(?:\s[-–—]){4,})\s*(?:\d{1,4}|[ivxlc]{1,7})?\s*$"
)  # fmt: skip
_PAGE_BEFORE = re.compile(r"^\s*\d{1,4}\s*[|│]\s*(?=[^\W\d_])")
_PAGE_AFTER = re.compile(
    r"(?<=[^\W\d_])(?:(?:\t|\s{3,})\d{1,3}|\s*[|│]\s*\d{1,4}"
    r"|\s*[(（\[](?:page|pp?\.?|seite|s\.|página|pág\.|стр\.?|第)\s*\d{1,4}\s*[页頁]?[)）\]])\s*$",
    re.IGNORECASE,
)
_CONJUNCTION = r"(?!(?i:and|or|und|oder|bzw|et|ou|y|o|e|en|of|и|или)\b)"
_BROKEN = re.compile(rf"(?<=[^\W\d_]{{2}})[-‐] {_CONJUNCTION}(?=[^\W\d_A-Z]{{2}})")
_BROKEN_COMPOUND = re.compile(rf"(?<=[^\W\d_]{{2}})([-‐]) {_CONJUNCTION}(?=[A-Z])")
_UNSEEN = re.compile("[\u200b\u2060\ufeff]|\u00ad\\s*")
_BULLET = re.compile(r"^\s*[\ue000-\uf8ff■□▪▫●○◆◇▶►•‣➢➤❖]+\s*(?=\w)")
_HAN_APART = re.compile(r"\s*[\u3400-\u9fff](?:\s+[\u3400-\u9fff])+\s*")
_MAY_BE_SPACED = re.compile(r"(?:[\d.]{1,6}\s+)?\S\s+\S\s")
_SPACED = 4  # minimum single letters separated by spaces in a letter-spaced title
_TWICE = 9  # minimum letters of a title that is drawn twice; names such as Walla Walla are shorter
_DISTINCT = 4  # minimum distinct letters of a title with doubled letters
_HAN_TWICE = 4  # minimum letters of a repeated title without spaces


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading with its position.

    ``unit`` is the index of its first line on the page, -1 if only the page is known.
    """

    title: str
    page: int
    unit: int
    level: int
    source: HeadingSource
    y: float | None = None  # target of a bookmark whose title was not found on the page
    confirmed: bool = False  # a layout model also considers it a heading


_GLUED = re.compile(r"^((?:[A-Z]\.)?\d{1,3}(?:\.\d{1,3})+|[A-Z](?:\.\d{1,3})+)(?=[\u3040-\u9fff\uac00-\ud7a3])")
"""A number without a space before its title, as printed contents in Chinese, Japanese and Korean have it."""


def clean_title(text: str) -> str:
    """Return a title without letter spacing, repetition, dot leaders, page number, bullet and broken words."""
    title = _UNSEEN.sub("", text)
    title = _LEADERS.sub("", _BULLET.sub("", closed_up(title)))
    number = numbering(" ".join(title.split()))
    # a bare "Article   12" is complete
    if number is None or title[:1].isdigit() or number.end < len(" ".join(title.split())):
        title = _PAGE_AFTER.sub("", _PAGE_BEFORE.sub("", title))
    title = _GLUED.sub(r"\1 ", " ".join(title.split()))
    title = _BROKEN_COMPOUND.sub(r"\1", _BROKEN.sub("", title))
    if _HAN_APART.fullmatch(title):
        title = "".join(title.split())
    return _once(title) or " ".join(text.split())


def _once(title: str) -> str:
    """Return a title without repetitions, which arise when it is drawn several times over itself.

    The whole title, its words or its letters may be repeated.
    """
    words, letters = title.split(), "".join(title.split())
    if len(set(letters)) >= _DISTINCT and all(word[::2] == word[1::2] for word in words):
        return " ".join(word[::2] for word in words)
    for times in (3, 2):
        part = words[: len(words) // times]
        if part and part * times == words:
            number = numbering(" ".join(part))
            numbered = number is not None and number.end < len(" ".join(part))
            if times == 3 or numbered or sum(map(len, part)) >= _TWICE:
                return " ".join(part)
    if len(words) >= 4 and words[::2] == words[1::2] and len(set(words)) > 1:
        return " ".join(words[::2])
    half = title[: len(title) // 2]
    if len(half) >= _HAN_TWICE and title == half * 2 and all("\u3400" <= letter <= "\u9fff" for letter in half):
        return half
    return title


def continues(title: str) -> str:
    """Return the title without "(continued)" at its end, "" if it has no such end."""
    mark = _CONTINUED.search(title)
    return title[: mark.start()].rstrip() if mark and mark.start() else ""


def closed_up(text: str) -> str:
    """Return letter-spaced words without their spaces. Two or more spaces separate words."""
    if not _MAY_BE_SPACED.match(text):  # fast exit for most lines
        return text
    pieces = text.split()
    letters = sum(len(piece) == 1 and piece.lower() != piece.upper() for piece in pieces)
    if letters < _SPACED or letters < 0.8 * len(pieces):
        return text
    first = [] if len(pieces[0]) == 1 else [pieces[0]]
    rest = text.strip().removeprefix(*first) if first else text.strip()
    return " ".join([*first, *("".join(word.split()) for word in re.split(r"\s{2,}", rest.strip()))])


_LINES = 6  # maximum lines of a title
_LABEL = 14  # letters of a line such as "Chapter 12" whose size may differ from the title's


def find_title(
    title: str,
    doc: DocumentView,
    page: int,
    y: float | None = None,
    slack: int = 1,
    min_score: float = 0.0,
    skip: frozenset[int] = frozenset(),
) -> tuple[int, int] | None:
    """Return (page, index of the first line) of a title, None if it is not found.

    It is searched on ``page`` and within ``slack`` pages of it. ``min_score`` is the minimum match, 1 for a line that
    is only the title. ``skip`` are pages that are not searched, such as printed contents.
    """
    whole, short = compact(title), bare(title)
    for number in (page, *(page + sign * d for d in range(1, slack + 1) for sign in (1, -1))):
        if 1 <= number <= len(doc.pages) and number not in skip:
            unit = find_on_page(whole, short, doc[number], y if number == page else None, min_score)
            if unit is not None:
                return number, unit
    return None


def find_on_page(whole: str, short: str, page: PageView, y: float | None = None, min_score: float = 0.0) -> int | None:
    """Return the index of the line at which a title begins, None if it is not on the page.

    Of several equally good lines, take the nearest to height ``y`` or, without ``y``, the largest. ``whole`` and
    ``short`` are the title's letters and digits with and without its numbering.
    """
    if not short:
        return None
    best: tuple[float, float, int] | None = None
    for i in sorted({*page.beginning(whole), *page.beginning(short)}):
        score = _match(whole, short, page, i)
        if score > min_score:
            unit = page.units[i]
            far = abs(unit.y0 - y) / 20 if y is not None else -unit.size / 4
            if best is None or (-score, far, i) < best:
                best = (-score, far, i)
    return best[2] if best else None


def _match(whole: str, short: str, page: PageView, i: int, near: bool = True) -> float:
    """Return how well line ``i`` matches a title.

    A line with only the title scores 1.0, with further words less, another text 0. ``near`` allows misprints.
    """
    full = page.compact[i]
    for form, worth in ((whole, 1.0), (short, 0.95)):
        text = full
        if text[:3] != form[:3]:
            begins = text.find(form[:8], 1, _LABEL + 8)
            if begins < 0 or not _numbers(page.units[i].text, begins):
                continue
            text, worth = text[begins:], worth - 0.04  # numbered on the page but not in the bookmark or contents
        if text == form:
            return worth
        if text.startswith(form):
            if len(form) >= 8 or len(text) <= len(form) + 4:
                return 0.7 * worth if len(text) > len(form) + 4 else 0.9 * worth
            continue
        joined = text
        j = i + 1
        while j < min(len(page.compact), i + _LINES) and len(joined) < len(form) and form.startswith(joined):
            if len(text) > _LABEL and not 0.85 < page.units[j].size / max(page.units[i].size, 0.1) < 1.18:
                break  # an author or subtitle
            joined += page.compact[j]
            j += 1
        if joined == form:
            return worth
        if len(text) >= 8 and joined.startswith(form):
            return 0.8 * worth
        if near and len(form) > 12 and len(joined) > 0.6 * len(form) and text[:6] == form[:6]:
            ratio = SequenceMatcher(None, form, joined[: len(form) + 3], autojunk=False).ratio()
            if ratio >= 0.9:
                return 0.7 * worth * ratio
    return 0.0


def _numbers(text: str, letters: int) -> bool:
    """Return whether the first ``letters`` letters and digits of a text are exactly its numbering."""
    number = numbering(text)
    return number is not None and len(compact(text[: number.end])) == letters


class LinePrefixIndex:
    """An index of lines by their first letters, to find the lines at which a title may begin."""

    def __init__(self, doc: DocumentView, skip: frozenset[int]) -> None:
        self._doc = doc
        self._at: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for page in doc.pages:
            number = page.page.number
            if number in skip:
                continue
            for i, text in enumerate(page.compact):
                if text and len(page.units[i].text) < 200:
                    self._at[text[:5]].append((number, i))
                    prefix = numbering(page.units[i].text)
                    if prefix is not None and (rest := compact(page.units[i].text[prefix.end : prefix.end + 12])[:5]):
                        self._at[rest].append((number, i))

    def places(self, title: str, limit: int = 60) -> list[tuple[int, int]]:
        """Return (page, index of the line) of lines at which a title begins, in page order and one per page.

        Return none if too many lines match.
        """
        whole, short = compact(title), bare(title)
        near = {*self._at.get(whole[:5], ()), *self._at.get(short[:5], ())}
        if not short or len(near) > 40 * limit:
            return []
        best: dict[int, tuple[float, int]] = {}
        for number, i in sorted(near):
            score = _match(whole, short, self._doc[number], i, near=False)
            if score >= 0.8 and score > best.get(number, (0.0, 0))[0]:
                best[number] = (score, i)
        return [(number, i) for number, (_, i) in best.items()] if len(best) <= limit else []


_JUNK = re.compile(
    r"(?:page|seite|slide|untitled|bookmark|_?goback|sheet|folie|diapositiva)?[\s_-]*\d*|.*\.(?:pdf|docx?|indd|qxd|xlsx?|pptx?)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{4,}")
_LEAST_IN_RANGE, _LEAST_FOUND = 0.6, 0.4


def from_bookmarks(bookmarks: Sequence[Bookmark], doc: DocumentView) -> list[Heading]:
    """Return the headings that bookmarks name.

    Return none if too few bookmarks have ascending pages that show their titles.
    """
    named = [b for b in bookmarks if compact(b.title) and not _JUNK.fullmatch(b.title.strip())]
    inside = [b for b in named if 1 <= b.page <= len(doc.pages)]
    if not inside or len(inside) < _LEAST_IN_RANGE * len(named):
        return []
    ordered = _ascending(inside)
    if len(ordered) < _LEAST_IN_RANGE * len(inside):
        return []
    headings: list[Heading] = []
    hits = readable = 0
    for b in ordered:
        place = find_title(b.title, doc, b.page, b.y)
        hits += place is not None or _mentioned(b.title, doc[b.page])
        readable += bool(doc[b.page].units)
        page, unit = place or (b.page, doc[b.page].unit_at(b.y) if b.y else -1)
        headings.append(Heading(b.title, page, unit, b.level, "bookmark", b.y))
    if readable > 3 and hits < _LEAST_FOUND * readable:
        return []
    return _unrepeated(headings)


def _mentioned(title: str, page: PageView) -> bool:
    """Return whether a page contains most words of a title, anywhere on the page."""
    words = _WORD.findall(fold(title))
    text = "".join(page.compact)
    return bool(words) and sum(word in text for word in words) >= 0.6 * len(words)


def _ascending(bookmarks: list[Bookmark]) -> list[Bookmark]:
    """Return the longest series of bookmarks with ascending pages. The others are assumed to have wrong targets."""
    tails: list[int] = []
    tail_at: list[int] = []
    before: list[int] = []
    for i, b in enumerate(bookmarks):
        at = bisect_right(tails, b.page)
        before.append(tail_at[at - 1] if at else -1)
        if at == len(tails):
            tails.append(b.page)
            tail_at.append(i)
        else:
            tails[at], tail_at[at] = b.page, i
    chain = []
    i = tail_at[-1] if tail_at else -1
    while i >= 0:
        chain.append(bookmarks[i])
        i = before[i]
    return chain[::-1]


def _unrepeated(headings: list[Heading]) -> list[Heading]:
    seen: set[tuple[str, int, int]] = set()
    out = []
    for heading in headings:
        key = compact(heading.title), heading.page, heading.unit
        if key not in seen:
            seen.add(key)
            out.append(heading)
    return out
