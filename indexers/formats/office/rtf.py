"""RTF -> its paragraphs and tables. Numbered lines may be headings, as in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from hybrid_core.errors import BrokenFileError, DocumentError
from indexers.formats.defects import plain_reason
from indexers.formats.flow.blocks import Block, Flow, Paragraph, Part, Table
from indexers.formats.flow.scripts import Piece, linear
from indexers.formats.limits import ParseLimits

_RTF = b"{\\rtf"
_PAGE_END = re.compile(r"\\page(?![a-z])\s?")
_FONT = re.compile(r"\\f\d+(?![a-z\d])")
_FONTS = re.compile(r"\{\s?\\fonttbl")
_SHIFTED = re.compile(r"\\(super|sub)(?![a-z])((?:\\[a-z]+-?\d*)*)(?: |(?=[^\\{} ]))([^\\{}]{1,60})")
_NOTE = re.compile(r"\{\s?(?:\\\*)?\\(footnote|annotation)(?![a-z])")
_MARK = re.compile(r"\{\s?\\super\s?\\chftn\s?\}|\\chftn(?![a-z])")
_MOST_NOTES = 5_000


def read_rtf(path: Path, limits: ParseLimits) -> Flow:
    """An RTF file; the writer's page breaks end pages. Raises DocumentError where it is none."""
    from striprtf.striprtf import rtf_to_text

    data = path.read_bytes()
    start = data[:1024].find(_RTF)
    if start < 0:
        raise DocumentError(f"{path}: not an RTF file (it does not begin with {{\\rtf).")
    try:
        source = _PAGE_END.sub(r"\\par \\'0c\\par ", data[start:].decode("latin-1"))
        source = _SHIFTED.sub(_written, _with_notes(_with_charsets(source)))
        text = rtf_to_text(source, errors="replace")
    except (ValueError, LookupError, IndexError, KeyError, TypeError, RecursionError) as error:
        raise BrokenFileError(f"{path}: damaged, it cannot be read as RTF ({plain_reason(error)}).") from error
    return Flow(_rtf_pages(text), _rtf_info(data), clauses=True)


def _rtf_pages(text: str) -> Iterator[Part]:
    before = 0
    for page in text.split("\f"):
        yield Part(list(_rtf_blocks(page, before)))
        before += page.count("\n")


def _rtf_blocks(text: str, before: int) -> Iterator[Block]:
    rows: list[tuple[str, ...]] = []
    for at, line in enumerate([*text.split("\n"), ""], before + 1):
        if line.endswith("|") and line.count("|") > 1:
            rows.append(tuple(cell.strip() for cell in line.split("|")[:-1]))
            continue
        if rows:
            yield Table(tuple(rows), place=f"paragraph {at - len(rows)}")
            rows = []
        if line.strip():
            yield Paragraph(line, f"paragraph {at}")


def _rtf_info(data: bytes) -> dict[str, str]:
    fields = {}
    info = data.find(b"{\\info")
    for key in ("title", "author", "subject", "keywords"):
        if info >= 0 and (value := re.search(rb"\{\\%s ([^{}\\]{1,500})\}" % key.encode(), data[info : info + 4096])):
            fields[key] = value[1].decode("latin-1").strip()
    return {key: value for key, value in fields.items() if value}


def _with_charsets(source: str) -> str:
    """Fonts of the table that name no character set get that of the file, or the reader takes the next font's."""
    begin = _FONTS.search(source)
    if begin is None:
        return source
    end = _group_end(source, begin.start())
    table = source[begin.start() : end]
    starts = [font.end() for font in _FONT.finditer(table)]
    for at, stop in reversed(list(zip(starts, [*starts[1:], len(table)], strict=True))):
        if "\\fcharset" not in table[at:stop]:
            table = f"{table[:at]}\\fcharset1{table[at:]}"
    return source[: begin.start()] + table + source[end:]


def _with_notes(source: str) -> str:
    """Footnotes and comments, which the reader leaves out, stand in brackets where the text refers to them."""
    parts: list[str] = []
    at = 0
    for note in _NOTE.finditer(source):
        if note.start() < at or len(parts) > 2 * _MOST_NOTES:
            continue
        end = _group_end(source, note.start())
        inside = _MARK.sub("", source[note.end() : end - 1]).replace("\\par", " \\pard")
        parts += (source[at : note.start()], f"{{ [{note[1]}: {inside}] }}")
        at = end
    return "".join((*parts, source[at:]))


def _group_end(source: str, start: int) -> int:
    """The place after the bracket that closes the group which begins at ``start``."""
    deep, at = 0, start
    for sign in re.finditer(r"\\[\\{}]|[{}]", source[start:]):
        deep += {"{": 1, "}": -1}.get(sign[0], 0)
        at = start + sign.end()
        if not deep:
            break
    return at


def _written(shifted: re.Match[str]) -> str:
    """Words above or below the line as plain ones; what is no ASCII is escaped."""
    text = linear([Piece("x"), Piece(shifted[3], 1 if shifted[1] == "super" else -1)])[1:]
    escaped = "".join(char if char.isascii() else f"{{\\uc1\\u{ord(char)}?}}" for char in text)
    return f"{shifted[2]} {escaped}" if shifted[2] else f"{{}}{escaped}"  # no word of control goes on in it
