"""A sample of the headings, checked by a model against passages of their pages; and the model by what is known.

Among the entries that are checked stand others whose title is nowhere in their passage. What a model says that takes
many of them for right counts for nothing; one that takes any of them for right takes no heading away but what it was
asked about first.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pydantic import BaseModel

from hybrid_core.llm.session import Session
from indexers.enrich.tree.marks import unit_of
from indexers.enrich.tree.shown import passage
from indexers.outline.numbering import compact
from indexers.outline.tree import HeadingMark
from indexers.outline.view import DocumentView

SAMPLE = 16
_PARTS, _PER_PART = 3, 4  # of the document, and headings of each; the rest of a sample have the longest text
_PER_CALL = 40
_ANSWERED = 0.8  # of the entries, at least
_LINES = 8  # of a page from whose middle a passage may be taken
_BEGINS = 14  # letters by which a title is known
_FALSE = 6  # entries of a call that are wrong on purpose
_FOOLED = 1 / 6  # of those, how many may be taken for right


class Check(BaseModel):
    entry: int
    begins: bool


class Checks(BaseModel):
    checks: list[Check]


@dataclass(frozen=True, slots=True)
class CheckOutcome:
    """``right`` says of each heading that was checked, by its place, whether its section begins where it should.

    ``trusted`` is False where the model took many of the wrong entries for right ones, or left entries out; ``sure``
    is True where it took none.
    """

    right: Mapping[int, bool]
    trusted: bool
    sure: bool

    def share(self, places: Collection[int]) -> float:
        """Of those among the places that were checked, how many are right; 1 where none was."""
        asked = [self.right[at] for at in places if at in self.right]
        return sum(asked) / len(asked) if asked else 1.0


def sample(marks: Sequence[HeadingMark], among: Sequence[int]) -> list[int]:
    """Places of headings from the beginning, the middle and the end, and of those with the longest text.

    Titles decide by their hash, not by their number, so that a heading more or less leaves nearly all of the others.
    """
    if len(among) <= SAMPLE:
        return list(among)
    times: Counter[str] = Counter()
    order: dict[int, bytes] = {}
    for at in among:
        title = compact(marks[at].title)
        order[at] = hashlib.sha256(f"{times[title]} {title}".encode("utf-8", "replace")).digest()
        times[title] += 1
    chosen: set[int] = set()
    for part in range(_PARTS):
        inside = among[part * len(among) // _PARTS : (part + 1) * len(among) // _PARTS]
        chosen.update(sorted(inside, key=order.__getitem__)[:_PER_PART])
    lengths = {at: marks[after].page - marks[at].page for at, after in pairwise(among)}
    longest = sorted(lengths, key=lambda at: -lengths[at])
    for at in longest:
        if len(chosen) == SAMPLE:
            break
        chosen.add(at)
    return sorted(chosen)


def check(
    session: Session, doc: DocumentView, marks: Sequence[HeadingMark], places: Sequence[int], verdicts: dict[str, str]
) -> CheckOutcome:
    """Headings at the given places, many in a call. A page without text cannot be checked. Raises ChatError.

    Verdicts of a model that was to be trusted are added to ``verdicts``, for whoever keeps them for the next time.
    """
    right: dict[int, bool] = {}
    shown: list[tuple[int, str]] = []
    sure = True
    for at in places:
        if text := _passage(doc, marks[at]):
            if (held := session.get(_key(session, marks[at], text))) is None:
                shown.append((at, text))
            else:
                right[at], sure = "right" in held, sure and "sure" in held
    asked = answered = false = fooled = 0
    said: dict[int, tuple[str, bool]] = {}
    for start in range(0, len(shown), _PER_CALL):
        if session.scope.spent:
            break
        batch = shown[start : start + _PER_CALL]
        entries: list[tuple[int | None, str, str]] = [(at, marks[at].title, text) for at, text in batch]
        for place, title, text in _false(doc, marks, shown, start):
            entries.insert(place % (len(entries) + 1), (None, title, text))
        listed = "\n\n".join(f"{n}. Title: {title}\n{text}" for n, (_, title, text) in enumerate(entries, 1))
        reply = session.ask("headings-check", Checks, {"entries": listed})
        begins = {one.entry: one.begins for one in reversed(reply.checks)}
        for number, (place_of, _, text) in enumerate(entries, 1):
            if place_of is None:
                false += 1
                fooled += begins.get(number, True)
            elif number in begins:
                said[place_of] = text, begins[number]
        asked += len(entries)
        answered += sum(number in begins for number in range(1, len(entries) + 1))
    trusted = answered >= _ANSWERED * asked and fooled <= _FOOLED * false
    if asked:
        sure = sure and 0 == fooled < false
    for at, (text, begins_there) in said.items():
        right[at] = begins_there
        if trusted:
            words = ("right" if begins_there else "wrong", "sure" if 0 == fooled < false else "")
            verdicts[_key(session, marks[at], text)] = " ".join(words).strip()
    return CheckOutcome(right, trusted, sure and bool(right))


def checked_before(session: Session, doc: DocumentView, marks: Sequence[HeadingMark]) -> frozenset[int]:
    """The places of headings of which a verdict is kept."""
    passages = ((at, mark, _passage(doc, mark)) for at, mark in enumerate(marks))
    return frozenset(at for at, mark, text in passages if text and session.held(_key(session, mark, text)) is not None)


def _key(session: Session, mark: HeadingMark, text: str) -> str:
    return session.key("headings-check", mark.title, text)


def _passage(doc: DocumentView, mark: HeadingMark) -> str:
    page = doc[mark.page]
    if not page.units:
        return ""
    unit = unit_of(page, mark)
    if unit is None:
        unit = next((i for i in range(len(page.units)) if page.offset(i) >= mark.anchor), 0)
    return passage(page, unit)


def _false(
    doc: DocumentView, marks: Sequence[HeadingMark], shown: Sequence[tuple[int, str]], start: int
) -> list[tuple[int, str, str]]:
    """Titles beside passages that do not hold them: (where to put it, title, passage)."""
    made: list[tuple[int, str, str]] = []
    middles = [passage(page, len(page.units) // 2) for page in doc.pages if len(page.units) > _LINES]
    texts = [text for _, text in shown] + middles[:: max(1, len(middles) // _PER_CALL)]
    for i in range(max(len(shown), 4 * _FALSE)):
        title = marks[shown[(start + 7 * i) % len(shown)][0]].title
        text = texts[(start + 11 * i + len(texts) // 2) % len(texts)]
        begins = compact(title)[:_BEGINS]
        if begins and begins not in compact(text):
            made.append((5 * i + 3, title, text))
        if len(made) == _FALSE:
            break
    return made
