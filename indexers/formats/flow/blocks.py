"""Blocks: the common form of flowing text, in reading order, each with its position in the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from hybrid_core.text.commands import PROGRAMS, is_command
from hybrid_core.types.documents import LineRole


@dataclass(frozen=True, slots=True)
class Heading:
    """``number`` is the one the file counts for it ("3.1.2"), "" where it has none or writes it in the text."""

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
    """An entry of a list; ``mark`` is its number or bullet as shown, ``depth`` from 0."""

    text: str
    mark: str = "-"
    depth: int = 0
    place: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Cells row by row; ``header``: the first row names the columns, or the first ``heads`` rows together."""

    rows: tuple[tuple[str, ...], ...]
    header: bool = True
    place: str = ""
    heads: int = 1


@dataclass(frozen=True, slots=True)
class Code:
    """``role`` is what it is for; "": its language or its lines tell."""

    text: str
    language: str = ""
    role: LineRole = ""
    place: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """``text`` is its alternative text or caption; ``image`` names the picture itself to ``Flow.images``, "" where it
    is none that OCR can read.
    """

    text: str
    place: str = ""
    image: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A footnote, a comment, a speaker's note; ``mark`` is how the text refers to it, or what it is."""

    text: str
    mark: str = ""
    place: str = ""


Block = Heading | Paragraph | Item | Table | Code | Picture | Note


@dataclass(frozen=True, slots=True)
class Part:
    """Blocks that no page shares with another part: a slide, rows of a sheet, a message, a chapter's file.

    ``label`` names it to a reader ("slide 3", "Sales!A1:H50"), "" where the format has no such name: then pages are
    named by their headings' numbers or their paragraphs. ``whole``: it is one page however long.
    """

    blocks: list[Block]
    label: str = ""
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Flow:
    """The blocks and metadata of a file. ``parts`` can be iterated once.

    ``printed``: the page's number as printed where a block begins, by its place; a block without one is on the page of
    the one before it. ``clauses``: numbered paragraphs ("Article 12", "§ 5") may be its headings. ``images`` gives the
    bytes of a picture by its name, also after ``close``; None where the format has none.
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

_MOST = 0.8  # share of the lines that must look alike
_SETTING = re.compile(
    r"\s*(?:-\s+)?[\"']?[A-Za-z_][\w. -]*[\"']?\s*(?:=|:(?!:))\s*[^({;]*[,{\[]?\s*|\s*\[[\w. -]+\]\s*"
)
_BRACKETS = re.compile(r"\s*[\]\[{}(),]*\s*")


def code_role(language: str, text: str = "") -> LineRole:
    """Return the role of code by its language, as a fence or a class names it; "": by its lines."""
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
