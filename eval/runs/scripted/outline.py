"""What a scripted model reads off the outline of a question: documents, sections, pages, and the pages it has read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_DOCUMENT = re.compile(r"^(D\d+) · (.+?) · ")
_SECTION = re.compile(r"^\s*(?:\d+\. )?((D\d+)\.\d+) .*? · pages? (\d+)(?:-(\d+))?(?= ·|$)(.*)")
_PAGE = re.compile(r"^\s*page (\d+)(?: · |$)")
_INLINE = re.compile(r"((D\d+)\.\d+) [^|]*? \((\d+)(?:-(\d+))?(?:, (\d+) parts)?\)(?= \||$| · \[)")
_HOLDS = re.compile(r"^(D\d+)(\.\d+)?(?: .*·)? holds:$")
_READ = re.compile(r"^(D\d+) page (\d+):$", re.MULTILINE)
_PASSAGE = re.compile(r"^(D\d+) page (\d+), a passage: ", re.MULTILINE)
_DATA = r":\n<<<data (\w+)>>>\n(.*?)\n<<<end \1>>>"
_READ_BEFORE = re.compile(r"^Read before this round: (.*)$", re.MULTILINE)
_ONE = re.compile(r"(D\d+) page (\d+)")


@dataclass(frozen=True, slots=True)
class ShownSection:
    """``more``: it has parts that are not shown."""

    name: str
    document: str
    pages: range
    more: bool


@dataclass(slots=True)
class ShownOutline:
    """``pages`` are (document, page) with a line of their own, ``read`` those whose text was shown, ``passages`` those
    of which a passage was.
    """

    names: dict[str, str] = field(default_factory=dict)
    sections: dict[str, ShownSection] = field(default_factory=dict)
    pages: set[tuple[str, int]] = field(default_factory=set)
    opened: set[str] = field(default_factory=set)
    read: set[tuple[str, int]] = field(default_factory=set)
    passages: set[tuple[str, int]] = field(default_factory=set)

    def way_to(self, document: str, page: int) -> str:
        """What to open in order to see a page, "" where it is seen."""
        if (document, page) in self.pages | self.read | self.passages:
            return ""
        around = [one for one in self.sections.values() if one.document == document and page in one.pages]
        if not around:
            return document
        deepest = min(around, key=lambda one: len(one.pages))
        return deepest.name if deepest.more else ""


def shown_in(prompt: str) -> ShownOutline:
    """Return what the outline and the passages of a prompt show."""
    return shown_outline(data_of(prompt, "Outline"), data_of(prompt, "opened and read so far"))


def shown_outline(outline: str, seen: str) -> ShownOutline:
    """Of the outline, and of what was opened and read so far; a section that is shown twice counts by the last line."""
    found = ShownOutline()
    document = ""
    for line in f"{outline}\n{seen}".split("\n"):
        if held := _HOLDS.match(line):
            document = held[1]
            found.opened.add(held[1] + (held[2] or ""))
            if section := _SECTION.match(line):
                name, of, first, last, _ = section.groups()
                found.sections[name] = ShownSection(name, of, _range(first, last), False)
        elif said := _DOCUMENT.match(line):
            document = said[1]
            found.names[said[1]] = said[2]
        elif section := _SECTION.match(line):
            name, of, first, last, rest = section.groups()
            found.sections[name] = ShownSection(name, of, _range(first, last), "not shown" in rest)
        elif page := _PAGE.match(line):
            found.pages.add((document, int(page[1])))
        for name, of, first, last, parts in _INLINE.findall(line):
            found.sections.setdefault(name, ShownSection(name, of, _range(first, last), bool(parts)))
    for name in found.opened & found.sections.keys():
        held_one = found.sections[name]
        found.sections[name] = ShownSection(name, held_one.document, held_one.pages, False)
    found.passages = {(of, int(number)) for of, number in _PASSAGE.findall(seen)}
    found.read = {(of, int(number)) for of, number in _READ.findall(seen)}
    for before in _READ_BEFORE.findall(seen):
        found.read |= {(of, int(number)) for of, number in _ONE.findall(before)}
    return found


def data_of(prompt: str, name: str) -> str:
    """Return the block of data that stands in a prompt under a name, "" where there is none."""
    block = re.search(name + _DATA, prompt, re.DOTALL)
    return block[2] if block else ""


def _range(first: str, last: str) -> range:
    return range(int(first), int(last or first) + 1)
