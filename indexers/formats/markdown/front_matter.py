"""The metadata block that many Markdown files begin with: YAML between ``---`` lines, TOML between ``+++``."""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from hybrid_core.text.tokens import clean

_ENDS = {"---": ("---", "..."), "+++": ("+++",)}
_MOST_LINES, _LONGEST_FIELD = 500, 2_000
_FIELD = re.compile(r"[\w-]+\s*[:=]|#")
_NAMES = {"authors": "author", "name": "title"}


class FrontMatter(NamedTuple):
    """``lines`` is how many lines the block takes, its fences included; 0 where there is none."""

    lines: int
    metadata: dict[str, str]
    warnings: tuple[str, ...]


def read_front_matter(lines: Sequence[str]) -> FrontMatter:
    """Fields by their names in small letters. A block that cannot be read stays apart, with a warning."""
    fence = lines[0].rstrip() if lines else ""
    ends = _ENDS.get(fence, ())
    end = next((i for i, line in enumerate(lines[1:_MOST_LINES], 1) if line.rstrip() in ends), 0)
    inside = lines[1:end]
    if not end or not _FIELD.match(next((line for line in inside if line.strip()), "")):
        return FrontMatter(0, {}, ())
    body = "\n".join(inside)
    try:
        fields = tomllib.loads(body) if fence == "+++" else yaml.safe_load(body)
    except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError, RecursionError):
        return FrontMatter(end + 1, {}, ("its front matter is damaged and was not read as metadata",))
    if not isinstance(fields, Mapping):
        return FrontMatter(0, {}, ())
    metadata: dict[str, str] = {}
    for key, value in fields.items():
        name = _plain(key).strip().lower()
        if said := clean(_said(value)[:_LONGEST_FIELD].replace("\n", " ")).strip():
            metadata.setdefault(_NAMES.get(name, name), said)
    return FrontMatter(end + 1, metadata, ())


def _said(value: Any) -> str:
    """A plain value or a list of plain values; "" for anything deeper."""
    if isinstance(value, list):
        return ", ".join(filter(None, (_said(item) for item in value[:100] if not isinstance(item, list))))
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat()
    return _plain(value) if isinstance(value, str | int | float) else ""


def _plain(value: object) -> str:
    """As written; "" for a whole number of thousands of digits, which Python refuses to write."""
    try:
        return str(value)
    except ValueError:
        return ""
