"""The best-supported frame wins; finer headings by layout are grafted under it."""

from __future__ import annotations

from dataclasses import replace

from hybrid_core.types import ParsedDocument
from indexers.outline.bookmarks import from_bookmarks
from indexers.outline.heading import Heading
from indexers.outline.layout import Candidate, candidates, settle
from indexers.outline.nesting import Item, levels
from indexers.outline.numbering import bare, compact
from indexers.outline.printed_toc import PrintedToc, from_printed_toc
from indexers.outline.toc_pages import opens_contents
from indexers.outline.view import DocumentView

_START = 14  # letters and digits by which two titles on a page are one


def outline(document: ParsedDocument, doc: DocumentView, toc_pages: int) -> list[Heading]:
    """All headings of a document in reading order with their levels (which may still jump)."""
    bookmarks = from_bookmarks(document.bookmarks, doc)
    printed = from_printed_toc(doc, toc_pages)
    looked = candidates(doc, printed.pages)
    frame = bookmarks if len(bookmarks) >= max(3, 0.5 * len(printed.headings)) else list(printed.headings)
    if len(frame) < 3:
        frame = []
    at = {(c.page, unit): c for c in looked for unit in range(c.unit, c.last + 1)}
    finer = [c for c in settle(looked, doc) if compact(c.title) not in printed.names]
    texts = frozenset(p.page.number for p in doc.pages if sum(len(u.text) > 40 for u in p.units) >= 8)
    return _graft(frame, finer, at, _front(doc, frame, printed.pages), printed, texts)


def _front(doc: DocumentView, frame: list[Heading], contents: frozenset[int]) -> int:
    """The last page of the cover and title pages: before the contents, or before the text begins."""
    text = next((p.page.number for p in doc.pages if sum(len(u.text) > 40 for u in p.units) >= 10), 1)
    before = [min(contents)] if contents else []
    if frame and frame[0].page > 1:
        before.append(next((h.page for h in frame if h.page > 1), text))
    return min([text, *before]) - 1 if not contents else max(1, min([*before, len(doc.pages)]) - 1)


def _graft(
    frame: list[Heading], looked: list[Candidate], at: dict[tuple[int, int], Candidate], front: int,
    printed: PrintedToc, texts: frozenset[int],
) -> list[Heading]:
    """Layout headings between those of the frame, each at its style's level among them, else below them."""
    titles = {(h.page + d, bare(h.title)) for h in frame for d in (-1, 0, 1)}
    starts = {(h.page, compact(h.title)[:_START]) for h in frame}
    taken = {(h.page, h.unit) for h in frame}
    known = {c.look for h in frame if (c := at.get((h.page, h.unit)))}
    merged: list[tuple[Heading, Item]] = []
    for h in _compressed(frame):
        merged.append((h, Item(h.title, h.level, at.get((h.page, h.unit)))))
    for h in printed.finer:
        if (h.page, h.unit) not in taken and (h.page, bare(h.title)) not in titles:
            taken.add((h.page, h.unit))
            merged.append((h, Item(h.title, 0, at.get((h.page, h.unit)))))
    cover = [c for c in looked if c.page <= front]
    title = max(cover, key=lambda c: _title_worth(c, cover), default=None)
    for c in looked:
        if any((c.page, unit) in taken for unit in range(c.unit, c.last + 1)) or (c.page, bare(c.title)) in titles:
            continue
        if len(start := compact(c.title)[:_START]) == _START and (c.page, start) in starts:
            continue  # the same title, cut short or with more after it
        if c.page <= front and c is not title and not opens_contents(c.title):
            if c.look not in known or c.page not in texts or c.page == cover[0].page:
                continue
        heading = Heading(c.title, c.page, c.unit, 0, "layout")
        merged.append((heading, Item(c.title, 0, c, flat=c is title)))
    merged.sort(key=lambda pair: (pair[0].page, pair[0].unit))
    found = levels([item for _, item in merged])
    return [Heading(h.title, h.page, h.unit, level, h.source, h.y) for (h, _), level in zip(merged, found, strict=True)]


def _compressed(frame: list[Heading]) -> list[Heading]:
    """The frame with levels that begin at 1 and never jump."""
    stack: list[int] = []
    out = []
    for h in frame:
        while stack and stack[-1] >= h.level:
            stack.pop()
        stack.append(h.level)
        out.append(replace(h, level=len(stack)))
    return out


def _title_worth(c: Candidate, cover: list[Candidate]) -> tuple[float, ...]:
    """The document's title: on the earliest page, repeated on the next title page, in words, large."""
    again = any(other is not c and bare(other.title) == bare(c.title) for other in cover)
    return (-c.page, c.size * (1 + 0.5 * again + 0.5 * (len(c.title.split()) > 2)), -c.unit)
