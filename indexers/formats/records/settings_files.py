"""YAML and TOML files as blocks.

They are the unchanged text including comments, in a section for each top-level name.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from hybrid_core.types.notes import NONE, Note
from indexers.formats.decode import read_text
from indexers.formats.flow.blocks import Block, Code, Flow, Heading, Part
from indexers.formats.limits import ParseLimits, plain_reason

_SECTIONS = 2_000
_LONGEST_NAME = 120
_MOST_CHECKED = 5_000_000  # characters up to which it is checked whether a file is valid
_KEY = re.compile(
    r"""("(?:[^"\\\n]|\\.){1,200}"|'[^'\n]{1,200}'|[^\s\#&*!|>'"%@`,\[\]{}?-][^\n\#]{0,200}?)\s*:(?:\s+(.*))?"""
)
_EMPTY = re.compile(r"(?:[&!]\S+\s*)*(?:#.*)?")
_TABLE = re.compile(
    r"\s*\[{1,2}\s*([^\[\]\n]{1,200}?|(?:[^\[\]\n\"]*\"[^\"\n]*\"){1,9}[^\[\]\n\"]*)\s*\]{1,2}\s*(?:#.*)?"
)
_LONG_QUOTES = re.compile(r"\"\"\"|'''")


def read_yaml(path: Path, limits: ParseLimits) -> Flow:
    """Read a YAML file. Nothing in it is executed, and no alias is expanded."""
    text, warnings = _text_of(path, limits)
    if len(text) <= _MOST_CHECKED:
        warnings += filter(None, [_yaml_fault(text)])
    lines = text.split("\n")
    return _flow(lines, list(_yaml_sections(lines)), "yaml", warnings)


def read_toml(path: Path, limits: ParseLimits) -> Flow:
    """Read a TOML file."""
    text, warnings = _text_of(path, limits)
    if len(text) <= _MOST_CHECKED:
        try:
            tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            reason = str(error) if isinstance(error, tomllib.TOMLDecodeError) else plain_reason(error)
            warnings.append(Note("read.no-toml", reason=reason))
    lines = text.split("\n")
    return _flow(lines, list(_toml_sections(lines)), "toml", warnings)


def _text_of(path: Path, limits: ParseLimits) -> tuple[str, list[str]]:
    limits.check_file(path)
    text, warnings = read_text(path)
    return text.removeprefix("\ufeff"), warnings


def _yaml_fault(text: str) -> Note:
    """Return a warning if a text is not valid YAML, an empty note if it is."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for _ in yaml.parse(text, Loader=loader):  # events: nothing is built, so aliases stay small
            pass
    except yaml.MarkedYAMLError as error:
        if error.problem_mark:
            return Note("read.no-yaml-at", line=error.problem_mark.line + 1, reason=str(error.problem))
        return Note("read.no-yaml")
    except (yaml.YAMLError, ValueError, RecursionError):
        return Note("read.no-yaml")
    return NONE


Sections = Sequence[tuple[int, str, int]]  # line (from 0), name, level


def _yaml_sections(lines: Sequence[str]) -> Iterator[tuple[int, str, int]]:
    """Yield (line, name, level 1) for each top-level name that has nested values."""
    for at, line in enumerate(lines):
        if line[:1].isspace() or (match := _KEY.fullmatch(line)) is None:
            continue
        value = match[2] or ""
        below = next(
            (other for other in lines[at + 1 : at + 50] if other.strip() and not other.lstrip().startswith("#")), ""
        )
        nested = below[:1].isspace() or below.startswith("- ")
        if nested and (_EMPTY.fullmatch(value) or value.startswith(("|", ">"))):
            yield at, match[1].strip("\"'"), 1


def _toml_sections(lines: Sequence[str]) -> Iterator[tuple[int, str, int]]:
    """Yield (line, name, level) for each table header of a TOML file, except inside multi-line strings."""
    quotes = ""
    for at, line in enumerate(lines):
        if not quotes and (match := _TABLE.fullmatch(line)) is not None:
            yield at, match[1], 1
        for mark in _LONG_QUOTES.findall(line):
            quotes = "" if quotes == mark else quotes or mark


def _flow(lines: Sequence[str], sections: Sections, language: str, warnings: list[str]) -> Flow:
    if len(sections) > _SECTIONS:
        warnings.append(Note("read.many-groups", groups=_SECTIONS))
    return Flow(iter([Part(list(_blocks(lines, sections[:_SECTIONS], language)))]), {}, warnings)


def _blocks(lines: Sequence[str], sections: Sections, language: str) -> Iterator[Block]:
    """Yield the text in sections: a heading, then its unchanged lines."""
    starts = [0, *(line for line, _, _ in sections), len(lines)]
    for at, (first, end) in enumerate(pairwise(starts)):
        if at:
            yield Heading(sections[at - 1][2], sections[at - 1][1][:_LONGEST_NAME], place=f"line {first + 1}")
        yield from _pieces(lines, first, end, language)


def _pieces(lines: Sequence[str], first: int, end: int, language: str) -> Iterator[Block]:
    """Yield lines as blocks of code, divided at blank lines, so that a page can end there."""
    start = first
    for at in range(first, end + 1):
        if at == end or (not lines[at].strip() and at - start > 20):
            if any(line.strip() for line in lines[start:at]):
                yield Code("\n".join(lines[start:at]), language, place=f"line {start + 1}")
            start = at
