"""Jupyter notebooks -> blocks of their cells: Markdown with its headings, code, and what it printed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hybrid_core.errors import DocumentError
from indexers.formats.decode import read_text
from indexers.formats.flow.blocks import Block, Code, Flow, Heading, Paragraph, Part
from indexers.formats.limits import ParseLimits
from indexers.formats.markdown.blocks import read_blocks

_LONGEST_OUTPUT = 20_000  # characters of what one cell printed


def read_notebook(path: Path, limits: ParseLimits) -> Flow:
    text, warnings = read_text(path)
    try:
        held = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{path}: damaged, a notebook is JSON and this is not ({error}).") from error
    sheets = held.get("worksheets") if isinstance(held, dict) else None  # version 3 and older
    cells = (
        sheets[0].get("cells")
        if isinstance(sheets, list) and sheets
        else held.get("cells")
        if isinstance(held, dict)
        else None
    )
    if not isinstance(cells, list):
        raise DocumentError(f"{path}: not a notebook (it has no cells).")
    described = held.get("metadata") if isinstance(held.get("metadata"), dict) else {}
    language = (described.get("language_info") or described.get("kernelspec") or {}).get("name") or "python"
    metadata = {"title": str(described["title"])} if described.get("title") else {}
    return Flow(iter([Part(list(_cells(cells, str(language))))]), metadata, warnings)


def _cells(cells: list[Any], language: str) -> Iterator[Block]:
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            continue
        place, source = f"cell {number}", _text(cell.get("source", cell.get("input", "")))
        kind = cell.get("cell_type")
        if kind == "markdown":
            yield from markdown(source, place)
        elif kind == "heading":
            yield Heading(int(cell.get("level") or 1), source, place=place)
        elif kind == "code":
            yield Code(source, language, place=place)
            for output in cell.get("outputs") or ():
                said = _text(output.get("text") or (output.get("data") or {}).get("text/plain") or "")
                yield Code(said[:_LONGEST_OUTPUT], role="plain", place=place)
        else:
            yield Paragraph(source, place)


def markdown(source: str, place: str) -> Iterator[Block]:
    """Markdown as blocks: its headings, and what stands between them as it is written."""
    lines = source.replace("\r\n", "\n").split("\n")
    read = read_blocks(lines)
    at = 0
    for heading in [*read.headings, None]:
        end = heading.line if heading else len(lines)
        for role, text in _stretches(lines[at:end], read.roles[at:end]):
            yield (
                Code(text, role="code", place=place)
                if role in ("code", "command", "config")
                else Paragraph(text, place)
            )
        if heading:
            yield Heading(heading.level, heading.title, place=place)
            at = end
            while at < len(lines) and read.roles[at] == "heading":
                at += 1
                if at in (other.line for other in read.headings):
                    break


def _stretches(lines: list[str], roles: list[Any]) -> Iterator[tuple[str, str]]:
    held: list[str] = []
    before = ""
    for line, role in zip([*lines, ""], [*roles, ""], strict=True):
        if held and (role != before or (role == "text" and not line.strip())):
            said = [one for one in held if not one.lstrip().startswith(("```", "~~~"))] if before == "code" else held
            yield before, "\n".join(said)
            held = []
        before = role
        if line.strip() or (held and role == "code"):
            held.append(line)


def _text(source: Any) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source)
