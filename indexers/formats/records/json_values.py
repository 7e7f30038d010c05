"""JSON and JSON Lines as blocks: values under their names.

Groups and records become sections, flat records become tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hybrid_core.types.notes import Note
from indexers.formats.decode import read_text
from indexers.formats.flow.blocks import Block, Flow, Heading, Paragraph, Part, Table
from indexers.formats.limits import ParseLimits
from indexers.formats.records.citations import csl_blocks, is_csl
from indexers.formats.records.json_scan import Object, children_of, line_values, whole_values

_SECTIONS = 2_000  # maximum sections of a file; a tree with more is not useful
_LEVELS = 4
_SMALL = 12, 1_500  # maximum values and characters of a group without its own heading
_WIDEST, _LONGEST_CELL, _MEAN_CELL, _FILLED = 20, 300, 80, 0.5
_LONGEST_LABEL, _LONGEST_PLACE, _LONGEST_PATH = 120, 60, 300
_SHORT = 80  # maximum characters of values that are written in one row
_LABELS = ("title", "name", "headline", "heading", "label", "subject", "question", "summary")
_INNER = ("properties", "attributes", "fields", "metadata", "info", "data")
_ENCODED = re.compile(r"data:[\w/+.;=-]+,\S+|[A-Za-z0-9+/_=-]{600,}(?:\s[A-Za-z0-9+/_=-]+)*")
_LINES = (".jsonl", ".ndjson")


def read_json(path: Path, limits: ParseLimits) -> Flow:
    """Read a JSON file, or one with a value per line. Raise DocumentError if it has no value."""
    limits.check_file(path)
    text, warnings = read_text(path)
    text = text.removeprefix("\ufeff")
    writer = _Writer()
    lines = line_values(text, path.suffix.lower() in _LINES)
    if lines is not None:
        values, wrong = lines
        if wrong:
            warnings.append(Note("read.lines-no-json", lines=wrong))
        blocks = writer.records(values, 1, "record")
    else:
        values, problem = whole_values(text, path)
        warnings += filter(None, [problem])
        value = values[0] if len(values) == 1 else None
        if value is not None and is_csl(value):
            blocks = csl_blocks(value)
        elif value is not None:
            blocks = writer.top(value)
        else:
            blocks = writer.records(values, 1, "record")
    written = list(blocks)
    if writer.encoded:
        warnings.append(Note("read.encoded-left-out", values=writer.encoded))
    if writer.headings > _SECTIONS:
        warnings.append(Note("read.many-groups", groups=_SECTIONS))
    return Flow(iter([Part(written)]), writer.metadata, warnings)


class _Writer:
    """A writer of JSON values as lines "path: value".

    ``encoded`` counts values left out because they are encoded data.
    """

    def __init__(self) -> None:
        self.metadata: dict[str, str] = {}
        self.encoded = self.headings = 0

    def top(self, value: Any) -> Iterator[Block]:
        if isinstance(value, Object):
            title = label_of(value, _LABELS[:2])
            if title:
                self.metadata["title"] = title
            yield from self.group(value, 1, "")
        elif isinstance(value, list) and value:
            yield from self.items("", value, 1, "")
        else:
            yield Paragraph("\n".join(self.lines("", value)), "value 1")

    def group(self, value: Object, level: int, place: str) -> Iterator[Block]:
        """Yield the blocks of an object: first its plain values, then its sections."""
        plain = [(key, child) for key, child in value if not self._is_group(child, level)]
        if plain or not value:
            yield from self.inside("", Object(plain), place or "value 1")
        for key, child in value:
            if not self._is_group(child, level):
                continue
            inner = f"{place}/{key}"[-_LONGEST_PLACE:] if place else key[:_LONGEST_PLACE]
            yield from self._heading(level, key or "–", inner)
            if isinstance(child, Object):
                yield from self.group(child, level + 1, inner)
            else:
                yield from self.items(key, child, level + 1, inner)

    def _is_group(self, value: Any, level: int) -> bool:
        """Return whether a value becomes a section: a large or top-level object or list."""
        if not isinstance(value, list) or not value or level > _LEVELS:
            return False
        if not isinstance(value, Object) and not any(isinstance(child, list) and child for child in value):
            return False
        if not isinstance(value, Object) and not any(isinstance(child, Object) for child in value):
            return False
        return level == 1 or is_large(value)

    def items(self, name: str, values: Sequence[Any], level: int, place: str) -> Iterator[Block]:
        """Yield a list as a table, as sections, or as lines."""
        if (table := self.table(values)) is not None:
            yield Table(table, place=place or "record 1")
        elif any(isinstance(value, list) and value for value in values) and level <= _LEVELS:
            yield from self.records(values, level, name or "record", place)
        else:
            yield from self.inside(name, values, place or "value 1")

    def records(self, values: Sequence[Any], level: int, name: str, place: str = "") -> Iterator[Block]:
        """Yield a section for each value, titled with its own name or its number."""
        for number, value in enumerate(values, 1):
            where = f"{place}/{number}"[-_LONGEST_PLACE:] if place else f"record {number}"
            if isinstance(value, list) and value:
                title = label_of(value) if isinstance(value, Object) else ""
                yield from self._heading(level, title or f"{name[:1].upper()}{name[1:]} {number}", where)
            if isinstance(value, Object):
                yield from self.group(value, level + 1, where)
            elif isinstance(value, list):
                yield from self.items("", value, level + 1, where)
            else:
                yield Paragraph("\n".join(self.lines("", value)), where)

    def _heading(self, level: int, text: str, place: str) -> Iterator[Block]:
        self.headings += 1
        yield Heading(level, text, place=place) if self.headings <= _SECTIONS else Paragraph(text, place)

    def inside(self, path: str, value: Any, place: str) -> Iterator[Block]:
        """Yield a value as lines "path: value", with its flat records as tables."""
        lines: list[str] = []
        for part in self._parts(path, value):
            if isinstance(part, str):
                lines.append(part)
                continue
            yield Paragraph("\n".join(lines), place)
            lines = [f"{part[0]}:"] if part[0] else []
            yield Paragraph("\n".join(lines), place)
            yield Table(part[1], place=place)
            lines = []
        yield Paragraph("\n".join(lines), place)

    def lines(self, path: str, value: Any) -> list[str]:
        return [part for part in self._parts(path, value) if isinstance(part, str)]

    def _parts(self, path: str, value: Any) -> Iterator[str | tuple[str, tuple[tuple[str, ...], ...]]]:
        before = f"{path if len(path) <= _LONGEST_PATH else f'… {path[-_LONGEST_PATH:]}'}: " if path else ""
        if not isinstance(value, list):
            yield before + self.text(value)
        elif not value:
            yield before + ("{}" if isinstance(value, Object) else "[]")
        elif isinstance(value, Object):
            for key, child in value:
                yield from self._parts(f"{path}.{key}" if path else key, child)
        elif not any(isinstance(child, list) for child in value):
            texts = list(map(self.text, value))
            if all(len(text) <= _SHORT and "\n" not in text for text in texts):
                yield before + ", ".join(texts)
            else:
                yield from (before + text for text in texts)
        elif (table := self.table(value)) is not None:
            yield path, table
        elif not any(isinstance(child, Object) for child in value):
            yield before + ", ".join(map(self.compact, value))
        else:
            for number, child in enumerate(value, 1):
                yield from self._parts(f"{path}.{number}" if path else str(number), child)

    def compact(self, value: Any) -> str:
        """Return a value on one line, objects and lists in brackets."""
        if isinstance(value, Object):
            return f"{{{', '.join(f'{key}: {self.compact(child)}' for key, child in value)}}}"
        return f"[{', '.join(map(self.compact, value))}]" if isinstance(value, list) else self.text(value)

    def text(self, value: Any) -> str:
        if value is None or isinstance(value, bool):
            return {None: "null", True: "true", False: "false"}[value]
        text = str(value)
        if len(text) > 600 and _ENCODED.fullmatch(text):
            self.encoded += 1
            return f"({len(text):,} characters of data)"
        return text

    def table(self, values: Sequence[Any]) -> tuple[tuple[str, ...], ...] | None:
        """Return flat objects with the same names as the rows of a table, None if they are not like that."""
        if len(values) < 2 or not all(isinstance(value, Object) and value for value in values):
            return None
        names: dict[str, None] = {}
        cells = size = 0
        for value in values:
            keys = [key for key, _ in value]
            names |= dict.fromkeys(keys)
            if len(names) > _WIDEST or len(set(keys)) < len(keys):
                return None
            for _, child in value:
                length = len(child) if isinstance(child, str) else 0
                if isinstance(child, list) or length > _LONGEST_CELL:
                    return None
                cells, size = cells + 1, size + length
        if len(names) < 2 or cells < _FILLED * len(names) * len(values) or size > _MEAN_CELL * cells:
            return None
        rows = (tuple(self.text(row[name]) if name in row else "" for name in names) for row in map(dict, values))
        return (tuple(names), *rows)


def is_large(value: Any) -> bool:
    """Return whether a value has more than a few lines."""
    values = characters = 0
    waiting = [value]
    while waiting and values <= _SMALL[0] and characters <= _SMALL[1]:
        inner = waiting.pop()
        if isinstance(inner, list):
            waiting += children_of(inner)
        else:
            values, characters = values + 1, characters + (len(inner) if isinstance(inner, str) else 4)
    return values > _SMALL[0] or characters > _SMALL[1]


def label_of(value: Object, names: Sequence[str] = _LABELS) -> str:
    """Return a short name for an object, taken from a field such as "name" or "title"; "" if there is none."""
    fields = {key.lower(): child for key, child in reversed(value)}
    for name in names:
        text = fields.get(name)
        if isinstance(text, str) and 0 < len(" ".join(text.split())) <= _LONGEST_LABEL:
            return " ".join(text.split())
    inner = next((fields[name] for name in _INNER if isinstance(fields.get(name), Object)), None)
    return label_of(inner, names) if inner is not None and names is _LABELS and not _is_nested(inner) else ""


def _is_nested(value: Object) -> bool:
    return any(key.lower() in _INNER for key, _ in value)
