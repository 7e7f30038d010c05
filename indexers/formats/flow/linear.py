"""Superscripts, subscripts, struck-out words and equations as plain text: "10^6", "H₂O", "~~void~~", "(x+1)/2"."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from lxml import etree

_ORDINALS = frozenset("st nd rd th er re ère e è o a º ª os as ter bis tm sm ® ™ © mo ma".split())
_ADDRESS = re.compile(r"(?:(?:https?|ftp)://|mailto:)(\S{1,500})", re.I)  # other links lead into the file or its folder
_UNLINKABLE, _UNSAFE = re.compile(r"[\[\]\n]"), re.compile(r"[()<>|\"'\\`]")
_SIMPLE = re.compile(r"[+\-−–]?[\w.,]+|\W")
_DIGITS = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_FRACTION = ("/", "\u2044")
_LOWERED = re.compile(r"[0-9+\-−=()]+")
_Style = TypeVar("_Style", bound=Hashable)


class Piece(NamedTuple):
    """A piece of a line. ``shift`` is 1 for superscript, -1 for subscript, 0 for neither.

    ``link`` is the address to which the piece links, "" for none.
    """

    text: str
    shift: int = 0
    struck: bool = False
    link: str = ""


class Look(NamedTuple):
    """The look of a run: superscript (1) or subscript (-1), struck out, hidden. None is inherited."""

    shift: int | None = None
    struck: bool | None = None
    hidden: bool | None = None

    def over(self, other: Look) -> Look:
        """Return this look, completed by a look that it inherits."""
        return Look(
            other.shift if self.shift is None else self.shift,
            other.struck if self.struck is None else self.struck,
            other.hidden if self.hidden is None else self.hidden,
        )


def linear(pieces: Iterable[Piece]) -> str:
    """Return the pieces of a line as plain text.

    Superscripts, subscripts and struck-out words are marked, and links are written as in Markdown.
    """
    text = ""
    for link, linked in groupby((piece for piece in pieces if piece.text), key=lambda piece: piece.link):
        part = ""
        for struck, group in groupby(linked, key=lambda piece: piece.struck):
            line = ""
            for shift, run in groupby(group, key=lambda piece: piece.shift):
                words = "".join(piece.text for piece in run)
                line += shifted(words, shift, text + part + line) if shift else words
            part += _struck(line) if struck else line
        text += _linked(part, link) if link else part
    return text


def inherited_looks(own: Mapping[_Style, Look], parents: Mapping[_Style, _Style]) -> dict[_Style, Look]:
    """Return the looks of styles, each completed by those of its parents. Both mappings have the same keys.

    Styles that are their own ancestors are read once.
    """
    looks: dict[_Style, Look] = {}
    for name in own:
        look, above, seen = Look(), name, set[_Style]()
        while above in own and above not in seen:
            seen.add(above)
            look = look.over(own[above])
            above = parents[above]
        looks[name] = look
    return looks


def unlinked(pieces: Iterable[Piece]) -> list[Piece]:
    """Return the pieces of a heading, which shows no addresses."""
    return [piece._replace(link="") for piece in pieces]


def _linked(text: str, link: str) -> str:
    """Return words with the address to which they lead. Return only the words if they show it themselves."""
    core = text.strip()
    address = _ADDRESS.fullmatch(link.strip())
    if address is None or not core or _UNLINKABLE.search(core) or address[1].rstrip("/").lower() in core.lower():
        return text
    return text.replace(core, f"[{core}]({_UNSAFE.sub(lambda sign: quote(sign[0]), address[0])})", 1)


def with_readings(text: str, readings: Sequence[str]) -> str:
    """Return a text followed by the readings of its words (ruby), which would tear the words apart in their places."""
    return f"{text} ({'; '.join(readings)})" if readings else text


def shifted(words: str, shift: int, before: str) -> str:
    """Return superscript (1) or subscript (-1) words as plain text that follows the text ``before``."""
    core = words.strip()
    if not core:
        return words
    lead, tail = words[: len(words) - len(words.lstrip())], words[len(words.rstrip()) :]
    if shift < 0 and _LOWERED.fullmatch(core) and before[-1:].isalpha():
        return f"{lead}{core.translate(_DIGITS)}{tail}"
    if shift > 0 and core.lower() in _ORDINALS and (before[-1:].isdigit() or not core.isascii() or len(core) > 1):
        return words
    if shift < 0 and before[-1:] in _FRACTION:
        return words
    if core[0] in "[(" or (not lead and not before.strip()) or before[-1:].isspace():
        return words
    return f"{lead}{'^' if shift > 0 else '_'}{core if _SIMPLE.fullmatch(core) else f'({core})'}{tail}"


def _struck(line: str) -> str:
    core = line.strip()
    return line.replace(core, f"~~{core}~~", 1) if core else line


OMML = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
EQUATION = f"{OMML}oMath"
_DEEPEST = 60
_ATOM = re.compile(r"[+\-−]?[\w.,′'∞]+|\((?:[^()])*\)|")
_SCRIPTS = frozenset("sSup sSub sSubSup f limLow limUpp msup msub msubsup munder mover munderover mfrac".split())
_SKIPPED = frozenset(("annotation", "annotation-xml", "rPr", "ctrlPr", "maligngroup", "malignmark"))


def equation(element: etree._Element) -> str:
    """Return an equation as one line: fractions with "/", powers with "^", indices with "_", rows with ";"."""
    return " ".join(_formula_text(element, 0).split())


def _formula_text(element: etree._Element | None, deep: int) -> str:
    if element is None or not isinstance(element.tag, str):
        return ""
    name = element.tag.rpartition("}")[2]
    if name in _SKIPPED or name.endswith("Pr"):
        return ""
    if deep > _DEEPEST:
        return "".join(map(str, element.itertext()))
    children = [node for node in element if isinstance(node.tag, str)]
    if name in ("t", "mi", "mn", "mo", "mtext", "ms") and not children:
        return element.text or ""
    if element.tag.startswith(OMML):
        return _word(element, name, deep)
    return _math(element, name, children, deep)


def _word(element: etree._Element, name: str, deep: int) -> str:
    def of(child: str) -> str:
        return _formula_text(element.find(f"{OMML}{child}"), deep + 1)

    def value_of(kind: str, usual: str) -> str:
        value = element.find(f"{OMML}{name}Pr/{OMML}{kind}")
        return usual if value is None else value.get(f"{OMML}val") or ""

    if name == "f":
        plain = value_of("type", "bar") == "noBar"
        return f"({of('num')}; {of('den')})" if plain else f"{_atom(of('num'))}/{_atom(of('den'))}"
    if name in ("sSup", "sSub", "sSubSup"):
        return _scripted(of("e"), of("sub"), of("sup"))
    if name == "sPre":
        return f"{_scripted('', of('sub'), of('sup'))} {of('e')}"
    if name == "rad":
        return _root(of("e"), of("deg"))
    if name == "nary":
        return f"{_scripted(value_of('chr', '∫'), of('sub'), of('sup'))} {of('e')}"
    if name == "d":
        inside = value_of("sepChr", "|").join(_formula_text(node, deep + 1) for node in element.findall(f"{OMML}e"))
        return f"{value_of('begChr', '(')}{inside}{value_of('endChr', ')')}"
    if name in ("limLow", "limUpp"):
        return _scripted(of("e"), of("lim") if name == "limLow" else "", of("lim") if name == "limUpp" else "")
    if name == "func":
        return f" {of('fName')} {_atom(of('e'))} "
    if name == "m":
        return _matrix(
            (_formula_text(cell, deep + 1) for cell in row.findall(f"{OMML}e")) for row in element.findall(f"{OMML}mr")
        )
    if name == "eqArr":
        return "; ".join(_formula_text(node, deep + 1) for node in element.findall(f"{OMML}e"))
    if name == "acc":
        return f"{of('e')}{value_of('chr', chr(0x302))}"
    return _join_row([node for node in element if isinstance(node.tag, str)], deep)


def _math(element: etree._Element, name: str, children: list[etree._Element], deep: int) -> str:
    parts = [_formula_text(node, deep + 1) for node in children]
    first, second, third = [*parts, "", "", ""][:3]
    if name == "mfrac":
        return f"{_atom(first)}/{_atom(second)}"
    if name in ("msup", "mover"):
        return _scripted(first, "", second)
    if name in ("msub", "munder"):
        return _scripted(first, second, "")
    if name in ("msubsup", "munderover"):
        return _scripted(first, second, third)
    if name == "msqrt":
        return _root("".join(parts), "")
    if name == "mroot":
        return _root(first, second)
    if name == "mfenced":
        return f"{element.get('open') or '('}{', '.join(parts)}{element.get('close') or ')'}"
    if name == "mtable":
        return _matrix((_formula_text(cell, deep + 2) for cell in row) for row in children)
    return _join_row(children, deep)


def _join_row(children: list[etree._Element], deep: int) -> str:
    """Join the parts of a formula's row.

    Add a space if text after an index, a power or a fraction would look like a part of it.
    """
    line, apart = "", False
    for node in children:
        text = _formula_text(node, deep + 1)
        line += f" {text}" if apart and text[:1].isalnum() else text
        apart = node.tag.rpartition("}")[2] in _SCRIPTS if text else apart
    return line


def _scripted(base: str, below: str, above: str) -> str:
    base = base if len(base) < 2 or not re.search(r"[+\-−=/ ]", base) else _atom(base)
    return base + (f"_{_atom(below)}" if below.strip() else "") + (f"^{_atom(above)}" if above.strip() else "")


def _root(inside: str, degree: str) -> str:
    return f"root({degree.strip()}; {inside})" if degree.strip() else f"√({inside})"


def _matrix(rows: Iterable[Iterable[str]]) -> str:
    return f"[{'; '.join(', '.join(cell.strip() for cell in row) for row in rows)}]"


def _atom(text: str) -> str:
    text = text.strip()
    return text if _ATOM.fullmatch(text) else f"({text})"
