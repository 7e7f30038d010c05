"""The document's own bookmarks, where they can be trusted."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from hybrid_core.text.tokens import fold
from hybrid_core.types.documents import Bookmark
from indexers.outline.heading import Heading
from indexers.outline.locate import find_title
from indexers.outline.numbering import compact
from indexers.outline.view import DocumentView, PageView

_JUNK = re.compile(
    r"(?:page|seite|slide|untitled|bookmark|_?goback|sheet|folie|diapositiva)?[\s_-]*\d*|.*\.(?:pdf|docx?|indd|qxd|xlsx?|pptx?)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]{4,}")
_LEAST_IN_RANGE, _LEAST_FOUND = 0.6, 0.4


def from_bookmarks(bookmarks: Sequence[Bookmark], doc: DocumentView) -> list[Heading]:
    """Headings from bookmarks; empty where too few point into the document, in order, at pages with their titles."""
    named = [b for b in bookmarks if compact(b.title) and not _JUNK.fullmatch(b.title.strip())]
    inside = [b for b in named if 1 <= b.page <= len(doc.pages)]
    if not inside or len(inside) < _LEAST_IN_RANGE * len(named):
        return []
    ordered = _ascending(inside)
    if len(ordered) < _LEAST_IN_RANGE * len(inside):
        return []
    found: list[Heading] = []
    hits = readable = 0
    for b in ordered:
        place = find_title(b.title, doc, b.page, b.y)
        hits += place is not None or _mentioned(b.title, doc[b.page])
        readable += bool(doc[b.page].units)
        page, unit = place or (b.page, doc[b.page].unit_at(b.y) if b.y else -1)
        found.append(Heading(b.title, page, unit, b.level, "bookmark", b.y))
    if readable > 3 and hits < _LEAST_FOUND * readable:
        return []
    return _unrepeated(found)


def _mentioned(title: str, page: PageView) -> bool:
    """Whether a page has most words of a title that does not stand on it as it is (a name somebody gave it)."""
    words = _WORD.findall(fold(title))
    text = "".join(page.compact)
    return bool(words) and sum(word in text for word in words) >= 0.6 * len(words)


def _ascending(bookmarks: list[Bookmark]) -> list[Bookmark]:
    """The longest run of bookmarks whose pages never go back (others point to the wrong place)."""
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


def _unrepeated(found: list[Heading]) -> list[Heading]:
    seen: set[tuple[str, int, int]] = set()
    out = []
    for heading in found:
        key = compact(heading.title), heading.page, heading.unit
        if key not in seen:
            seen.add(key)
            out.append(heading)
    return out
