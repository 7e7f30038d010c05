"""Equations in RTF as linear text. Their groups have the names of Word's elements: "mf" is a fraction."""

from __future__ import annotations

import re

from lxml import etree

from indexers.formats.flow.linear import OMML, equation

_BEGIN = re.compile(r"\{\s?(?:\\\*)?\\m(?:math(?:Para)?|oMath(?:Para)?)(?![a-zA-Z])")
_TOKEN = re.compile(
    r"\\u(-?\d{1,6}) ?|\\([a-zA-Z]{1,32})(?:-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([^\\])", re.S
)
_DEEPEST, _MOST = 200, 5_000
_PICTURE = "mathPict"
_VALUES = frozenset("chr begChr endChr sepChr type".split())  # properties whose value is text


def with_equations(source: str) -> str:
    """Return an RTF source with its equations as text, since the library that reads RTF ignores equations."""
    parts: list[str] = []
    at = 0
    for begin in _BEGIN.finditer(source):
        if begin.start() < at or len(parts) > 2 * _MOST:
            continue
        root, end = _read_group(source, begin.start())
        parts += (source[at : begin.start()], f"{{{_escaped(equation(root))}}}")
        at = end
    return "".join((*parts, source[at:])) if parts else source


def _read_group(source: str, start: int) -> tuple[etree._Element, int]:
    """Return the RTF group at an offset as an element of Word's equation markup, and the offset after it."""
    root = etree.Element(f"{OMML}oMath")
    open_groups: list[etree._Element] = []
    at, skip, named = start, 0, True
    while (token := _TOKEN.match(source, at)) is not None:
        at = token.end()
        code, word, byte, sign, letter = token.groups()
        if letter == "{":
            parent = open_groups[-1] if open_groups else root
            open_groups.append(etree.SubElement(parent, f"{OMML}box") if len(open_groups) < _DEEPEST else parent)
            named = False
        elif letter == "}":
            open_groups.pop()
            if not open_groups:
                break
        elif word is not None:
            if not named and word.startswith("m") and len(word) > 1:
                open_groups[-1].tag = f"{OMML}{word[1:]}"
            named = named or word != "*"
        elif sign == "*":
            continue
        elif code is not None:
            skip = 1
            _add(open_groups[-1], chr(int(code) % 0x10000))
        elif skip:
            skip -= 1
        elif byte is not None:
            _add(open_groups[-1], bytes.fromhex(byte).decode("cp1252", "replace"))
        elif (text := sign or letter or "") not in "\r\n":
            _add(open_groups[-1], text)
    return root, at


def _add(group: etree._Element, text: str) -> None:
    """Add text to the element of a group: to a run as words, to a property as its value.

    Text inside pictures of equations is binary data and is ignored.
    """
    if any(etree.QName(above).localname == _PICTURE for above in group.iterancestors()):
        return
    name = etree.QName(group).localname
    if name in _VALUES:
        group.set(f"{OMML}val", (group.get(f"{OMML}val") or "") + text)
    elif name in ("r", "box"):
        last = group[-1] if len(group) and group[-1].tag == f"{OMML}t" else etree.SubElement(group, f"{OMML}t")
        last.text = (last.text or "") + text


def _escaped(text: str) -> str:
    codes = text.encode("utf-16-le", "surrogatepass")
    units = (int.from_bytes(codes[at : at + 2], "little") for at in range(0, len(codes), 2))
    return "".join(
        chr(unit) if 32 <= unit < 127 and chr(unit) not in "\\{}" else f"\\u{unit - 0x10000 * (unit > 0x7FFF)}?"
        for unit in units
    )
