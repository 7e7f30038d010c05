"""Jupyter notebooks -> blocks of their cells: Markdown with its headings, code, and what it printed and drew."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from hybrid_core.errors import BrokenFileError
from indexers.formats.decode import read_text
from indexers.formats.flow.blocks import Block, Code, Flow, Heading, Paragraph, Part, Picture
from indexers.formats.flow.pictures import linked_picture, picture_in_base64, picture_in_link, picture_of_kind
from indexers.formats.limits import ParseLimits
from indexers.formats.markdown.blocks import read_blocks
from indexers.formats.markdown.pictures import image_links, without_data
from indexers.formats.web.html import parse_html

_COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_LONGEST_OUTPUT = 20_000  # characters of what one cell printed


def read_notebook(path: Path, limits: ParseLimits) -> Flow:
    text, warnings = read_text(path)
    try:
        held = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrokenFileError(f"{path}: damaged, a notebook is JSON and this is not ({error}).") from error
    sheets = held.get("worksheets") if isinstance(held, dict) else None  # version 3 and older
    cells = (
        sheets[0].get("cells")
        if isinstance(sheets, list) and sheets
        else held.get("cells")
        if isinstance(held, dict)
        else None
    )
    if not isinstance(cells, list):
        raise BrokenFileError(f"{path}: not a notebook (it has no cells).")
    described = held.get("metadata") if isinstance(held.get("metadata"), dict) else {}
    language = (described.get("language_info") or described.get("kernelspec") or {}).get("name") or "python"
    metadata = {"title": str(described["title"])} if described.get("title") else {}
    pictures = _Pictures()
    blocks = list(_cells(cells, str(language), pictures))
    return Flow(iter([Part(blocks)]), metadata, warnings, images=pictures.read)


class _Pictures:
    """What cells show, in Base64 by names of our own."""

    def __init__(self) -> None:
        self._held: list[str] = []

    def shown(self, bundle: Any, place: str) -> Iterator[Picture]:
        """The picture among the forms that something is given in, by media type."""
        for kind, said in bundle.items() if isinstance(bundle, dict) else ():
            data = _text(said)
            if picture_of_kind(str(kind), len(data) * 3 // 4):
                self._held.append(data)
                yield Picture("", place, str(len(self._held) - 1))
                return

    def linked(self, text: str, attachments: Any, place: str) -> Iterator[Picture]:
        """Those that a cell's Markdown shows: attached to the cell, or in the link itself."""
        for link in image_links(text):
            if link.startswith("attachment:") and isinstance(attachments, dict):
                yield from self.shown(attachments.get(link.removeprefix("attachment:")), place)
            elif held := picture_in_link(link):
                self._held.append(held)
                yield Picture("", place, str(len(self._held) - 1))

    def read(self, name: str) -> bytes:
        held = self._held[int(name)]
        return linked_picture(held) if held.startswith("data:") else picture_in_base64(held)


def _cells(cells: list[Any], language: str, pictures: _Pictures) -> Iterator[Block]:
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            continue
        place, source = f"cell {number}", _text(cell.get("source", cell.get("input", "")))
        kind = cell.get("cell_type")
        if kind == "markdown":
            for block in markdown(source, place):
                if isinstance(block, Paragraph):
                    yield replace(block, text=without_data(block.text))
                    yield from pictures.linked(block.text, cell.get("attachments"), place)
                else:
                    yield block
        elif kind == "heading":
            yield Heading(int(cell.get("level") or 1), source, place=place)
        elif kind == "code":
            yield Code(source, language, place=place)
            for output in (one for one in cell.get("outputs") or () if isinstance(one, dict)):
                yield from _printed(output, place)
                yield from pictures.shown(output.get("data") or output, place)
        else:
            yield Paragraph(source, place)


def _printed(output: dict[str, Any], place: str) -> Iterator[Block]:
    """Yield what a cell printed or showed: text, else its HTML; of an error its message and where it came up."""
    shown = output.get("data")
    data: dict[str, Any] = shown if isinstance(shown, dict) else {}
    text = _text(output.get("text") or data.get("text/plain") or "")
    if output.get("output_type") in ("error", "pyerr"):
        message = f"{_text(output.get('ename') or '')}: {_text(output.get('evalue') or '')}"
        trace = _COLOURS.sub("", "\n".join(map(str, output.get("traceback") or ())))
        text = trace if _text(output.get("evalue") or "") in trace and trace else f"{message}\n{trace}"
    elif not text.strip() and (source := _text(data.get("text/html") or data.get("text/markdown") or "")):
        yield from (replace(block, place=place) for block in parse_html(source, whole=True).blocks)
    yield Code(text[:_LONGEST_OUTPUT], role="plain", place=place)


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
