"""Passages of a page: their match with the question, the best passage, and short excerpts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from itertools import chain, pairwise
from math import fsum, log1p
from operator import or_
from types import MappingProxyType
from typing import NamedTuple

from hybrid_core.llm.budget import cut, estimate
from hybrid_core.text.markup import GAP, TableRow, visible
from retrievers.explain.statements import WINDOW_CHARS, Statement, statements

LEFT_OUT = "… "
_FAR = 0.5  # factor on terms beyond a heading, and in a heading without text
_NUMERIC = 1.2
_NAME_WEIGHT = 0.3  # weight of the question's names and years, relative to its best other term
_LATER = 0.001  # malus for each statement before the best one
_LEAST = 40  # minimum characters of a shortened statement
_SHORT = 2  # maximum letters of words that are ignored
_MOST_HEADS = 140  # maximum characters of column headings
_NO_ROW = TableRow((), (), -1)
_DIGIT = re.compile(r"\d")


class PassageTerms(NamedTuple):
    """The weighted terms by which a passage is chosen: those of the question and of expert knowledge."""

    own: Mapping[str, float]
    expert: Mapping[str, float] = MappingProxyType({})

    def naming(self, names: Iterable[str]) -> PassageTerms:
        """Return these terms and, with a low weight, ``names``: terms that name documents or times."""
        greatest = max((*self.own.values(), *self.expert.values()), default=1.0)
        return PassageTerms({**dict.fromkeys(names, _NAME_WEIGHT * greatest), **self.own}, self.expert)

    def only(self, names: Collection[str]) -> PassageTerms:
        """Return only those terms that are in ``names``."""
        own, expert = ({term: terms[term] for term in terms if term in names} for terms in (self.own, self.expert))
        return PassageTerms(own, expert)

    def weights(self, present: Collection[str]) -> dict[str, float]:
        """Return the weight of each term on a page that contains the terms in ``present``.

        The more weight of the question's terms the page lacks, the more expert terms count.
        """
        whole = fsum(self.own.values())
        lacking = 1 - fsum(weight for term, weight in self.own.items() if term in present) / whole if whole else 1.0
        return {**{term: lacking * weight for term, weight in self.expert.items()}, **self.own}


class Window(NamedTuple):
    """A passage of consecutive or selected statements on a page, given by their ``numbers``.

    The first ``above`` numbers are column headings of a table; the others begin with a matching statement. ``captions``
    are statements above the table, which are not shown. ``tail`` is the beginning of the next statement.
    """

    numbers: tuple[int, ...]
    above: int = 0
    captions: tuple[int, ...] = ()
    tail: str = ""

    @property
    def body(self) -> tuple[int, ...]:
        return self.numbers[self.above :]

    def text(self, page: Sequence[Statement]) -> str:
        """Return the text of the window in one line, with "…" for omitted statements."""
        gaps = ["", *("" if after == before + 1 else LEFT_OUT for before, after in pairwise(self.numbers))]
        parts = [gap + page[at].text for gap, at in zip(gaps, self.numbers, strict=True)]
        return " ".join(" ".join([*parts, self.tail]).split())


class Windows:
    """The candidate passages of a page, called windows: one for each matching statement, by its number."""

    def __init__(self, page: Sequence[Statement], terms: PassageTerms, numeric: bool) -> None:
        """Compute the weights and windows of a page. A term counts less if many statements contain it.

        With ``numeric``, statements with figures are preferred.
        """
        holding = Counter(chain.from_iterable(statement.terms for statement in page))
        weights = terms.weights(holding)
        bits = {term: 1 << at for at, term in enumerate(holding)}
        self._query = {bits[term]: weights[term] * log1p(len(page) / times) for term, times in holding.items()}
        self._terms = [sum(map(bits.__getitem__, statement.terms)) if statement.terms else 0 for statement in page]
        self._sums: dict[int, float] = {}
        self._page, self._numeric = page, numeric
        self._opens = [statement.heading and not after.heading for statement, after in pairwise(page)] + [False]
        self._worth = [self._weight(at) if terms_held else 0.0 for at, terms_held in enumerate(self._terms)]
        tables: dict[tuple[int, ...], list[int]] = {}
        for at in sorted((at for at, worth in enumerate(self._worth) if worth), key=lambda at: -self._worth[at]):
            if (row := page[at].row) and row.heads:
                tables.setdefault(row.heads, []).append(at)
        for at in chain.from_iterable(tables):  # column headings match only through their rows
            self._worth[at] = 0.0
        self._tables, self._heads = tables, {heads: self._nearest(heads) for heads in tables}
        self.found = {at: self._window(at) for at, worth in enumerate(self._worth) if worth}

    def gain(self, window: Window) -> float:
        """Return the total weight of the distinct terms in a window. Terms of the best statement count twice.

        Terms that a heading separates from the best statement count half.
        """
        body = window.body
        best = max(body, key=self._worth.__getitem__)
        near, far = self._together((*window.captions, *window.numbers[: window.above])), 0
        opening = [at for at in body if self._opens[at]]
        first = max((at for at in opening if at <= best), default=body[0]) if opening else body[0]
        end = min((at for at in opening if at > best), default=body[-1] + 1) if opening else body[-1] + 1
        for at in body:
            if first <= at < end:
                near |= self._terms[at]
            else:
                far |= self._terms[at]
        gained = self._sum(near) + _FAR * self._sum(far & ~near)
        return gained + self._worth[best] - _LATER * (best - body[0])

    def ranked(self) -> list[int]:
        """Return the numbers of the windows, best first. The best is followed by windows with terms that it lacks.

        Of these, a window with a rare term comes first.
        """
        gains = {at: self.gain(window) for at, window in self.found.items()}
        by_gain = sorted(gains, key=lambda at: (-gains[at], at))
        terms = {at: self._together(self.found[at].numbers) for at in by_gain}
        first, covered = by_gain[:1], terms[by_gain[0]] if by_gain else 0
        for term in sorted(filter(self._query.__getitem__, self._query), key=lambda term: -self._query[term]):
            if not term & covered and (at := next((at for at in by_gain if terms[at] & term), None)) is not None:
                first.append(at)
                covered |= terms[at]
        return list(dict.fromkeys([*first, *by_gain]))

    def answer(self, window: Window) -> Window:
        """Return the part of a window that answers best: the statement with the highest weight.

        If this statement is a heading, the statement after it is included.
        """
        best = max(window.body, key=self._worth.__getitem__)
        if not self._opens[best]:
            return Window((best,))
        return Window((best, best + 1)) if best + 1 in window.body else Window((best,), tail=window.tail)

    def _sum(self, terms: int) -> float:
        """Return the total weight of terms, which are given as the bits of a number."""
        if (total := self._sums.get(terms)) is None:
            weights, rest = [], terms
            while rest:
                lowest = rest & -rest
                weights.append(self._query[lowest])
                rest ^= lowest
            total = self._sums[terms] = fsum(weights)
        return total

    def _together(self, numbers: Iterable[int]) -> int:
        """Return the terms of several statements as the bits of a number."""
        return reduce(or_, map(self._terms.__getitem__, numbers), 0)

    def _weight(self, at: int) -> float:
        """Return the weight of the terms of the statement with number ``at``.

        A heading also gets the terms of the statement after it; without such a statement its own terms count half. A
        table row also gets the terms of its column headings. It counts less if its name contains many other words.
        """
        statement, terms = self._page[at], self._terms[at]
        if self._opens[at]:
            weight = self._sum(terms | self._terms[at + 1])
        else:
            weight = self._sum(terms) * (_FAR if statement.heading else 1.0)
        if statement.row:
            name = statement.text.strip("| ").split("|")[0].split(GAP)[0]
            weight *= (
                1 + min(1.0, len(statement.terms) / max(1, sum(len(word) > _SHORT for word in name.split())))
            ) / 2
            weight += self._sum(self._together(statement.row.heads) & ~terms)
        return _NUMERIC * weight if self._numeric and _DIGIT.search(statement.text) else weight

    def _window(self, first: int) -> Window:
        """Return the window that begins with a statement, with as many following statements as fit.

        In a table, it contains the column headings and the best matching of the following rows.
        """
        row = self._page[first].row or _NO_ROW
        room = WINDOW_CHARS - len(self._page[first].text)
        above = self._heads.get(row.heads, ())
        if above:
            room -= sum(len(self._page[at].text) + 1 for at in above) + len(LEFT_OUT)
        numbers, tail = {first}, ""
        for at in self._tables.get(row.heads, ()):
            if at > first and room > (size := len(self._page[at].text) + len(LEFT_OUT)):
                numbers.add(at)
                room -= size
        for at in range(first + 1, len(self._page)):
            if at not in numbers:
                size = len(self._page[at].text) + 1
                if size > room:
                    tail = _cut(self._page[at].text, room)
                    break
                numbers.add(at)
                room -= size
        while not tail and (last := max(numbers)) > first and self._opens[last]:
            numbers.remove(last)  # a heading without its text
        return Window((*above, *sorted(numbers)), len(above), row.captions, tail)

    def _nearest(self, heads: Sequence[int]) -> tuple[int, ...]:
        """Return those of several heading lines that are nearest to the statement, as many as fit."""
        room, first = _MOST_HEADS, len(heads)
        while first and (room := room - len(self._page[heads[first - 1]].text) - 1) >= 0:
            first -= 1
        return tuple(heads[first:])


def _cut(text: str, room: int) -> str:
    """Return a text cut to ``room`` characters with "…" at its end, if possible between words.

    Return "" if there is too little space.
    """
    if room < _LEAST:
        return ""
    words = text[: room - 1].rsplit(None, 1)
    return f"{words[0] if len(words[0]) > _LEAST // 2 else text[: room - 1]} …"


_AROUND = 0.5  # share of an excerpt for the lines around the best passage; the rest is for other matches
_BEFORE = 3  # statements that an excerpt grows downwards for each one upwards
_GAP = "…\n"


class Passage(NamedTuple):
    """A passage of a page. ``mark`` is the part that answers best; it begins at character ``offset`` of the page.

    ``lines`` are the offsets of the passage's statements, including one of which only the beginning is in ``text``.
    """

    offset: int
    text: str
    mark: str
    lines: tuple[int, ...] = ()


def best_passage(text: str, terms: PassageTerms, *, numeric: bool = False, headings: Collection[int] = ()) -> Passage:
    """Return the passage of about 280 characters with the highest weight of query terms.

    If it begins in a table row, it includes the column headings; "…" marks omitted text. Text above a table counts for
    each of its rows. ``headings`` are the character offsets of headings; a heading at the end of a passage counts half.
    With ``numeric``, statements with figures are preferred.
    """
    page = statements(text, frozenset((*terms.own, *terms.expert)), headings)
    windows = Windows(page, terms, numeric)
    if not windows.found:  # nothing matches, so the beginning is returned
        lines = tuple(line.offset for line in page if line.offset < WINDOW_CHARS)
        return Passage(0, " ".join(visible(text[: 2 * WINDOW_CHARS]).split())[:WINDOW_CHARS], "", lines)
    best = max(windows.found.values(), key=windows.gain)
    answer = windows.answer(best)
    numbers = (*best.numbers, max(best.numbers) + 1) if best.tail else best.numbers
    return Passage(
        page[answer.numbers[0]].offset, best.text(page), answer.text(page), tuple(page[at].offset for at in numbers)
    )


def excerpt(
    text: str, terms: PassageTerms, tokens: int, *, numeric: bool = False, kept_lines: Collection[int] = ()
) -> str:
    """Return an excerpt of a page with at most ``tokens``.

    It contains the statements at the offsets in ``kept_lines``, the best passage, passages with further terms, and the
    surroundings of the first, in page order. "…" marks omitted lines. Sentences and tables are included completely if
    they fit. Of other tables, the column headings and the kept or matching rows are included.
    """
    if estimate(text) <= tokens:
        return text
    page = statements(text, frozenset((*terms.own, *terms.expert)), ())
    if not page:
        return cut(text, tokens)
    windows = Windows(page, terms, numeric)
    lines, best = _Excerpt(text, page, tokens), windows.found
    shown = [at for at, statement in enumerate(page) if statement.offset in kept_lines]
    lines.keep(shown)
    order = windows.ranked()
    if not order:
        order, best = shown[:1] or [0], {at: Window((at,)) for at in shown[:1] or [0]}
    if not lines.stretch(order[0], best[order[0]]) and not shown:
        return cut(text[lines.lines[order[0]].offset :], tokens)
    around = shown[0] if shown else order[0]
    lines.grow(around, round(_AROUND * lines.room))
    for first in order[1:]:
        lines.stretch(first, best[first])
    lines.grow(around, 0)
    return lines.text()


class _Excerpt:
    """The lines of a page that are selected for an excerpt, and the number of tokens left."""

    def __init__(self, text: str, lines: Sequence[Statement], tokens: int) -> None:
        self.lines, self.room = lines, tokens - 2 * estimate(_GAP)
        self._at: set[int] = set()
        self._tables = _tables(lines)
        bounds = pairwise([*(line.offset for line in lines), len(text)])
        self._texts = [text[begin:end] for begin, end in bounds]  # with what Statement.text hides, such as links
        self._sizes = [estimate(f"{part}\n") for part in self._texts]

    def keep(self, numbers: Sequence[int]) -> None:
        """Select lines as far as they fit: those lines, then their tables and the rest of their sentences."""
        for at in numbers:
            row = self.lines[at].row
            for line in (at, *(row.heads if row else ())):
                self._add(line)
        for at in numbers:
            self._whole(self._tables.get(at, range(at, at + 1)))
            self._sentence(at)

    def stretch(self, first: int, around: Window) -> bool:
        """Select the lines of a window as far as they fit. Return whether its first line is selected."""
        for at in (first, *around.numbers):
            table = self._tables.get(at)
            if table is None or first not in table:
                self._grown(at)
            elif not self._whole(table):
                row = self.lines[at].row
                for line in (at, *(row.heads if row else ())):
                    self._add(line)
        for at in (first, max(around.numbers)):
            self._sentence(at)
        return first in self._at

    def _sentence(self, at: int) -> None:
        """Select the rest of the sentence of a selected line as far as it fits."""
        before, after = at, at
        while self.lines[after].open and self._add(after + 1):
            after += 1
        while before and self.lines[before - 1].open and self._add(before - 1):
            before -= 1

    def grow(self, around: int, target: int) -> None:
        """Select further lines around a line until only ``target`` tokens are left or no line fits."""
        up, down = around - 1, around + 1
        while self.room > target and (up >= 0 or down < len(self.lines)):
            up = up - 1 if up >= 0 and self._grown(up) else -1
            for _ in range(_BEFORE):
                fits = self.room > target and down < len(self.lines) and self._grown(down)
                down = down + 1 if fits else len(self.lines)

    def _grown(self, at: int) -> bool:
        """Select a line. If it is in a table of which no line is selected yet, select the whole table.

        Return whether the lines fit.
        """
        table = self._tables.get(at)
        if table is None or not self._at.isdisjoint(table):
            return self._add(at)
        return self._whole(table)

    def _whole(self, table: range) -> bool:
        """Select a whole table if it fits. Return whether it is selected."""
        new = [at for at in table if at not in self._at]
        if sum(self._sizes[at] for at in new) + estimate(_GAP) > self.room:
            return False
        for at in new:
            self._add(at)
        return True

    def text(self) -> str:
        parts, last = [], -1
        for at in sorted(self._at):
            if at != last + 1:
                parts.append(_GAP)
            parts.append(self._texts[at] if at + 1 in self._at else f"{self._texts[at].rstrip()}\n")
            last = at
        return "".join(parts) + (_GAP if last + 1 < len(self.lines) else "")

    def _add(self, at: int) -> bool:
        if at in self._at:
            return True
        adjacent = at - 1 in self._at or at + 1 in self._at
        size = self._sizes[at] + (0 if adjacent else estimate(_GAP))
        if size > self.room:
            return False
        self._at.add(at)
        self.room -= size
        return True


def _tables(lines: Sequence[Statement]) -> dict[int, range]:
    """Return the range of the table's lines for each line inside a table.

    The range includes column headings, and lines between rows.
    """
    table_of: dict[int, range] = {}
    first = last = -1
    spans: list[tuple[int, int]] = []
    for at, line in enumerate(lines):
        if line.row is None:
            continue
        begins = min((*line.row.heads, at))
        if first >= 0 and begins <= last + 2:
            first, last = min(first, begins), at
            spans[-1] = (first, last)
        else:
            first, last = begins, at
            spans.append((first, last))
    for first, last in spans:
        if last > first:
            table_of |= dict.fromkeys(range(first, last + 1), range(first, last + 1))
    return table_of
