"""Read the values of JSON files, including those that a strict parser refuses.

It accepts comments, truncated files and deep nesting.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hybrid_core.errors import BrokenFileError
from hybrid_core.types.notes import NONE, Note

DEEPEST = 60
_TOKEN = re.compile(
    r"""(?P<gap>\s+|//[^\n]*|/\*.*?(?:\*/|\Z)|\#[^\n]*)|(?P<text>"(?:[^"\\]|\\.)*+(?P<end>"?)|'(?:[^'\\\n]|\\.)*+'?)"""
    r"""|(?P<sign>[\[\]{}:,])|(?P<word>[^\s\[\]{}:,"'\#/]+|.)""",
    re.S,
)
_NUMBER = re.compile(r"-?(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|Infinity|NaN)")
_LITERALS = {"true": True, "false": False, "null": None}


class Number(str):
    """A number in its original spelling."""

    __slots__ = ()


class Object(list[tuple[str, Any]]):
    """A JSON object as a list of (name, value), since a name may occur twice."""


@dataclass(slots=True)
class Scan:
    """The result of a tolerant scan. ``line`` is the first line that is not strict JSON, 0 if there is none.

    ``cut`` is True if the text is truncated, ``deep`` if it is nested too deeply to be read as a whole.
    """

    values: list[Any] = field(default_factory=list)
    line: int = 0
    cut: bool = False
    deep: bool = False


def scan_values(text: str) -> Scan:
    """Read as many JSON values as possible from a text. If it does not begin like JSON, there are none."""
    scan = Scan()
    stack: list[list[Any]] = []  # containers that are open
    keys: list[str | None] = []  # of objects among them, the name whose value comes next
    extra, wrong, first = 0, 0, True
    for token in _TOKEN.finditer(text):
        if token["gap"] is not None:
            if token["gap"].strip():
                scan.line = scan.line or 1 + text.count("\n", 0, token.start())
            continue
        sign = token["sign"]
        value: Any = None
        if sign in ("[", "{"):
            extra += len(stack) >= DEEPEST
            scan.deep = scan.deep or extra > 0
            if extra > 1:
                continue
            value = Object() if sign == "{" and not extra else []  # the last list takes all that lies deeper
        elif sign in ("]", "}"):
            extra = max(0, extra - 1)
            if stack and not extra:
                _close(stack, keys)
            continue
        elif sign is not None:
            if first:
                return scan
            if sign == ":" and stack and keys[-1] is None and not extra and isinstance(stack[-1], Object) and stack[-1]:
                keys[-1] = str(stack[-1].pop()[1])
            continue
        elif token["text"] is not None:
            strict = token["text"][0] == '"' and bool(token["end"])
            value = _unquoted(token["text"])
            wrong = wrong or (0 if strict else token.start() + 1)
            scan.cut = token.end() == len(text) and not strict and bool(stack)
        else:
            word = token["word"]
            is_value = word in _LITERALS or _NUMBER.fullmatch(word) is not None
            if first and not is_value:
                scan.line = 1 + text.count("\n", 0, token.start())
                return scan
            value = _LITERALS[word] if word in _LITERALS else Number(word) if is_value else word
            wrong = wrong or (0 if is_value else token.start() + 1)
        first = False
        _put(value, stack, keys, scan)
        if isinstance(value, list):
            stack.append(value)
            keys.append(None)
    scan.cut = scan.cut or bool(stack)
    scan.line = scan.line or (1 + text.count("\n", 0, wrong - 1) if wrong else 0)
    if not scan.line and not scan.cut and not scan.deep and len(scan.values) < 2:
        scan.line = 1
    return scan


def _put(value: Any, stack: list[list[Any]], keys: list[str | None], scan: Scan) -> None:
    if not stack:
        scan.values.append(value)
    elif isinstance(stack[-1], Object):
        stack[-1].append((keys[-1] or "", value))
        keys[-1] = None
    else:
        stack[-1].append(value)


def _close(stack: list[list[Any]], keys: list[str | None]) -> None:
    stack.pop()
    keys.pop()


def _unquoted(text: str) -> str:
    """Return the text of a quoted string, even if it is truncated."""
    body = text[1:-1] if len(text) > 1 and text[-1] == text[0] else text[1:]
    if "\\" not in body:
        return body
    try:
        return str(json.loads(f'"{body}"' if text[0] == '"' else '"' + body.replace('"', '\\"') + '"', strict=False))
    except ValueError:
        return body


def _loads(text: str) -> Any:
    """Parse JSON with numbers in their original spelling and objects as pairs. Raise ValueError or RecursionError."""
    return json.loads(text, parse_float=Number, parse_int=Number, parse_constant=Number, object_pairs_hook=Object)


def line_values(text: str, named: bool) -> tuple[list[Any], int] | None:
    """Return the values of a file with one JSON value per line, and the number of invalid lines.

    Return None if the file is not of this kind. ``named`` tells that its suffix is that of JSON Lines.
    """
    lines = [line for line in text.split("\n") if line.strip()]
    if not lines or (len(lines) == 1 and not named):
        return None
    values: list[Any] = []
    wrong = 0
    for at, line in enumerate(lines):
        try:
            values.append(_bounded(_loads(line), line))
        except (ValueError, RecursionError):
            wrong += 1
            scanned = scan_values(line) if len(line) > 5_000 else None
            values.append(scanned.values[0] if scanned is not None and scanned.values else line.strip())
            if not named or (at >= 20 and wrong > at / 2):
                return None
    return None if wrong > len(lines) / 2 or (not named and wrong) else (values, wrong)


def whole_values(text: str, path: Path) -> tuple[list[Any], Note]:
    """Return the values of a JSON file, and a note if it is not strict JSON.

    Raise BrokenFileError if it has no value.
    """
    try:
        return [_bounded(_loads(text), text)], NONE
    except (ValueError, RecursionError):
        scanned = scan_values(text)
    if not scanned.values:
        raise BrokenFileError(f"the file is damaged: it is not valid JSON (line {scanned.line or 1}).", file=path)
    if scanned.deep:
        return scanned.values, Note("read.deep-values", level=DEEPEST)
    if scanned.cut:
        return scanned.values, Note("read.cut-value")
    if scanned.line:
        return scanned.values, Note("read.no-strict-json", line=scanned.line)
    return scanned.values, NONE


def _bounded(value: Any, text: str) -> Any:
    """Return a JSON value unchanged. Raise RecursionError if it is nested too deeply."""
    level, inner = 0, [value]
    while inner:
        level += 1
        if level > DEEPEST:
            raise RecursionError
        inner = [child for outer in inner for child in children_of(outer) if isinstance(child, list)]
    return value


def children_of(value: Any) -> list[Any]:
    if isinstance(value, Object):
        return [child for _, child in value]
    return value if isinstance(value, list) else []
