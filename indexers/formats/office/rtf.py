"""RTF -> its headings, paragraphs and tables. Numbered lines may be headings too, as in Markdown.

The library that reads RTF gives plain lines. So the forms of words and the levels of headings are put into the text
as marks before it reads, and are read from its lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from striprtf.striprtf import rtf_to_text

from hybrid_core.errors import BrokenFileError, DocumentError
from indexers.formats.flow.blocks import Block, Flow, Heading, Paragraph, Part, Table
from indexers.formats.flow.linear import Piece, linear
from indexers.formats.limits import ParseLimits, plain_reason

_RTF = b"{\\rtf"
_PAGE_END = re.compile(r"\\page(?![a-z])\s?")
_FONT = re.compile(r"\\f\d+(?![a-z\d])")
_FONTS = re.compile(r"\{\s?\\fonttbl")
_NOTE = re.compile(r"\{\s?(?:\\\*)?\\(footnote|annotation)(?![a-z])")
_MARK = re.compile(r"\{\s?\\super\s?\\chftn\s?\}|\\chftn(?![a-z])")
_MOST_NOTES = 5_000
_TOKEN = re.compile(r"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'[0-9a-fA-F]{2}|\\[^a-zA-Z]|[{}]|[\r\n]+|[^\\{}\r\n]+")
_DATA = re.compile(r"(?<!\\)\\bin(\d{1,9}) ?")
_STYLES = re.compile(r"\{\s?\\stylesheet")
_STYLE = re.compile(r"\\s(\d{1,5})(?![\da-z])[^{}]*?\\outlinelevel(\d)")
_BOX = re.compile(r"\{\s?\\shp(?![a-z])")
_BOX_TEXT = re.compile(r"\{\s?\\shptxt(?![a-z])")
_BORDER = re.compile(r"\\par(?![a-z])|\\[\\{}]|[{}]")
_LONGEST = 20_000  # characters of a paragraph behind a box, which goes after it
_LEVELS = 6
_UNREADABLE = (ValueError, LookupError, IndexError, KeyError, TypeError, RecursionError)
_FORM, _LEVEL = "\x02", "\x03"  # marks before words of a form, before a heading
_MARKS = re.compile("[\x02\x03].")
_FORMS = {"strike": True, "striked": True}
_SHIFTS = {"super": 1, "sub": -1, "nosupersub": 0, "up": 1, "dn": -1}
_ENDS = frozenset(("par", "cell", "row", "line", "sect", "page", "nestcell", "nestrow"))


def read_rtf(path: Path, limits: ParseLimits) -> Flow:
    """Read an RTF file; the writer's page breaks end pages. Raise DocumentError if it is none."""
    data = path.read_bytes()
    start = data[:1024].find(_RTF)
    if start < 0:
        raise DocumentError(f"{path}: not an RTF file (it does not begin with {{\\rtf).")
    try:
        text = _rtf_text(data[start:])
    except _UNREADABLE as error:
        raise BrokenFileError(f"{path}: damaged, it cannot be read as RTF ({plain_reason(error)}).") from error
    return Flow(_rtf_pages(text), _rtf_info(data), clauses=True)


def rtf_blocks(data: bytes) -> list[Block]:
    """Return the blocks of an RTF text; none where it cannot be read."""
    try:
        return [block for part in _rtf_pages(_rtf_text(data)) for block in part.blocks]
    except _UNREADABLE:
        return []


def _rtf_text(data: bytes) -> str:
    source = _PAGE_END.sub(r"\\par \\'0c\\par ", data.decode("latin-1"))
    source = _with_marks(_with_notes(_with_boxes(_with_charsets(_MARKS.sub(" ", _without_data(source))))))
    return str(rtf_to_text(source, errors="replace"))


def _rtf_pages(text: str) -> Iterator[Part]:
    before = 0
    for page in text.split("\f"):
        yield Part(list(_rtf_blocks(page, before)))
        before += page.count("\n")


def _rtf_blocks(text: str, before: int) -> Iterator[Block]:
    rows: list[tuple[str, ...]] = []
    for at, line in enumerate([*text.split("\n"), ""], before + 1):
        if line.endswith("|") and line.count("|") > 1:
            rows.append(tuple(_formed(cell).strip() for cell in line.split("|")[:-1]))
            continue
        if rows:
            yield Table(tuple(rows), place=f"paragraph {at - len(rows)}")
            rows = []
        level, text = line.lstrip()[1:2] if line.lstrip()[:1] == _LEVEL else "", _formed(line)
        if text.strip() and level:
            yield Heading(int(level), text.strip(), place=f"paragraph {at}")
        elif text.strip():
            yield Paragraph(text, f"paragraph {at}")


def _formed(line: str) -> str:
    """Return a line with the forms that marks in it tell as they are typed."""
    if _FORM not in line and _LEVEL not in line:
        return line
    first, *others = re.sub(f"{_LEVEL}.", "", line).split(_FORM)
    pieces = [Piece(first)]
    for text in others:
        code = int(text[:1]) if text[:1] in set("012345") else 1
        pieces.append(Piece(text[1:], code % 3 - 1, code >= 3))
    return linear(pieces)


def _rtf_info(data: bytes) -> dict[str, str]:
    fields = {}
    info = data.find(b"{\\info")
    for key in ("title", "author", "subject", "keywords"):
        if info >= 0 and (value := re.search(rb"\{\\%s ([^{}\\]{1,500})\}" % key.encode(), data[info : info + 4096])):
            fields[key] = value[1].decode("latin-1").strip()
    return {key: value for key, value in fields.items() if value}


def _without_data(source: str) -> str:
    """Return the source without the bytes of pictures and objects, whose brackets are no groups.

    A group ends after them; where none does the writer miscounted.
    """
    parts: list[str] = []
    at = 0
    while (data := _DATA.search(source, at)) is not None:
        end = data.end() + int(data[1])
        counted = source[end : end + 2].lstrip()[:1] == "}"
        parts.append(source[at : data.start() if counted else data.end()])
        at = end if counted else data.end()
    return "".join((*parts, source[at:])) if parts else source


def _with_charsets(source: str) -> str:
    """Give fonts without a character set that of the file: the reader would take the next font's."""
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
    """Put footnotes and comments, which the reader leaves out, in brackets where the text refers to them."""
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
    """Return the place after the bracket that closes the group which begins at ``start``."""
    deep, at = 0, start
    for sign in re.finditer(r"\\[\\{}]|[{}]", source[start:]):
        deep += {"{": 1, "}": -1}.get(sign[0], 0)
        at = start + sign.end()
        if not deep:
            break
    return at


@dataclass(frozen=True, slots=True)
class _State:
    """The state of a group: it applies to the words inside."""

    shift: int = 0
    struck: bool = False
    deleted: bool = False
    level: int | None = None  # of a heading, from 0
    in_table: bool = False

    @property
    def code(self) -> int:
        return self.shift + 1 + 3 * self.struck


def _with_marks(source: str) -> str:
    """Put marks before words of a form and before headings; leave out words that a writer deleted."""
    sheet = _STYLES.search(source)
    styles = source[sheet.start() : _group_end(source, sheet.start())] if sheet is not None else ""
    levels = {int(style): int(level) for style, level in _STYLE.findall(styles)}
    state, groups, parts = _State(), [], list[str]()
    form, begun, at = 1, False, 0
    while (token := _TOKEN.match(source, at)) is not None:
        at, text, word, number = token.end(), token[0], token[1], token[2]
        if text == "{":
            groups.append(state)
        elif text == "}":
            state = groups.pop() if groups else state
        elif word is not None and word != "u":
            state = _changed(state, word, number, levels)
            if word in _ENDS:
                form = 1
            if word in _ENDS or word == "pard":
                begun = begun and word == "line"
        elif text.strip("\r\n") and not (text[0] == "\\" and text[1] in "*\r\n"):
            if state.deleted:
                continue
            if not begun and text.strip():
                begun = True
                if state.level is not None and state.level < _LEVELS and not state.in_table:
                    parts.append(f"{_LEVEL}{state.level + 1}")
            if state.code != form:
                form = state.code
                parts.append(f"{_FORM}{form}")
        parts.append(text)
    return "".join((*parts, source[at:]))


def _changed(state: _State, word: str, number: str | None, levels: dict[int, int]) -> _State:
    """Return the state after a control word."""
    off = number == "0"
    if word in _FORMS:
        return replace(state, struck=not off)
    if word in _SHIFTS:
        return replace(state, shift=0 if off else _SHIFTS[word])
    if word == "deleted":
        return replace(state, deleted=not off)
    if word == "plain":
        return replace(state, shift=0, struck=False, deleted=False)
    if word == "pard":
        return replace(state, level=None, in_table=False)
    if word == "intbl":
        return replace(state, in_table=True)
    if word == "s" and number:
        return replace(state, level=levels.get(int(number)))
    if word == "outlinelevel" and number:
        return replace(state, level=int(number))
    return state


def _with_boxes(source: str) -> str:
    """Put the texts of boxes, which the reader leaves out, after the paragraphs that hold them."""
    parts: list[str] = []
    at = 0
    for box in _BOX.finditer(source):
        if box.start() < at or len(parts) > 3 * _MOST_NOTES:
            continue
        end = _group_end(source, box.start())
        inside = _BOX_TEXT.search(source, box.start(), end)
        stop = _paragraph_end(source, end)
        if inside is not None:
            text = source[inside.end() : _group_end(source, inside.start()) - 1]
            begin = "\\par " if stop == end else " "
            parts += (source[at : box.start()], source[end:stop], f"{{{begin}{text}\\par }}")
            at = stop
    return "".join((*parts, source[at:]))


def _paragraph_end(source: str, start: int) -> int:
    """Return the place after the paragraph; ``start`` if its group ends first or another box comes."""
    deep = 0
    for sign in _BORDER.finditer(source, start, start + _LONGEST):
        deep += {"{": 1, "}": -1}.get(sign[0], 0)
        if deep < 0 or _BOX.match(source, sign.start()):
            break
        if not deep and sign[0] == "\\par":
            return sign.end()
    return start
