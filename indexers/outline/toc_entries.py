"""Rows of printed contents put together into entries."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from indexers.outline.numbering import PARTS, Numbering, compact, numbering
from indexers.outline.toc_rows import TocRow

_OPEN_END = re.compile(r"(?:\b(?:of|in|the|and|to|with|under|for|by|on|or|from|a|an|against|between|vs\.?)|[,–—-])$")


@dataclass(frozen=True, slots=True)
class TocEntry:
    """One entry: its first row, its label, and how its title may read, best first (which one the body tells)."""

    row: TocRow
    label: str
    titles: tuple[str, ...]


def entries(rows: Sequence[TocRow], *, labelled: bool) -> list[TocEntry]:
    """Rows put together into entries: a title may wrap before or after its label, an author may stand between.

    Where rows are not ``labelled`` (contents without page numbers), each is an entry.
    """
    out: list[TocEntry] = []
    held: list[TocRow] = []
    last_integer = 0
    for row in rows:
        if not (row.title or row.label):
            continue
        number = numbering(row.title)
        integer = number is not None and number.kind.startswith("integer")
        begins = _begins(row, number, last_integer) and not (held and _OPEN_END.search(held[-1].title))
        if integer and begins and number is not None:
            last_integer = number.value[0]
        if held and (begins or not (_near(held[-1], row) or _goes_on(held[-1], row, number))):
            out += _alone(held)
            held = []
        if not row.label and labelled:
            last = out[-1] if out and not held else None
            if (
                last
                and last.label
                and not begins
                and _near(last.row, row)
                and _set_alike(last.row, row)
                and row.x0 > last.row.x0 - 3
            ):
                out[-1] = TocEntry(
                    replace(last.row, y1=row.y1), last.label, (f"{last.titles[0]} {row.title}", *last.titles)
                )
            held.append(row)
            continue
        before = len(held)
        while before and _like(held[before - 1], row):
            before -= 1
        wrapped = [*held[before:], row]
        titles = [_join(wrapped)]
        if len(wrapped) > 1 and not _set_alike(wrapped[-2], row):
            titles.append(_join(wrapped[:-1]))
        first = wrapped[0]
        if before:
            others = held[:before]
            opening = numbering(others[0].title)
            if opening and opening.kind in PARTS and len(others[0].title) <= opening.end + 1:
                titles, first = [_join([*others, *wrapped])], others[0]
            else:
                titles = [_join([*others, *wrapped]), *titles, _join(others)]
                out += _alone(others)
        out.append(TocEntry(replace(first, y1=row.y1), row.label, tuple(titles)))
        held = []
    out += _alone(held)
    return [entry for entry in out if compact(entry.titles[0])]


def _alone(held: list[TocRow]) -> list[TocEntry]:
    """Rows without a label as entries of their own, wrapped ones put together."""
    out: list[TocEntry] = []
    at = 0
    while at < len(held):
        end = at + 1
        while end < len(held) and _set_alike(held[end - 1], held[end]):
            end += 1
        titles = (_join(held[at:end]), held[at].title) if end > at + 1 else (held[at].title,)
        out.append(TocEntry(held[at], "", titles))
        at = end
    return out


def _join(rows: list[TocRow]) -> str:
    return " ".join(row.title for row in rows).strip()


def _near(above: TocRow, row: TocRow) -> bool:
    return row.page == above.page and row.y0 - above.y1 < 0.6 * max(above.size, 8)


def _goes_on(above: TocRow, row: TocRow, number: Numbering | None) -> bool:
    """Whether a row set at a distance still ends a numbered title that has no label yet."""
    opening = numbering(above.title)
    if number is not None or opening is None or opening.kind in PARTS or opening.end >= len(above.title):
        return False
    return row.page == above.page and row.y0 - above.y1 < 1.5 * max(above.size, 8) and _set_alike(above, row)


def _set_alike(above: TocRow, row: TocRow) -> bool:
    return abs(row.size - above.size) < 0.6 and row.font == above.font


def _like(above: TocRow, row: TocRow) -> bool:
    """Whether a row may continue the one above it."""
    same = abs(row.size - above.size) < 0.6 and (row.font == above.font or row.x0 > above.x0 + 3)
    return same and row.x0 > above.x0 - 3


def _begins(row: TocRow, number: Numbering | None, last_integer: int) -> bool:
    """Whether a row's numbering shows that it is no continuation of the row above."""
    if number is None:
        return False
    if number.kind.startswith("integer") and row.title[: number.end].strip().isdigit():
        return number.value[0] in (1, last_integer + 1)
    return True
