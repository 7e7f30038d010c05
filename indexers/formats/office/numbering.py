"""Word's list numbers: the file holds counters and patterns, the reader of the page sees «3.1.2»."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lxml import etree

from indexers.formats.office.ooxml import W

_LEVELS = 9
_PLACE = re.compile(r"%([1-9])")
_HAN = "〇一二三四五六七八九"
_BULLETS = frozenset(("bullet", "none"))


@dataclass(frozen=True, slots=True)
class _Level:
    kind: str = "decimal"
    pattern: str = ""
    start: int = 1
    legal: bool = False
    restart: int | None = None  # the level (from 0) above which a new number begins this one anew; None: any above


@dataclass(slots=True)
class Numbering:
    """Counts as the paragraphs come. ``styles``: (list, level) of a paragraph style that is linked to a level."""

    styles: dict[str, tuple[str, int]] = field(default_factory=dict)
    _levels: dict[str, list[_Level]] = field(default_factory=dict)  # by list
    _abstract: dict[str, str] = field(default_factory=dict)  # lists with one abstract list count together
    _counts: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0] * _LEVELS))
    _begun: set[tuple[str, int]] = field(default_factory=set)
    _overrides: dict[str, dict[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, roots: Sequence[etree._Element]) -> Numbering:
        """Of the numbering part of a document, if it has one."""
        found = cls()
        abstracts: dict[str, dict[int, _Level]] = {}
        linked: dict[str, str] = {}
        for abstract in _all(roots, f"{W}abstractNum"):
            name = abstract.get(f"{W}abstractNumId", "")
            abstracts[name] = dict(map(_level, abstract.iter(f"{W}lvl")))
            for level in abstract.iter(f"{W}lvl"):
                if (style := _value(level, "pStyle")) is not None:
                    linked.setdefault(style, f"{name}/{level.get(f'{W}ilvl', '0')}")
        for number in _all(roots, f"{W}num"):
            name, abstract_id = number.get(f"{W}numId", ""), _value(number, "abstractNumId") or ""
            levels = dict(abstracts.get(abstract_id, {}))
            for override in number.iter(f"{W}lvlOverride"):
                at = _int(override.get(f"{W}ilvl"))
                for level in override.iter(f"{W}lvl"):
                    levels[at] = _level(level)[1]
                if (start := _value(override, "startOverride")) is not None:
                    found._overrides.setdefault(name, {})[at] = _int(start)
            found._levels[name] = [levels.get(at, _Level()) for at in range(_LEVELS)] if levels else []
            found._abstract[name] = abstract_id
            for style, where in linked.items():
                if where.partition("/")[0] == abstract_id:
                    found.styles.setdefault(style, (name, _int(where.partition("/")[2])))
        return found

    def next(self, name: str, level: int) -> str:
        """The mark of the next paragraph of a list: its number as shown, «-» for a bullet, "" where it has none."""
        levels = self._levels.get(name)
        if not levels or not 0 <= level < _LEVELS:
            return ""
        counts, (abstract, how) = self._counts[self._abstract[name]], (self._abstract[name], levels[level])
        if (override := self._overrides.get(name, {}).pop(level, None)) is not None:
            counts[level] = override
        elif (abstract, level) not in self._begun:
            counts[level] = how.start
        else:
            counts[level] += 1
        self._begun.add((abstract, level))
        for below in range(level + 1, _LEVELS):
            restart = levels[below].restart
            if restart is None or level < restart:
                self._begun.discard((abstract, below))
        for above in range(level):
            if (abstract, above) not in self._begun:
                counts[above] = levels[above].start
                self._begun.add((abstract, above))
        if how.kind == "bullet":
            return "-"
        if how.kind == "none" and not _PLACE.search(how.pattern):
            return how.pattern.strip()
        return _PLACE.sub(
            lambda m: written(counts[int(m[1]) - 1], "decimal" if how.legal else levels[int(m[1]) - 1].kind),
            how.pattern,
        ).strip()  # fmt: skip


def written(number: int, kind: str) -> str:
    """A number as Word's format of that name shows it."""
    if kind in ("lowerLetter", "upperLetter"):
        letter = chr(ord("a") + (number - 1) % 26) * min(((number - 1) // 26 + 1), 30) if number > 0 else ""
        return letter.upper() if kind == "upperLetter" else letter
    if kind in ("lowerRoman", "upperRoman"):
        said = _roman(number)
        return said.lower() if kind == "lowerRoman" else said
    if kind == "decimalZero":
        return f"{number:02}"
    if kind.startswith(("chinese", "ideograph", "japanese", "taiwanese")) and 0 < number < 100:
        return _han(number)
    return "" if kind in _BULLETS else str(number)


def _roman(number: int) -> str:
    if not 0 < number < 4000:
        return str(number)
    said = ""
    for value, letters in (
        (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
        (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
    ):  # fmt: skip
        said += letters * (number // value)
        number %= value
    return said


def _han(number: int) -> str:
    tens, ones = divmod(number, 10)
    return ("" if not tens else "十" if tens == 1 else f"{_HAN[tens]}十") + (_HAN[ones] if ones else "")


def _level(level: etree._Element) -> tuple[int, _Level]:
    kind = _value(level, "numFmt") or next(  # a custom format stands in an alternative
        (one.get(f"{W}val", "") for one in level.iter(f"{W}numFmt")), "decimal"
    )
    restart = _value(level, "lvlRestart")
    return _int(level.get(f"{W}ilvl")), _Level(
        kind,
        _value(level, "lvlText") or "",
        _int(_value(level, "start"), 1),
        level.find(f"{W}isLgl") is not None,
        _int(restart) if restart is not None else None,
    )


def _all(roots: Sequence[etree._Element], tag: str) -> Iterator[etree._Element]:
    for root in roots:
        yield from root.iter(tag)


def _value(element: etree._Element, name: str) -> str | None:
    found = element.find(f"{W}{name}")
    return None if found is None else found.get(f"{W}val")


def _int(said: str | None, default: int = 0) -> int:
    try:
        return int(said or default)
    except ValueError:
        return default
