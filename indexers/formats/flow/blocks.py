"""Blocks: the common form of flowing text in reading order, each with its position in the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from hybrid_core.text.commands import PROGRAMS, is_command
from hybrid_core.types.documents import LineRole


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading. ``number`` is its automatic number ("3.1.2"), "" if it has none or the text contains it."""

    level: int  # 1 is the top
    text: str
    number: str = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Item:
    """An entry of a list. ``mark`` is its number or bullet as shown, ``depth`` its nesting from 0."""

    text: str
    mark: str = "-"
    depth: int = 0
    place: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table as rows of cells. With ``header`` the first ``heads`` rows are column headings."""

    rows: tuple[tuple[str, ...], ...]
    header: bool = True
    place: str = ""
    heads: int = 1


@dataclass(frozen=True, slots=True)
class Code:
    """A block of code. ``role`` is its kind; if it is "", the language or the lines decide."""

    text: str
    language: str = ""
    role: LineRole = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture. ``text`` is its alternative text or caption.

    ``image`` is its name for ``Flow.images``, "" if it is not suitable for OCR.
    """

    text: str
    place: str = ""
    image: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """A footnote, a comment or speaker's notes. ``mark`` is its reference sign in the text, or its kind."""

    text: str
    mark: str = ""
    place: str = ""


Block = Heading | Paragraph | Item | Table | Code | Picture | Remark
_LONGEST_AUTHOR = 100  # characters


def comment(text: str, author: str | None, place: str = "", cell: str = "") -> Remark:
    """Return a comment as a remark, whose mark names the cell and the author.

    An author's name at the beginning of the text, as in Excel, is removed.
    """
    name = (author or "").strip()
    if name and text.startswith(f"{name}:"):  # as in Excel
        text = text.removeprefix(f"{name}:").lstrip()
    by = f"by {' '.join(name.split())[:_LONGEST_AUTHOR]}" if name else ""
    return Remark(text, " ".join(filter(None, ("comment", cell, by))), place)


@dataclass(frozen=True, slots=True)
class Part:
    """Blocks that share no page with another part: a slide, rows of a sheet, a message, a chapter's file.

    ``label`` is its name for readers ("slide 3", "Sales!A1:H50"). It is "" if the format has no such names; pages are
    then named by heading numbers or paragraphs. With ``whole`` the part is one page, however long.
    """

    blocks: list[Block]
    label: str = ""
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Flow:
    """The blocks and metadata of a file. ``parts`` can be iterated only once.

    ``printed`` maps the place of a block to the printed number of the page on which it begins. Other blocks are on the
    page of the previous block. ``clauses`` is True if numbered paragraphs ("Article 12", "§ 5") may be headings.
    ``images`` returns the bytes of a picture by its name, also after ``close``; it is None if the format has no
    pictures.
    """

    parts: Iterator[Part]
    metadata: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)  # complete only when all parts are read
    printed: dict[str, str] = field(default_factory=dict)  # complete only when all parts are read
    clauses: bool = False
    close: Callable[[], None] = lambda: None
    images: Callable[[str], bytes] | None = None


_SHELLS = frozenset("bash sh shell zsh fish console terminal shell-session powershell ps1 pwsh bat cmd dos".split())
_CONFIGS = frozenset("yaml yml toml ini cfg conf json jsonc json5 properties env dotenv hcl nginx".split())
_PROSE = frozenset("text txt plain plaintext output log none".split())
_FIGURES = frozenset("mermaid plantuml puml dot graphviz".split())

_MOST = 0.8  # minimum share of lines of the same kind
_SETTING = re.compile(
    r"\s*(?:-\s+)?[\"']?[A-Za-z_][\w. -]*[\"']?\s*(?:=|:(?!:))\s*[^({;]*[,{\[]?\s*|\s*\[[\w. -]+\]\s*"
)
_BRACKETS = re.compile(r"\s*[\]\[{}(),]*\s*")


def code_role(language: str, text: str = "") -> LineRole:
    """Return the role of code from the language in its fence or class; if it is "", from its lines."""
    language = language.strip("{}.").lower()
    if language in _SHELLS:
        return "command"
    if language in _CONFIGS:
        return "config"
    if language in _FIGURES:
        return "image"
    if language in _PROSE:
        return "plain"
    return "code" if language else _told_by_lines(text)


def _told_by_lines(text: str) -> LineRole:
    lines = [line for line in text.split("\n") if line.strip() and not line.lstrip().startswith(("#", "//"))]
    worded = [line for line in lines if not _BRACKETS.fullmatch(line)]
    commands = sum(map(_is_command, lines))
    if commands and (commands >= _MOST * len(lines) or is_command(lines[0], listing=True)):
        return "command"
    settings = sum(_SETTING.fullmatch(line) is not None for line in worded)
    return "config" if settings >= 2 and settings >= _MOST * len(worded) else "code"


def _is_command(line: str) -> bool:
    words = line.split(maxsplit=2)
    return is_command(line, listing=True) or (words[0] in PROGRAMS and not (len(words) > 1 and words[1] in "=:"))
