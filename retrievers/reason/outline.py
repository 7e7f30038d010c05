"""The outline that a model is shown first: the best pages with their headings, in the sections that contain them.

    D1 · aurora-2023.pdf · annual report, 2023 · 120 pages
     D1.0019 Part II · pages 13-90 · 4 not shown
      D1.0078 Liquidity · pages 43-49
       page 46 · Cash flows | From investing activities | D1.0088 From financing activities (46-49, 3 parts)
       page 49 · Free cash flow · [table]
     other parts: D1.0001 Front matter (1-2) | D1.0120 Part III (91-99, 8 parts)

A section on a single page has no name of its own, because the page can be read or named. Sections without good pages
are counted but not shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from hybrid_core.llm.budget import estimate
from hybrid_core.types.documents import Section
from retrievers.query.expert import Role
from retrievers.ranking.walk import PageRef
from retrievers.reason.board import Board, short

_PAGES = 12  # pages that have a line
_ALL, _FEW = 4, 2  # so many of them with all their headings, the others with the first few
_LIKELY, _FAINT = (
    0.5,
    0.1,
)  # shares of the best page's value: below the first, only the first pages have a line; below the second, none
_FIRST = 6
_LEVELS, _LONG = 2, 4  # levels of sections shown above a page, if the section has at least this many pages
_WHOLE = 0.6  # share of a document's pages above which a section is not shown
_SHARE = 0.8  # maximum share of the tokens for pages; the rest is for roles, other parts and documents
_ROLES = 0.6  # share of the tokens for roles, if they would otherwise have too few
_HIDDEN = 2  # sections that are named where others hide them
_PARTS, _DIVIDED = 4, 2  # other parts that are named, of so many documents
_PROMISE = 0.3  # minimum value of such a part
_BEST_PAGES = 20  # best pages whose documents have a line
_DEEP = 700  # tokens of what is opened, until which the parts of parts are shown too
_TITLE, _PART = 50, 32  # characters


@dataclass(frozen=True, slots=True)
class Outline:
    """An outline for a model, as text, with the documents and pages that have a line in it.

    ``documents`` are document numbers.
    """

    text: str
    documents: frozenset[int]
    pages: frozenset[PageRef] = frozenset()


def outline(
    board: Board,
    roles: Mapping[int, Sequence[Role]],
    marks: Mapping[PageRef, str],
    tokens: int,
    named: Sequence[int] = (),
) -> Outline:
    """Return the outline that a model is shown first, in at most ``tokens``.

    ``roles`` are page roles by document. Pages with these roles are listed, whatever their value. ``marks`` describe
    figures on pages. The best page of each document in ``named`` is added before other pages.
    """
    best = [
        place
        for rank, place in enumerate(board.reached[:_PAGES])
        if board.value(*place) >= (_FAINT if rank < _FIRST and place[0] == board.reached[0][0] else _LIKELY)
    ]
    best = best or list(board.reached[:1])
    firsts = [next((place for place in board.reached if place[0] == doc), (doc, 1)) for doc in named]
    best = list(dict.fromkeys([*best[:1], *firsts, *best]))
    lines = _Lines(board, marks)
    due = {at: lines.size(*at) for doc in dict.fromkeys(doc for doc, _ in best)
           for at in _of_roles(board, doc, roles.get(doc, ()))}  # fmt: skip
    owed = min(sum(due.values()), int(_ROLES * tokens))
    lines.room = room = min(int(_SHARE * tokens), tokens - owed)
    for place in best:
        lines.add(*place)
    lines.room += tokens - room
    for (doc, at), size in due.items():
        owed -= size
        if doc in lines.documents():
            lines.add_role(doc, at, max(0, owed))
    return lines.within(tokens)


def opened(board: Board, doc: int, at: int, room: int) -> str:
    """Return lines for the parts of a section, or of a document if ``at`` is -1.

    They have at most ``room`` tokens. Summaries and the subsections of the best parts are included as far as they fit.
    """
    children = board.tops(doc) if at < 0 else board.scores[doc].content.children[at]
    head = f"D{doc + 1} holds:"
    if at >= 0:
        section = board.scores[doc].content.sections[at]
        span = f"pages {section.start_page}-{section.end_page}"
        head = f"{board.name((doc, at))} {short(section.title, _TITLE)} · {span} · holds:"
    below: set[int] = set()
    text = head
    for title, summary in ((90, 120), (90, 0), (_PART, 0)):
        text = "\n".join([head, *_section_lines(board, doc, children, title, summary, below)])
        if estimate(text) <= room:
            break
    promises = board.promises(doc)
    for child in sorted(children, key=lambda at: -promises[at]):
        if board.children((doc, child)) and promises[child] > 0:
            deeper = "\n".join([head, *_section_lines(board, doc, children, title, summary, below | {child})])
            if estimate(deeper) > min(room, _DEEP):
                break
            below, text = below | {child}, deeper
    return text


class _Lines:
    """The lines of an outline (documents, sections and pages), within ``room`` tokens."""

    def __init__(self, board: Board, marks: Mapping[PageRef, str]) -> None:
        self._board, self._marks, self.room = board, marks, 0
        self._pages: dict[int, dict[int, int]] = {}  # by document, with the headings that each has at most
        self._sections: dict[int, set[int]] = {}
        self._came: list[PageRef] = []  # the pages in the order in which they got their line
        self._own: dict[
            PageRef, set[int]
        ] = {}  # the sections for whose sake a page has a line, whose headings are first

    def documents(self) -> list[int]:
        return list(self._pages)

    def size(self, doc: int, at: int) -> int:
        """Return the tokens of a page's line with a single heading.

        The page is the one on which section ``at`` begins, and the heading that of the section.
        """
        page = self._board.scores[doc].content.sections[at].start_page
        return estimate(self._page(doc, page, 1, (), own={at})) + 1

    def add(self, doc: int, page: int, count: int = 0, reserve: int = 0) -> bool:
        """Add a page and the sections above it if they fit, leaving ``reserve`` tokens.

        Return whether the page has a line. The line gets ``count`` headings; if ``count`` is 0, the number depends on
        how many pages are listed already.
        """
        pages, shown = self._pages.get(doc, {}), self._sections.get(doc, set())
        if page in pages:
            return True
        count = count or (_ALL * 4 if sum(map(len, self._pages.values())) < _ALL else _FEW)
        above = [at for at in _above(self._board, doc, page) if at not in shown]
        lines = [self._page(doc, page, count, shown.union(above)), *(self._section(doc, at, 2) for at in above)]
        if not pages:
            lines.append(self._board.document_line(doc))
        size = sum(estimate(line) + 1 for line in lines)
        if size > self.room - reserve:
            if self._pages:
                return False
            if count > 1:  # the best page has a line in any case, if need be with one heading and nothing above it
                return self.add(doc, page, _FEW if count > _FEW else 1, reserve)
            above, lines = [], [self._page(doc, page, count, shown), self._board.document_line(doc)]
            size = sum(estimate(line) + 1 for line in lines)
        self.room -= size
        self._pages.setdefault(doc, {})[page] = count
        self._sections.setdefault(doc, set()).update(above)
        self._came.append((doc, page))
        return True

    def add_role(self, doc: int, at: int, reserve: int) -> None:
        """Add the page on which section ``at`` of a listed document begins.

        If necessary, the sections above it are left out.
        """
        page = self._board.scores[doc].content.sections[at].start_page
        shown, has = self._sections[doc], self._pages[doc].get(page, 0)
        before = self._own.setdefault((doc, page), set())
        was = estimate(self._page(doc, page, has, shown)) + 1 if has else 0
        before.add(at)
        if not has and self.add(doc, page, 1, reserve):
            return
        length = max(has, len(before))
        size = estimate(self._page(doc, page, length, shown)) + 1 - was
        if size <= self.room:
            self.room -= size
            self._pages[doc][page] = length
            if not has:
                self._came.append((doc, page))

    def within(self, tokens: int) -> Outline:
        """Return the outline, with fewer lines if it would exceed ``tokens``."""
        room = self.room
        text = self._outline()
        while (excess := estimate(text.text) - tokens) > 0:
            room -= excess  # other parts are left out first
            self.room, before = room, text.text
            text = self._outline()
            if text.text == before:
                if len(self._came) < 2:
                    break
                self._drop(*self._came.pop())
        return text

    def _drop(self, doc: int, page: int) -> None:
        del self._pages[doc][page]
        if self._pages[doc]:
            self._sections[doc] = {at for page_shown in self._pages[doc] for at in _above(self._board, doc, page_shown)}
        else:
            del self._pages[doc], self._sections[doc]

    def _outline(self) -> Outline:
        lines: list[str] = []
        for number, doc in enumerate(sorted(self._pages, key=self.documents().index)):
            rest = self._rest(doc) if number < _DIVIDED else ""
            either = (rest, f" other parts: expand D{doc + 1}") if rest else ()
            fits = [line for line in either if estimate(line) < self.room][:1]
            self.room -= sum(estimate(line) + 1 for line in fits)
            lines += [self._board.document_line(doc), *self._under(doc), *fits]
        named = set(self._pages)
        for doc in dict.fromkeys(doc for doc, _ in self._board.reached[:_BEST_PAGES]):
            line = self._board.document_line(doc)
            if doc not in named:
                self.room -= estimate(line) + 1
                if self.room < 0:
                    break
                named.add(doc)
                lines.append(line)
        pages = frozenset((doc, page) for doc, with_line in self._pages.items() for page in with_line)
        return Outline("\n".join(lines), frozenset(named), pages)

    def _under(self, doc: int) -> list[str]:
        """Return the lines of a document's sections and pages, in order, each below its section."""
        shown, content = self._sections[doc], self._board.scores[doc].content
        sections = content.sections
        entries = [(sections[at].start_page, 0, at) for at in shown] + [(page, 1, 0) for page in self._pages[doc]]
        lines = []
        for page, is_page, at in sorted(entries):
            if is_page:
                above = _above(self._board, doc, page)
                depth = len(shown.intersection(content.path(above[-1]))) + 1 if above else 1
                lines.append(self._page(doc, page, self._pages[doc][page], shown, depth))
            else:
                lines.append(self._section(doc, at, len(shown.intersection(content.path(at)))))
        return lines

    def _page(
        self, doc: int, page: int, count: int, shown: Iterable[int], depth: int = 2, own: Collection[int] = ()
    ) -> str:
        titles = _titles(self._board, doc, page, set(shown), own or self._own.get((doc, page), ()))
        parts = [f"{' ' * depth}page {page}"]
        if titles:
            parts.append(" | ".join(titles[:count]) + (f" | {len(titles) - count} more" if len(titles) > count else ""))
        return " · ".join([*parts, *filter(None, [self._marks.get((doc, page), "")])])

    def _section(self, doc: int, at: int, depth: int) -> str:
        section = self._board.scores[doc].content.sections[at]
        hidden = [child for _, child in self._board.children((doc, at)) if not self._is_shown(doc, child)]
        promises = self._board.promises(doc)
        likely = sorted((child for child in hidden if promises[child] > 0), key=lambda child: -promises[child])[
            :_HIDDEN
        ]
        names = ", ".join(_short_name(self._board, doc, child) for child in sorted(likely))
        parts = [f"{' ' * depth}{self._board.name((doc, at))} {short(section.title, _TITLE)}"]
        parts.append(f"pages {section.start_page}-{section.end_page}")
        return " · ".join([*parts, *([f"{len(hidden)} not shown" + (f": {names}" if names else "")] if hidden else [])])

    def _is_shown(self, doc: int, at: int) -> bool:
        return at in self._sections.get(doc, ()) or (
            self._board.scores[doc].content.sections[at].start_page in self._pages.get(doc, {})
        )

    def _rest(self, doc: int) -> str:
        """Return a line about the parts of a document that have no line of their own.

        It names the most promising ones and counts the others.
        """
        others = [at for at in self._board.tops(doc) if not self._is_shown(doc, at)]
        if not others:
            return ""
        promises = self._board.promises(doc)
        likely = [at for at in others if promises[at] >= _PROMISE]
        shown = sorted(sorted(likely, key=lambda at: -promises[at])[:_PARTS])
        names = [_name_section(self._board, doc, at, _PART) for at in shown]
        more = [f"{len(others) - len(shown)} more: expand D{doc + 1}"] if len(others) > len(shown) else []
        return " other parts: " + " | ".join([*names, *more])


def _above(board: Board, doc: int, page: int) -> list[int]:
    """Return the nearest sections that contain a page and span several pages, outermost first.

    Of sections on the same pages, only the innermost counts. A section that begins on the page counts only if no other
    section contains the page.
    """
    content = board.scores[doc].content
    covering, starts = content.covering
    covering_sections = [
        int(at) for at in covering[starts[page - 1] : starts[page] if page < len(starts) else len(covering)]
    ]
    sections, limit = content.sections, _WHOLE * content.pages
    several = [
        at
        for at in covering_sections
        if _LONG <= sections[at].end_page - sections[at].start_page + 1 <= max(_LONG, limit)
    ]
    before = [at for at in several if sections[at].start_page < page] or several
    if not before:
        return []
    path = [at for at in content.path(max(before, key=lambda at: (sections[at].level, at))) if at in several]
    below = [*path[1:], -1]
    nearest = [at for at, other in zip(path, below, strict=True) if other < 0 or not _same(sections, at, other)]
    return nearest[-_LEVELS:]


def _titles(board: Board, doc: int, page: int, shown: set[int], first: Collection[int]) -> list[str]:
    """Return the headings that begin on a page and have no line of their own.

    Headings of the sections in ``first`` come first. For a section that continues beyond the page, its name for the
    model and its title are returned. For other sections only the title is.
    """
    content = board.scores[doc].content
    covering, starts = content.covering
    covering_sections = [
        int(at) for at in covering[starts[page - 1] : starts[page] if page < len(starts) else len(covering)]
    ]
    begin = [at for at in covering_sections if content.sections[at].start_page == page and at not in shown]
    titles: dict[str, bool] = {}
    leads = False
    for at, after in pairwise([*begin, -1]):
        section = content.sections[at]
        leads = leads or at in first
        repeats = after in content.children[at] and _same(content.sections, at, after)
        if repeats and section.title == content.sections[after].title:
            continue
        plain = section.end_page == page or repeats
        title = short(section.title, _TITLE) if plain else _name_section(board, doc, at, _TITLE)
        titles[title] = leads or titles.get(title, False)
        leads = False
    return sorted(titles, key=lambda title: not titles[title])


def _section_lines(
    board: Board, doc: int, children: Sequence[int], title: int, summary: int, below: Collection[int], depth: int = 1
) -> list[str]:
    """Return the lines of sections in order, each followed by its parts if it is in ``below``.

    Sections without parts on the same pages share one line.
    """
    content = board.scores[doc].content
    sections, inside = content.sections, content.children
    lines: list[str] = []

    def pages(at: int) -> tuple[int, int, int]:
        return sections[at].start_page, sections[at].end_page, at if inside[at] else -1

    for (first, last, parent), group in groupby(children, pages):
        alike = list(group)
        value = max(board.value(doc, page) for page in board.pages_of((doc, alike[0])))
        if parent < 0 and first == last:
            parts = [" " * depth + f"page {first}"]
            parts.append(" | ".join(short(sections[at].title, title) for at in alike))
        else:
            titles = " | ".join(f"{board.name((doc, at))} {short(sections[at].title, title)}" for at in alike)
            parts = [" " * depth + titles, f"pages {first}-{last}"]
            parts += [f"{len(inside[parent])} not shown"] if parent >= 0 and parent not in below else []
            parts += [f"best {', '.join(map(str, board.best_pages((doc, alike[0]))))}"] if value > 0 else []
        parts += [short(sections[alike[0]].summary, summary)] if summary and sections[alike[0]].summary else []
        lines.append(" · ".join(parts))
        if parent in below:
            lines += _section_lines(board, doc, inside[parent], title, 0, (), depth + 1)
    return lines


def _name_section(board: Board, doc: int, at: int, title: int) -> str:
    section, inside = board.scores[doc].content.sections[at], len(board.children((doc, at)))
    last = f"-{section.end_page}" if section.end_page > section.start_page else ""
    parts = f", {inside} parts" if inside else ""
    return f"{board.name((doc, at))} {short(section.title, title)} ({section.start_page}{last}{parts})"


def _short_name(board: Board, doc: int, at: int) -> str:
    section = board.scores[doc].content.sections[at]
    return f"{short(section.title, _PART)} ({section.start_page})"


def _of_roles(board: Board, doc: int, roles: Sequence[Role]) -> list[PageRef]:
    """Return the section of each role, found by its title. Of several, the shortest title wins."""
    content = board.scores[doc].content
    places: dict[PageRef, None] = {}
    for role in roles:
        if titled := content.titled(role.title):
            shortest = min(titled, key=lambda section: (len(section.title), -board.value(doc, section.start_page)))
            places[doc, content.sections.index(shortest)] = None
    return list(places)


def _same(sections: Sequence[Section], first: int, second: int) -> bool:
    a, b = sections[first], sections[second]
    return (a.start_page, a.end_page) == (b.start_page, b.end_page)
