"""Stretches of a page that can be shown, how well each answers, and which statement of it does."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from math import fsum, log1p
from types import MappingProxyType
from typing import NamedTuple

from hybrid_core.text.table_rows import GAP, TableRow
from retrievers.pages.statements import WINDOW_CHARS, Statement

LEFT_OUT = "… "
_FAR = 0.5  # of terms beyond a heading, and in a heading that heads nothing
_NUMERIC = 1.2
_NAMED = 0.3  # what the question's names and years weigh, beside its best other term
_LATER = 0.001  # for each statement before the best one
_LEAST = 40  # characters of a statement that is cut off
_SHORT = 2  # letters of words that tell nothing
_MOST_HEADS = 140  # characters
_NO_ROW = TableRow((), (), -1)
_DIGIT = re.compile(r"\d")


class PassageTerms(NamedTuple):
    """The weighted terms that choose a passage: a question's own, and those of expert knowledge."""

    own: Mapping[str, float]
    expert: Mapping[str, float] = MappingProxyType({})

    def naming(self, names: Iterable[str]) -> PassageTerms:
        """Return these terms and those that only name documents or times."""
        greatest = max((*self.own.values(), *self.expert.values()), default=1.0)
        return PassageTerms({**dict.fromkeys(names, _NAMED * greatest), **self.own}, self.expert)

    def only(self, names: Collection[str]) -> PassageTerms:
        """Return those of the terms that have these names."""
        own, expert = ({term: terms[term] for term in terms if term in names} for terms in (self.own, self.expert))
        return PassageTerms(own, expert)

    def weights(self, present: Collection[str]) -> dict[str, float]:
        """Return what each term counts on a page that holds some of them.

        Those of expert knowledge count as far as the page lacks the question's own.
        """
        whole = fsum(self.own.values())
        lacking = 1 - fsum(weight for term, weight in self.own.items() if term in present) / whole if whole else 1.0
        return {**{term: lacking * weight for term, weight in self.expert.items()}, **self.own}


class Window(NamedTuple):
    """``numbers`` are those of its statements: ``above`` of them are heads of a table, the others begin with a match.
    ``captions`` stand above the table and are not shown. ``tail`` is the beginning of the next statement.
    """

    numbers: tuple[int, ...]
    above: int = 0
    captions: tuple[int, ...] = ()
    tail: str = ""

    @property
    def body(self) -> tuple[int, ...]:
        return self.numbers[self.above :]

    def text(self, page: Sequence[Statement]) -> str:
        """In one line, with "…" where statements are left out."""
        gaps = ["", *("" if after == before + 1 else LEFT_OUT for before, after in pairwise(self.numbers))]
        parts = [gap + page[at].text for gap, at in zip(gaps, self.numbers, strict=True)]
        return " ".join(" ".join([*parts, self.tail]).split())


class Windows:
    """The windows of a page: one from each statement that matches, by its number."""

    def __init__(self, page: Sequence[Statement], terms: PassageTerms, numeric: bool) -> None:
        """A term counts less the more statements of the page hold it. ``numeric`` prefers statements with figures."""
        holding = Counter(chain.from_iterable(statement.held for statement in page))
        weights = terms.weights(holding)
        self._query = {term: weights[term] * log1p(len(page) / times) for term, times in holding.items()}
        self._page, self._numeric = page, numeric
        self._opens = [statement.heading and not after.heading for statement, after in pairwise(page)] + [False]
        self._worth = [self._weight(at) if statement.held else 0.0 for at, statement in enumerate(page)]
        tables: dict[tuple[int, ...], list[int]] = {}
        for at in sorted((at for at, worth in enumerate(self._worth) if worth), key=lambda at: -self._worth[at]):
            if (row := page[at].row) and row.heads:
                tables.setdefault(row.heads, []).append(at)
        for at in chain.from_iterable(tables):  # heads of columns answer by their rows alone
            self._worth[at] = 0.0
        self._tables, self._heads = tables, {heads: self._nearest(heads) for heads in tables}
        self.found = {at: self._window(at) for at, worth in enumerate(self._worth) if worth}

    def gain(self, window: Window) -> float:
        """Return what the different terms in a window weigh, and once more those of its best statement.

        Terms beyond a heading, seen from the best statement, count half.
        """
        body = window.body
        best = max(body, key=self._worth.__getitem__)
        near = {term for at in (*window.captions, *window.numbers[: window.above]) for term in self._page[at].held}
        far: set[str] = set()
        opening = [at for at in body if self._opens[at]]
        first = max((at for at in opening if at <= best), default=body[0])
        end = min((at for at in opening if at > best), default=body[-1] + 1)
        for at in body:
            (near if first <= at < end else far).update(self._page[at].held)
        gained = self._sum(near) + _FAR * self._sum(far - near)
        return gained + self._worth[best] - _LATER * (best - body[0])

    def answer(self, window: Window) -> Window:
        """Return the statement of a window whose terms weigh most; of a heading also what follows."""
        best = max(window.body, key=self._worth.__getitem__)
        if not self._opens[best]:
            return Window((best,))
        return Window((best, best + 1)) if best + 1 in window.body else Window((best,), tail=window.tail)

    def _sum(self, terms: Collection[str]) -> float:
        return fsum(self._query[term] for term in terms)

    def _weight(self, at: int) -> float:
        """Return what a statement's terms weigh: of a heading with those of what it heads, half where it heads nothing;
        of a row with those of its columns' heads, and less where its name says much else."""
        statement = self._page[at]
        if self._opens[at]:
            weight = self._sum(statement.held | self._page[at + 1].held)
        else:
            weight = self._sum(statement.held) * (_FAR if statement.heading else 1.0)
        if statement.row:
            name = statement.text.strip("| ").split("|")[0].split(GAP)[0]
            weight *= (1 + min(1.0, len(statement.held) / max(1, sum(len(word) > _SHORT for word in name.split())))) / 2
            weight += self._sum(
                {term for head in statement.row.heads for term in self._page[head].held} - statement.held
            )
        return _NUMERIC * weight if self._numeric and _DIGIT.search(statement.text) else weight

    def _window(self, first: int) -> Window:
        """Return the statements from one on that there is room for; of a table the heads of its columns, and first
        those of the rows after it that match best."""
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
        """Return the last of many lines of heads."""
        room, first = _MOST_HEADS, len(heads)
        while first and (room := room - len(self._page[heads[first - 1]].text) - 1) >= 0:
            first -= 1
        return tuple(heads[first:])


def _cut(text: str, room: int) -> str:
    """Return the beginning of a text, in whole words where it has some, and "…"; nothing where there is little room."""
    if room < _LEAST:
        return ""
    words = text[: room - 1].rsplit(None, 1)
    return f"{words[0] if len(words[0]) > _LEAST // 2 else text[: room - 1]} …"
