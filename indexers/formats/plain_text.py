"""TXT, subtitles (WebVTT, SRT) and Jupyter notebooks as blocks."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from hybrid_core.errors import BrokenFileError, DocumentError
from indexers.formats.decode import read_text
from indexers.formats.flow.blocks import Block, Code, Flow, Heading, Paragraph, Part, Picture
from indexers.formats.limits import ParseLimits
from indexers.formats.pictures import (
    image_links,
    linked_picture,
    picture_in_base64,
    picture_in_link,
    picture_of_kind,
    without_data,
)
from indexers.formats.text_pages import read_blocks
from indexers.formats.web.html import parse_html


def read_txt(path: Path, limits: ParseLimits) -> Flow:
    """Read a text file. A form feed ends a page."""
    text, warnings = read_text(path)
    return Flow(_page_parts(text), {}, warnings, clauses=True)


def _page_parts(text: str) -> Iterator[Part]:
    line = 0
    for page in text.split("\f"):
        yield Part(list(_line_blocks(page, line)))
        line += page.count("\n")


def _line_blocks(text: str, before: int) -> Iterator[Block]:
    """Yield neighbouring lines as one block, so that text broken to fit a screen stays readable."""
    block: list[str] = []
    first = 0
    for at, line in enumerate([*text.split("\n"), ""], before + 1):
        if line.strip():
            first = first if block else at
            block.append(line)
        elif block:
            yield Paragraph("\n".join(block), f"line {first}")
            block = []


_TIME = r"(?:(\d{1,3}):)?(\d{1,2}):(\d{2})[.,]\d{1,3}"
_CUE = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?\s+([^>]+)>")
_TAG = re.compile(r"</?[a-zA-Z0-9:.][^<>]*>|\{\\[^{}]*\}")
_ENDED = (".", "!", "?", "。", "！", "？", "…")
_LONGEST = 600  # characters of cues that are put together


def read_subtitles(path: Path, limits: ParseLimits) -> Flow:
    """Raise DocumentError if no line says a time."""
    text, warnings = read_text(path)
    blocks = list(_sentences(text))
    if not blocks and not text.lstrip("\ufeff").startswith("WEBVTT"):
        raise DocumentError(f"{path}: not subtitles (no line in it says from when to when).")
    return Flow(iter([Part(blocks)]), {}, warnings)


def _sentences(text: str) -> Iterator[Block]:
    """Join cues to sentences, or to what one person says."""
    sentence, begun, speaker = "", "", ""
    for time, cue in _cues(text):
        voice = _VOICE.search(cue)
        words = _strip_tags(cue)
        now = f"{voice[1].strip()}: " if voice else ""
        if sentence and (sentence.endswith(_ENDED) or len(sentence) > _LONGEST or now != speaker):
            yield Paragraph(f"[{begun}] {sentence}", begun)
            sentence = ""
        if words:
            sentence, begun = (f"{sentence} {words}", begun) if sentence else (now + words, time)
        speaker = now
    if sentence:
        yield Paragraph(f"[{begun}] {sentence}", begun)


def _cues(text: str) -> Iterator[tuple[str, str]]:
    """Yield the time of each cue and what it adds: captions that roll show the lines of the one before again."""
    before: list[str] = []
    for time, lines in _read_cues(text):
        plain = list(map(_strip_tags, lines))
        again = next((n for n in range(min(len(before), len(lines)), 0, -1) if before[-n:] == plain[:n]), 0)
        if not again and before and " " in before[-1] and plain[0].startswith(f"{before[-1]} "):
            lines = [plain[0][len(before[-1]) :].strip(), *lines[1:]]  # a line that grows word by word
        before = plain
        if len(lines) > again:
            yield time, " ".join(lines[again:])


def _strip_tags(text: str) -> str:
    return " ".join(html.unescape(_TAG.sub("", text)).split())


def _read_cues(text: str) -> Iterator[tuple[str, list[str]]]:
    time = ""
    text_lines: list[str] = []
    lines = text.split("\n")
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        if cue := _CUE.match(line):
            time, text_lines = f"{int(cue[1] or 0):02}:{int(cue[2]):02}:{cue[3]}", []
        elif line.strip() and time and not (_CUE.match(after) and not text_lines):
            text_lines.append(line.strip())
        if time and text_lines and (not line.strip() or not after.strip()):
            yield time, text_lines
            time, text_lines = "", []
    if time and text_lines:
        yield time, text_lines


_COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_LONGEST_OUTPUT = 20_000  # characters of what one cell printed


def read_notebook(path: Path, limits: ParseLimits) -> Flow:
    text, warnings = read_text(path)
    try:
        notebook = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BrokenFileError(f"{path}: damaged, a notebook is JSON and this is not ({error}).") from error
    sheets = notebook.get("worksheets") if isinstance(notebook, dict) else None  # version 3 and older
    cells = (
        sheets[0].get("cells")
        if isinstance(sheets, list) and sheets
        else notebook.get("cells")
        if isinstance(notebook, dict)
        else None
    )
    if not isinstance(cells, list):
        raise BrokenFileError(f"{path}: not a notebook (it has no cells).")
    described = notebook.get("metadata") if isinstance(notebook.get("metadata"), dict) else {}
    language = (described.get("language_info") or described.get("kernelspec") or {}).get("name") or "python"
    metadata = {"title": str(described["title"])} if described.get("title") else {}
    pictures = _Pictures()
    blocks = list(_cells(cells, str(language), pictures))
    return Flow(iter([Part(blocks)]), metadata, warnings, images=pictures.read)


class _Pictures:
    """Pictures that cells show, in Base64, by names of our own."""

    def __init__(self) -> None:
        self._held: list[str] = []

    def shown(self, bundle: Any, place: str) -> Iterator[Picture]:
        """Yield the picture among the forms of an output, by media type."""
        for kind, content in bundle.items() if isinstance(bundle, dict) else ():
            data = _join_source(content)
            if picture_of_kind(str(kind), len(data) * 3 // 4):
                self._held.append(data)
                yield Picture("", place, str(len(self._held) - 1))
                return

    def linked(self, text: str, attachments: Any, place: str) -> Iterator[Picture]:
        """Yield the pictures that a cell's Markdown shows: attached to the cell, or in the link itself."""
        for link in image_links(text):
            if link.startswith("attachment:") and isinstance(attachments, dict):
                yield from self.shown(attachments.get(link.removeprefix("attachment:")), place)
            elif data := picture_in_link(link):
                self._held.append(data)
                yield Picture("", place, str(len(self._held) - 1))

    def read(self, name: str) -> bytes:
        picture = self._held[int(name)]
        return linked_picture(picture) if picture.startswith("data:") else picture_in_base64(picture)


def _cells(cells: list[Any], language: str, pictures: _Pictures) -> Iterator[Block]:
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            continue
        place, source = f"cell {number}", _join_source(cell.get("source", cell.get("input", "")))
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
            for output in (entry for entry in cell.get("outputs") or () if isinstance(entry, dict)):
                yield from _printed(output, place)
                yield from pictures.shown(output.get("data") or output, place)
        else:
            yield Paragraph(source, place)


def _printed(output: dict[str, Any], place: str) -> Iterator[Block]:
    """Yield what a cell printed or showed: text, else its HTML; of an error its message and where it came up."""
    shown = output.get("data")
    data: dict[str, Any] = shown if isinstance(shown, dict) else {}
    text = _join_source(output.get("text") or data.get("text/plain") or "")
    if output.get("output_type") in ("error", "pyerr"):
        message = f"{_join_source(output.get('ename') or '')}: {_join_source(output.get('evalue') or '')}"
        trace = _COLOURS.sub("", "\n".join(map(str, output.get("traceback") or ())))
        text = trace if _join_source(output.get("evalue") or "") in trace and trace else f"{message}\n{trace}"
    elif not text.strip() and (source := _join_source(data.get("text/html") or data.get("text/markdown") or "")):
        yield from (replace(block, place=place) for block in parse_html(source, whole=True).blocks)
    yield Code(text[:_LONGEST_OUTPUT], role="plain", place=place)


def markdown(source: str, place: str) -> Iterator[Block]:
    """Markdown as blocks: its headings, and what stands between them as it is written."""
    lines = source.replace("\r\n", "\n").split("\n")
    read = read_blocks(lines)
    at = 0
    for heading in [*read.headings, None]:
        end = heading.line if heading else len(lines)
        for role, text in _split_by_role(lines[at:end], read.roles[at:end]):
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


def _split_by_role(lines: list[str], roles: list[Any]) -> Iterator[tuple[str, str]]:
    stretch: list[str] = []
    before = ""
    for line, role in zip([*lines, ""], [*roles, ""], strict=True):
        if stretch and (role != before or (role == "text" and not line.strip())):
            shown = (
                [text_line for text_line in stretch if not text_line.lstrip().startswith(("```", "~~~"))]
                if before == "code"
                else stretch
            )
            yield before, "\n".join(shown)
            stretch = []
        before = role
        if line.strip() or (stretch and role == "code"):
            stretch.append(line)


def _join_source(source: Any) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source)
