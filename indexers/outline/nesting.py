"""Levels of headings: the parent of each is found by bookmarks or contents, by numbering, or by look."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import pairwise

from indexers.outline.candidates import PossibleHeading
from indexers.outline.numbering import ATTACHED, PARTS, RANKS, STRONG, Numbering, as_letter, compact, numbering

Kind = tuple[str, float, int, str]
Over = Counter[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class FlatHeading:
    """A heading whose final level is not decided yet.

    ``level`` is from bookmarks or contents, 0 if from layout alone.
    """

    title: str
    level: int
    look: PossibleHeading | None
    flat: bool = False  # alone at the top (the document's title), without headings below it


@dataclass(slots=True)
class _Open:
    item: FlatHeading
    number: Numbering | None
    level: int
    stacked: int = 0  # number of headings with the same look directly below it, without text between
    again: bool = False  # its title is repeated in its section, so it is below others of its look


def levels(items: list[FlatHeading]) -> list[int]:
    """Return the final level (from 1) of each heading in reading order.

    Levels from bookmarks or contents stay as they are.
    """
    items = _under_parts(items)
    ranks = _usual_levels(items)
    larger = _count_larger(items)
    stacked, again = _stacked(items), _again(items)
    stack: list[_Open] = []
    out: list[int] = []
    for at, item in enumerate(items):
        if item.flat:
            stack.clear()
            out.append(1)
            continue
        number = _number(item, stack)
        if item.level:
            level = max(item.level, _nested(number, stack))
            while stack and stack[-1].level >= level:
                stack.pop()
        elif at and stacked[at - 1] and stack:
            level = stack[-1].level + 1
        else:
            level = _nest_heading(_Open(item, number, 0, stacked[at], again[at]), stack, ranks, larger)
        stack.append(_Open(item, number, level, stacked[at], again[at]))
        out.append(level)
    return out


def _under_parts(items: list[FlatHeading]) -> list[FlatHeading]:
    """Lower headings from bookmarks or contents below "Part" headings that only the layout shows."""
    parts = []
    for i, item in enumerate(items):
        number = item.look.number if item.look else numbering(item.title)
        if number is not None and number.kind in PARTS:
            if item.level:
                return items
            parts.append((i, number.value))
    values = [value for _, value in parts]
    if len(parts) < 2 or values[0] != (1,) or values != sorted(set(values)) or not any(item.level for item in items):
        return items
    out = list(items)
    for i in range(parts[0][0], len(items)):
        if items[i].level:
            out[i] = replace(items[i], level=items[i].level + 1)
    for i, _ in parts:
        out[i] = replace(items[i], level=1)
    return out


def _heading_kind(item: FlatHeading) -> Kind | None:
    c = item.look
    return (c.number.kind if c.number else "", *c.style) if c else None


def _usual_levels(items: list[FlatHeading]) -> dict[Kind, int]:
    """Return ``{kind of heading: level}`` for kinds that bookmarks or contents nearly always put at the same level."""
    seen: defaultdict[Kind, Counter[int]] = defaultdict(Counter)
    others: Counter[Kind] = Counter()
    for item in items:
        kind = _heading_kind(item)
        if kind is not None and item.level:
            seen[kind][item.level] += 1
        elif kind is not None:
            others[kind] += 1
    out = {}
    for kind, counted in seen.items():
        level, count = counted.most_common(1)[0]
        if count >= 2 and count >= 0.7 * counted.total() and 3 * count >= others[kind]:
            out[kind] = level
    return out


def _count_larger(items: list[FlatHeading]) -> Over:
    """Count how often headings of two different font styles and the same size are directly above each other.

    The style of the upper heading then has the higher rank.
    """
    larger: Over = Counter()
    for item, after in pairwise(items):
        a, b = item.look, after.look
        if a and b and _adjoin(item, after) and abs(a.rise - b.rise) <= 0.03 and a.style[1] != b.style[1]:
            larger[a.style[1], b.style[1]] += 1
    return larger


def _stacked(items: list[FlatHeading]) -> list[int]:
    """Return for each heading how many headings of the same style follow directly below it, without text between.

    A heading without text contains the headings that follow. Lines of the document's title and names repeated above
    headings do not count.
    """
    out = [0] * len(items)
    for at in range(len(items) - 2, -1, -1):
        a, b = items[at].look, items[at + 1].look
        if a is None or b is None or items[at].flat or items[at + 1].level or a.number or b.number:
            continue
        if _adjoin(items[at], items[at + 1]) and a.style == b.style:
            out[at] = out[at + 1] + 1
    names = Counter(compact(item.title) for item, count in zip(items, out, strict=True) if count)
    title = next((at for at, pair in enumerate(pairwise(items)) if not _adjoin(*pair)), 0)
    return [0 if at < title or names[compact(item.title)] > 1 else out[at] for at, item in enumerate(items)]


def _adjoin(item: FlatHeading, after: FlatHeading) -> bool:
    a, b = item.look, after.look
    return a is not None and b is not None and a.page == b.page and a.last + 1 == b.unit


def _again(items: list[FlatHeading]) -> list[bool]:
    """Return for each heading whether its title occurs several times in its part of the document.

    Parts begin at headings from bookmarks or contents, and at clearly numbered headings.
    """
    out, scope = [False] * len(items), 0
    for at in range(len(items) + 1):
        if at == len(items) or _opens(items[at]):
            titles = [(compact(item.title), _heading_kind(item)) for item in items[scope:at]]
            if at > scope and _opens(items[scope]):
                count = Counter(titles)
                out[scope:at] = [count[title] > 1 for title in titles]
            scope = at
    return out


def _opens(item: FlatHeading) -> bool:
    return bool(item.level) or _is_strong(item.look.number if item.look else None)


def _is_strong(number: Numbering | None) -> bool:
    return number is not None and number.kind in STRONG


def _number(item: FlatHeading, stack: list[_Open]) -> Numbering | None:
    letter = as_letter(item.title)
    if letter is not None:
        for node in reversed(stack):
            if node.number and node.number.kind == letter.kind and node.number.value[0] == letter.value[0] - 1:
                return letter
    return item.look.number if item.look else numbering(item.title)


def _nest_heading(new: _Open, stack: list[_Open], ranks: dict[Kind, int], larger: Over) -> int:
    """Return the level of a new heading, and remove the open headings that do not contain it from ``stack``."""
    item, number, c = new.item, new.number, new.item.look
    if number is not None and number.kind == "exhibit":  # another document, attached to this one
        stack.clear()
        return 1
    if number is not None:
        for at in range(len(stack) - 1, -1, -1):
            other = stack[at].number
            if other is None or not (number.kind in RANKS or _alike(c, stack[at].item.look)):
                continue
            if other.kind == number.kind:
                if len(other.value) == len(number.value) and (number.value >= other.value or not _first(number)):
                    return _close_to(stack, stack[at].level)
            elif other.kind in RANKS and number.kind in RANKS:
                if RANKS[number.kind] > RANKS[other.kind]:
                    del stack[at + 1 :]
                    return stack[at].level + 1
            elif _deeper(number, other):
                del stack[at + 1 :]
                return stack[at].level + 1
        if holder := _holder(number, stack):
            return _close_to(stack, holder + 1)
        outranked = [at for at, node in enumerate(stack) if node.number and node.number.kind in RANKS]
        if number.kind in RANKS and outranked:
            del stack[outranked[0] :]
    kind = _heading_kind(item)
    if number is None and c is not None and c.named:  # a page of its own: below listed headings, items and notes
        return _close_to(stack, 1 + max((node.level for node in stack if _holds_pages(node)), default=0))
    if number is None and (sibling := _sibling(new, stack)):
        return _close_to(stack, sibling)
    if kind is not None and kind in ranks:
        while stack and stack[-1].level >= ranks[kind]:
            top = stack[-1].item
            if top.level and top.look and c and top.look.rise > c.rise + 0.15:
                return stack[-1].level + 1
            if not top.level and stack[-1].level > ranks[kind] and _belongs_inside(item, stack[-1]):
                return stack[-1].level + 1
            stack.pop()
        return ranks[kind]
    first = number is not None and _first(number) and number.kind not in ATTACHED
    while stack and not (
        _belongs_inside(item, stack[-1])
        or _below(c, stack[-1].item.look, first and stack[-1].number is not None, larger)
    ):
        stack.pop()
    return stack[-1].level + 1 if stack else 1


def _sibling(new: _Open, stack: list[_Open]) -> int:
    """Return the level of an open heading that looks the same as a new heading, 0 if there is none.

    Open headings are compared from the last one back to a heading of the contents, a chapter or a note. The nearest one
    with as many headings stacked below it is taken. If there is none, it is the highest one with fewer stacked
    headings.
    """
    kind, fewer = _heading_kind(new.item), 0
    for node in reversed(stack):
        if node.item.level or (node.number and node.number.kind in STRONG):
            break
        if kind is not None and node.number is None and _heading_kind(node.item) == kind:
            if new.again and not node.again and not fewer:
                return node.level + 1
            if (node.stacked, node.again) == (new.stacked, new.again):
                return node.level
            if node.stacked <= new.stacked:
                fewer = node.level
    return fewer


def _holds_pages(node: _Open) -> bool:
    plural = node.item.title.split(" ", 1)[0].lower()
    return bool(node.item.level) or _is_strong(node.number) or plural.removesuffix("s") in STRONG


def _nested(number: Numbering | None, stack: list[_Open]) -> int:
    """Return the lowest level for a number such as 2.1.3 if a heading 2.1 is open, 0 if none is open.

    It is needed if bookmarks and contents do not list 2.1.
    """
    for node in reversed(stack):
        if number and node.number and "decimal" in number.kind and _deeper(number, node.number):
            return node.level + 1
    return 0


def _holder(number: Numbering, stack: list[_Open]) -> int:
    """Return the level of an open heading that names the kind of a new heading in the plural, 0 if there is none.

    For a note, this may be "Notes to Financial Statements".
    """
    if number.kind in STRONG:
        for node in reversed(stack):
            if node.item.title.lower().startswith(f"{number.kind}s "):
                return node.level
    return 0


def _belongs_inside(item: FlatHeading, top: _Open) -> bool:
    """Return whether the last open heading ``top`` contains a heading, because it is a part, chapter, item or note.

    Such headings contain every heading without such a number, unless it is clearly larger.
    """
    strong = top.number is not None and top.number.kind in STRONG
    mine = item.look.number if item.look else None
    if not strong or (mine and mine.kind in STRONG):
        return False
    if item.look is None or top.item.look is None:
        return True
    return item.look.rise <= top.item.look.rise + 0.15 and _weight(item.look) <= _weight(top.item.look)


def _close_to(stack: list[_Open], level: int) -> int:
    while stack and stack[-1].level >= level:
        stack.pop()
    return level


def _first(number: Numbering) -> bool:
    return number.value[-1] == 1


def _deeper(number: Numbering, other: Numbering) -> bool:
    """Return whether a number is directly below another, as 2.1.3 is below 2.1. Lists such as (c) hold no sections."""
    if other.kind.startswith("bracket"):
        return False
    return len(number.value) == len(other.value) + 1 and number.value[:-1] == other.value and number.value[0] > 0


def _alike(c: PossibleHeading | None, other: PossibleHeading | None) -> bool:
    return c is None or other is None or abs(c.size - other.size) <= 0.12 * max(c.size, other.size)


def _below(c: PossibleHeading | None, top: PossibleHeading | None, first: bool, larger: Over) -> bool:
    """Return whether the look of a heading shows that it belongs below the last open heading ``top``.

    ``first`` is True if it begins a new numbering.
    """
    if c is None or top is None:
        return True
    if abs(c.rise - top.rise) > 0.03:
        return c.rise < top.rise
    mine, its = _weight(c), _weight(top)
    if mine == its:
        return first
    balance = larger[top.style[1], c.style[1]] - larger[c.style[1], top.style[1]]
    return balance > 0 if abs(balance) > 1 else mine < its


def _weight(c: PossibleHeading) -> int:
    """Return the rank of a heading's font style: bold, then capitals, then upright, then italic."""
    look = c.style[1]
    return 4 * bool(look & 4) + 2 * bool(look & 2) - (look & 1)
