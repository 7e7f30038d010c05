"""Reading of RTF into headings, paragraphs and tables. Numbered lines may be headings too, as in Markdown.

The library that reads RTF returns plain lines. Therefore marks for character formats and heading levels are inserted
into the source first. The marks are interpreted in the library's output.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote

from striprtf.striprtf import rtf_to_text

from hybrid_core.errors import BrokenFileError, DocumentError
from hybrid_core.types.notes import Note
from indexers.formats.flow.blocks import Block, Flow, Heading, Paragraph, Part, Table
from indexers.formats.flow.linear import Piece, linear
from indexers.formats.limits import ParseLimits, plain_reason
from indexers.formats.office.rtf_math import with_equations
from indexers.formats.office.symbol_fonts import signs_of
from indexers.formats.office.word_signs import field_words

_RTF = b"{\\rtf"
_PAGE_END = re.compile(r"\\page(?![a-z])\s?")
_FONT = re.compile(r"\\f\d+(?![a-z\d])")
_FONTS = re.compile(r"\{\s?\\fonttbl")
_NOTE = re.compile(r"\{\s?(?:\\\*)?\\(footnote|annotation)(?![a-z])")
_MARK = re.compile(r"\{\s?\\super\s?\\chftn\s?\}|\\chftn(?![a-z])")
_MOST_NOTES = 5_000
_AUTHOR = re.compile(r"\{\s?\\\*\s?\\atnauthor ([^{};]{1,100})\}")
_NEAR_AUTHOR = 400  # characters between the name of an author and the comment
_TOKEN = re.compile(r"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'[0-9a-fA-F]{2}|\\[^a-zA-Z]|[{}]|[\r\n]+|[^\\{}\r\n]+")
_DATA = re.compile(r"(?<!\\)\\bin(\d{1,9}) ?")
_FONT_CHARSET = re.compile(r"\\fcharset(\d{1,3})")
_FONT_PAGE = re.compile(r"\\cpg(\d{1,5})")
_PAGE_CHARSETS = {874: 222, 932: 128, 936: 134, 949: 129, 950: 136, 1250: 238, 1251: 204, 1252: 0, 1253: 161, 1254: 162,
                  1255: 177, 1256: 178, 1257: 186, 437: 254, 850: 255}  # fmt: skip
_DOUBLE = {128: "932", 129: "949", 134: "936", 136: "950"}  # charset of a font -> its code page
_ESCAPE, _PAGE = "\\", "\\ansicpg"
_TWO_FORMS, _UNICODE_FORM = re.compile(r"\{\s?\\upr(?![a-z])"), re.compile(r"\{\s?\\\*\s?\\ud(?![a-z])\s?")
_STYLES = re.compile(r"\{\s?\\stylesheet")
_STYLE = re.compile(r"\\s(\d{1,5})(?![\da-z])[^{}]*?\\outlinelevel(\d)")
_BOX = re.compile(r"\{\s?\\shp(?![a-z])|\{\s?\\\*\s?\\(?:shppict|do)(?![a-z])")
_BOX_TEXT = re.compile(r"\{\s?\\(?:shptxt|dptxbxtext)(?![a-z])")
_BORDER = re.compile(r"\\par(?![a-z])|\\[\\{}]|[{}]")
_BRACE = re.compile(r"\\[\\{}]|[{}]")
_LONGEST = 20_000  # maximum characters of a paragraph after a box, whose text follows it
_LEVELS = 6
_UNREADABLE = (ValueError, LookupError, IndexError, KeyError, TypeError, RecursionError)
_FORM, _LEVEL = "\x02", "\x03"  # marks before formatted words, and before a heading
_BAR_MARK = "\x04"  # replaces a vertical bar in the text, since bars end cells
_MERGED = "\x05"  # stands in a cell that continues the cell above
_BAR = re.compile(r"\||\\'7c", re.I)
_LEAD = re.compile(r"\\'[89a-f]", re.I)  # possibly the first byte of a two-byte character
_LINK = "\x06"  # before and after the address of the words that follow; twice after these words
_MARKS = re.compile("[\x02\x03].|[\x04\x05\x06]")
_ADDRESS = re.compile(f"{_LINK}[^{_LINK}]*{_LINK}")
_MARKED = re.compile(f"{_FORM}(.)|{_LINK}([^{_LINK}]*){_LINK}")
_BARE = re.compile("[\x80-\xff]")
_OTHER_ENDS = re.compile(r"\\(?:column|softline)(?![a-z])\s?")
_LIST_NUMBER = re.compile(r"\\pntext(?![a-z])")  # as older programs and WordPad write it
_FIELD = re.compile(r"\{\s?\\field(?![a-z])")
_INSTRUCTION = re.compile(r"\{\s?(?:\\\*)?\s?\\fldinst(?![a-z])\s?")
_RESULT_GROUP = re.compile(r"\{\s?\\fldrslt(?![a-z])\s?")
_INSTRUCTION_SIGN = re.compile(r"\\([\\{}])|\\'([0-9a-fA-F]{2})|\\[a-zA-Z]+-?\d* ?|[{}\r\n]")
_HYPERLINK = re.compile(r'\s*HYPERLINK\s+"([^"]{1,600})"')
_SAFE = ":/?#[]@!$&()*+,;=%-._~'"
_FORM_FIELD = re.compile(r"\{\s?\\\*\s?\\formfield(?![a-z])")
_FIELD_KIND = re.compile(r"\\fftype([12])(?!\d)")
_RESULT, _USUAL_RESULT = re.compile(r"\\ffres(\d{1,2})"), re.compile(r"\\ffdefres(\d{1,2})")
_ENTRY = re.compile(r"\{\s?\\\*\s?\\ffl ([^{}]{0,500})\}")
_UNSET = 25  # the result of a field that nobody has filled in
_OBJECT = re.compile(r"\\(?:object|objemb|objlink|result)(?![a-z])\s?")
_CHARSET = re.compile(r"\\(mac|pca|pc)(?![a-z\d])\s?")
_CODE_PAGES = {"pc": 437, "pca": 850}
_CODED = re.compile(r"\\'([0-9a-fA-F]{2})")
_CODE_PAGE = re.compile(r"\\ansicpg\d+")
_HTML_TAG = re.compile(r"\{\s?\\\*\s?\\htmltag\d*(?![a-z]) ?")
_RTF_ONLY = re.compile(r"\\htmlrtf1?(?![a-z\d]) ?(?:.*?\\htmlrtf0 ?|.*)", re.S)
_NESTED_ROW, _NESTED_CELL = re.compile(r"\{\s?\\\*\s?\\nesttableprops(?![a-z])"), re.compile(r"\\nestcell(?![a-z]) ?")
_NESTED_ENDS = re.compile(r" · *(?=;|$)|;\s*$")
_FILE_NAME = re.compile(r"\.(?:bmp|emf|gif|jpe?g|png|tiff?|wmf)$", re.I)  # what Word writes without a description
_DRAWN_WORDS = re.compile(r"\{\s?\\sn (gtextUNICODE|wzDescription)\}\s?\{\s?\\sv ")
_HEAD_GROUP = re.compile(r"\{\s?\\(?:header|footer)[lrf]?(?![a-z])")
_LONGEST_FONT = 500
_LONGEST_EMPTY = 2_000  # maximum characters of a field's result without words
_PRIVATE = re.compile("[\uf020-\uf0ff]")
_FORMS = {"strike": True, "striked": True}
_SHIFTS = {"super": 1, "sub": -1, "nosupersub": 0, "up": 1, "dn": -1}
_ENDS = frozenset(("par", "cell", "row", "line", "sect", "page", "nestcell", "nestrow"))


def read_rtf(path: Path, limits: ParseLimits) -> Flow:
    """Read an RTF file. Explicit page breaks end pages. Raise DocumentError if it is not RTF."""
    data = path.read_bytes()
    start = data[:1024].find(_RTF)
    if start < 0:
        raise DocumentError("the file is not an RTF file (it does not begin with {\\rtf).", file=path)
    try:
        text, warnings = _rtf_text(data[start:])
    except _UNREADABLE as error:
        raise BrokenFileError(
            f"the file is damaged: it cannot be read as RTF ({plain_reason(error)}).", file=path
        ) from error
    return Flow(_rtf_pages(text), _rtf_info(data), warnings, clauses=True)


def rtf_blocks(data: bytes) -> list[Block]:
    """Return the blocks of an RTF text, [] if it cannot be read."""
    try:
        return [block for part in _rtf_pages(_rtf_text(data)[0]) for block in part.blocks]
    except _UNREADABLE:
        return []


def _rtf_text(data: bytes) -> tuple[str, list[str]]:
    """Return the text of an RTF file with the inserted marks for formats and headings, and warnings."""
    source = _MARKS.sub(" ", _without_data(data.decode("latin-1")))
    source = _BARE.sub(lambda byte: f"\\'{ord(byte[0]):02x}", source)
    source = _with_results(_with_fields(with_equations(source)))
    source = _LIST_NUMBER.sub(r"\\listtext", source)
    source = _OTHER_ENDS.sub(r"\\line ", _PAGE_END.sub(r"\\par \\'0c\\par ", _OBJECT.sub("", source)))
    if (charset := _CHARSET.search(source)) is not None and charset[1] == "mac":
        source = _CODED.sub(lambda code: f"{{\\uc0\\u{ord(bytes.fromhex(code[1]).decode('mac_roman'))} }}", source)
    elif charset is not None:
        source = f"{source[: charset.start()]}\\ansi\\ansicpg{_CODE_PAGES[charset[1]]} {source[charset.end() :]}"
    source = _NESTED_CELL.sub(r" {\\uc0\\u183 } ", _with_nested_rows(source))
    source, heads = _without_heads(_with_pairs(_with_charsets(_with_unicode(source))))
    signs = _sign_fonts(source)
    marked = [_with_marks(_with_notes(_with_boxes(part)), signs) for part in (source, *heads)]
    usual = _usual_codec(source)
    texts = [str(rtf_to_text(part, usual, errors="replace")) for part, *_ in marked]
    hidden, deleted = sum(count for _, count, _ in marked), sum(count for *_, count in marked)
    running = "\n".join(dict.fromkeys(line for text in texts[1:] for line in text.split("\n") if line.strip()))
    text = texts[0] + (f"\f{running}" if running else "")
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    text = text.replace("\u2011", "-")  # as in Word files
    text = _PRIVATE.sub(lambda sign: "•" if sign[0] == "\uf0b7" else "", text)
    notes = (Note("read.hidden-words", words=hidden), hidden), (Note("read.deleted-words", words=deleted), deleted)
    return text, [note for note, count in notes if count]


def rtf_html(data: bytes) -> str:
    """Return the web page that a mail program wrapped in RTF (``\\fromhtml``), "" if there is none.

    Its tags are in groups of their own. What only an RTF reader should show is between ``\\htmlrtf`` marks.
    """
    source = _without_data(data.decode("latin-1"))
    if "\\fromhtml1" not in source[:_LONGEST]:
        return ""
    source = _HTML_TAG.sub("{", _RTF_ONLY.sub("", source))
    try:
        return str(rtf_to_text(_with_pairs(_with_charsets(source)), _usual_codec(source), errors="replace"))
    except _UNREADABLE:
        return ""


def _usual_codec(source: str) -> str:
    """Return the codec of the file's code page, used for fonts without a character set of their own."""
    page = _CODE_PAGE.search(source)
    try:
        return codecs.lookup(f"cp{page[0].removeprefix(_PAGE)}").name if page is not None else "cp1252"
    except LookupError:
        return "cp1252"


def _rtf_pages(text: str) -> Iterator[Part]:
    before = 0
    for page in text.split("\f"):
        yield Part(list(_rtf_blocks(page, before)))
        before += page.count("\n")


def _rtf_blocks(text: str, before: int) -> Iterator[Block]:
    rows: list[tuple[str, ...]] = []
    for at, line in enumerate([*text.split("\n"), ""], before + 1):
        if line.endswith("|") and (rows or line.count("|") > 1):
            cells = [_NESTED_ENDS.sub("", _formed(cell)).strip() for cell in line.split("|")[:-1]]
            above = rows[-1] if rows else ()
            rows.append(tuple(
                text.replace(_MERGED, "") or (above[column] if _MERGED in text and column < len(above) else "")
                for column, text in enumerate(cells)
            ))  # fmt: skip
            continue
        if rows:
            yield Table(tuple(rows), place=f"paragraph {at - len(rows)}")
            rows = []
        line = line.removesuffix("|")  # the only cell of a row
        level, text = line.lstrip()[1:2] if line.lstrip()[:1] == _LEVEL else "", _formed(line)
        if text.strip() and level:
            yield Heading(int(level), _formed(_ADDRESS.sub("", line)).strip(), place=f"paragraph {at}")
        elif text.strip():
            yield Paragraph(text, f"paragraph {at}")


def _formed(line: str) -> str:
    """Return a line with its inserted format marks replaced by plain signs, such as "^" for superscripts."""
    line = line.replace(_BAR_MARK, "|")
    line = re.sub(f"{_LEVEL}.", "", line)
    if _FORM not in line and _LINK not in line:
        return line
    pieces: list[Piece] = []
    code, link, at = 1, "", 0
    for mark in (*_MARKED.finditer(line), None):
        text = line[at : mark.start() if mark is not None else len(line)]
        pieces.append(Piece(text, code % 3 - 1, code >= 3, link))
        if mark is not None:
            code = int(mark[1]) if mark[1] and mark[1] in "012345" else 1 if mark[1] else code
            link, at = mark[2] if mark[2] is not None else link, mark.end()
    return linear(pieces)


def _rtf_info(data: bytes) -> dict[str, str]:
    source = data.decode("latin-1")
    info = source.find("{\\info")
    page = _CODE_PAGE.search(source)
    head = f"{{\\rtf1\\ansi{page[0] if page else ''} "
    fields = {}
    for key in ("title", "author", "subject", "keywords") if info >= 0 else ():
        begin = re.compile(rf"\{{\s?\\{key}(?![a-z])").search(source, info, info + _LONGEST)
        if begin is not None:
            inside = source[begin.end() : _group_end(source, begin.start()) - 1][:_LONGEST_FONT]
            fields[key] = " ".join(str(rtf_to_text(f"{head}{inside}}}", errors="replace")).split())
    return {key: value for key, value in fields.items() if value}


def _without_data(source: str) -> str:
    """Return the RTF source without the binary data of pictures and objects, which may contain braces.

    If the group does not end after the stated length of its data, the length is wrong and is ignored.
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
    """Return the RTF source with the file's character set for fonts that state none.

    The library would use the character set of the next font.
    """
    begin = _FONTS.search(source)
    if begin is None:
        return source
    end = _group_end(source, begin.start())
    table = source[begin.start() : end]
    starts = [font.end() for font in _FONT.finditer(table)]
    for at, stop in reversed(list(zip(starts, [*starts[1:], len(table)], strict=False))):  # a table may be empty
        if "\\fcharset" not in table[at:stop]:
            page = _FONT_PAGE.search(table, at, stop)
            charset = _PAGE_CHARSETS.get(int(page[1]), 1) if page is not None else 1
            table = f"{table[:at]}\\fcharset{charset}{table[at:]}"
    return source[: begin.start()] + table + source[end:]


def _with_pairs(source: str) -> str:
    """Return the RTF source with each two-byte character written as two escaped bytes.

    Word writes a second byte in the ASCII range without an escape.
    """
    doubles = _double_fonts(source)
    if not any(doubles.values()):
        return source
    usual = doubles[-1]
    font, groups, parts = usual, list[str](), list[str]()
    lead, at = False, 0
    while (token := _TOKEN.match(source, at)) is not None:
        at, text = token.end(), token[0]
        if text == "{":
            groups.append(font)
        elif text == "}":
            font = groups.pop() if groups else usual
        elif token[1] in ("f", "plain"):
            font = doubles.get(int(token[2] or 0), usual) if token[1] == "f" else usual
        if text.startswith("\\'"):
            code = int(text[2:], 16)
            lead = bool(font) and not lead and 0x81 <= code <= 0xFE and not (font == "932" and 0xA0 <= code <= 0xDF)
        elif text.strip("\r\n"):
            second = text[1] if text in ("\\\\", "\\{", "\\}") else text[0] if text[0] not in "\\{}" else ""
            if lead and second and "@" <= second <= "~":
                text = f"\\'{ord(second):02x}{text[1 if text[0] != _ESCAPE else 2 :]}"
            lead = False
        parts.append(text)
    return "".join((*parts, source[at:]))


def _double_fonts(source: str) -> dict[int, str]:
    """Return ``{font number: code page}`` for fonts with two-byte characters. The value is "" for other fonts.

    The key -1 has the code page of the file.
    """
    page = _CODE_PAGE.search(source)
    usual = page[0].removeprefix(_PAGE) if page is not None else ""
    doubles = {-1: usual if usual in _DOUBLE.values() else ""}
    begin = _FONTS.search(source)
    table = source[begin.start() : _group_end(source, begin.start())] if begin is not None else ""
    fonts = [*_FONT.finditer(table)]
    for font, end in zip(fonts, [*(font.start() for font in fonts[1:]), len(table)], strict=False):
        charset = _FONT_CHARSET.search(table, font.end(), end)
        number = int(charset[1]) if charset is not None else 1
        doubles[int(font[0][2:])] = doubles[-1] if number < 2 else _DOUBLE.get(number, "")
    return doubles


def _with_unicode(source: str) -> str:
    """Return the RTF source with only the Unicode form of each text that is stored in two forms."""
    parts: list[str] = []
    at = 0
    for pair in _TWO_FORMS.finditer(source):
        end = _group_end(source, pair.start())
        if pair.start() >= at and (form := _UNICODE_FORM.search(source, pair.end(), end)) is not None:
            parts += (source[at : pair.start()], "{", source[form.end() : _group_end(source, form.start())])
            at = end
    return "".join((*parts, source[at:])) if parts else source


def _with_notes(source: str) -> str:
    """Return the RTF source with footnotes and comments, which the library ignores, in brackets at their references."""
    parts: list[str] = []
    at = 0
    for note in _NOTE.finditer(source):
        if note.start() < at or len(parts) > 2 * _MOST_NOTES:
            continue
        end = _group_end(source, note.start())
        inside = _MARK.sub("", source[note.end() : end - 1]).replace("\\par", " \\pard")
        names = _AUTHOR.findall(source, max(at, note.start() - _NEAR_AUTHOR), note.start())
        author = f" by {names[-1]}" if names and note[1] == "annotation" else ""
        parts += (source[at : note.start()], f"{{ [{note[1]}{author}: {inside}] }}")
        at = end
    return "".join((*parts, source[at:]))


def _with_fields(source: str) -> str:
    """Insert check boxes and the chosen entries of lists before their fields, whose contents the library ignores."""
    parts: list[str] = []
    at = 0
    for form in _FORM_FIELD.finditer(source):
        inside = source[form.end() : _group_end(source, form.start())]
        begins = [*_FIELD.finditer(source, at, form.start())]
        if not begins or (kind := _FIELD_KIND.search(inside)) is None or len(parts) > 2 * _MOST_NOTES:
            continue
        results = [int(result[1]) for name in (_RESULT, _USUAL_RESULT) if (result := name.search(inside)) is not None]
        chosen = next((result for result in results if result != _UNSET), 0)
        entries = _ENTRY.findall(inside)
        sign = f"\\uc0\\u{ord('☒' if chosen else '☐')} "
        shown = sign if kind[1] == "1" else "".join(entries[chosen : chosen + 1])
        parts += (source[at : begins[-1].start()], f"{{{shown}}}")
        at = begins[-1].start()
    return "".join((*parts, source[at:]))


def _with_nested_rows(source: str) -> str:
    """Return the RTF source with a semicolon after each row of a table inside a cell, which is written in its cell."""
    parts: list[str] = []
    at = 0
    for row in _NESTED_ROW.finditer(source):
        if row.start() >= at:
            parts += (source[at : row.start()], "; ")
            at = _group_end(source, row.start())
    return "".join((*parts, source[at:])) if parts else source


def _with_results(source: str) -> str:
    """Return the RTF source with the addresses of links in marks, and with what fields without a result show."""
    begins = list(_INSTRUCTION.finditer(source))
    ends = _group_ends(source) if begins else {}
    parts: list[str] = []
    at = 0
    for begin, following in zip(begins, [*(other.start() for other in begins[1:]), len(source)], strict=False):
        end = ends.get(begin.start(), len(source))
        if begin.start() < at or following < end:  # inside a link, or around the instruction of another field
            continue
        instruction = _instruction_text(source[begin.end() : end - 1])
        result = _RESULT_GROUP.match(source, end)
        close = ends.get(end, len(source)) - 1 if result is not None else end
        link = _HYPERLINK.match(instruction)
        if result is not None and link is not None:
            address = f" {_LINK}{quote(link[1], safe=_SAFE)}{_LINK}"
            parts += (source[at : begin.start()], source[end : result.end()], address)
            parts += (source[result.end() : close], _LINK * 2)
            at = close
        elif words := field_words(instruction):
            stored = "" if result is None else source[result.end() : close]
            if len(stored) < _LONGEST_EMPTY and not rtf_to_text(f"{{\\rtf1{stored}}}", errors="replace").strip():
                parts += (source[at:end], "{\\uc0 ", *(f"\\u{ord(sign)} " for sign in words), "}")
                at = end
    return "".join((*parts, source[at:]))


def _instruction_text(source: str) -> str:
    """Return the instruction of a field without its formatting."""
    return _INSTRUCTION_SIGN.sub(
        lambda sign: sign[1] or (bytes.fromhex(sign[2]).decode("cp1252", "replace") if sign[2] else ""), source
    )


def _without_heads(source: str) -> tuple[str, list[str]]:
    """Return the RTF source without its running heads, and each running head as a separate RTF source."""
    first = _HEAD_GROUP.search(source)
    if first is None:
        return source, []
    opening = source[: first.start()]
    fonts = _FONTS.search(opening)
    table = opening[fonts.start() : _group_end(opening, fonts.start())] if fonts is not None else ""
    page = _CODE_PAGE.search(opening)
    parts, heads, at = list[str](), list[str](), 0
    for head in _HEAD_GROUP.finditer(source):
        if head.start() < at or len(heads) > _MOST_NOTES:
            continue
        end = _group_end(source, head.start())
        parts.append(source[at : head.start()])
        heads.append(f"{{\\rtf1{page[0] if page else ''}{table}\\pard {source[head.end() : end - 1]}\\par}}")
        at = end
    return "".join((*parts, source[at:])), heads


def _sign_fonts(source: str) -> dict[int, dict[int, str]]:
    """Return ``{font number: {code: character}}`` for the symbol fonts of the file."""
    begin = _FONTS.search(source)
    table = source[begin.start() : _group_end(source, begin.start())] if begin is not None else ""
    fonts: dict[int, dict[int, str]] = {}
    starts = [*_FONT.finditer(table)]
    for font, after in zip(starts, [*(font.start() for font in starts[1:]), len(table)], strict=False):
        described = re.sub(r"\{[^{}]{0,200}\}", "", table[font.end() : min(after, font.end() + _LONGEST_FONT)])
        name = re.sub(r"\\[*a-z]+-?\d*", " ", described).partition(";")[0]
        if (signs := signs_of(name)) is not None:
            fonts[int(font[0][2:])] = signs
    return fonts


def _group_end(source: str, start: int) -> int:
    """Return the offset after the brace that closes the group which begins at ``start``."""
    deep, at = 0, start
    for sign in _BRACE.finditer(source, start):
        deep += {"{": 1, "}": -1}.get(sign[0], 0)
        at = sign.end()
        if not deep:
            break
    return at


def _group_ends(source: str) -> dict[int, int]:
    """Return the offset after each closed group, by the offset at which the group begins."""
    ends: dict[int, int] = {}
    begins: list[int] = []
    for sign in _BRACE.finditer(source):
        if sign[0] == "{":
            begins.append(sign.start())
        elif sign[0] == "}" and begins:
            ends[begins.pop()] = sign.end()
    return ends


@dataclass(frozen=True, slots=True)
class _State:
    """The formatting at one position in an RTF group, such as struck out or hidden.

    It applies to the words that follow.
    """

    shift: int = 0
    struck: bool = False
    deleted: bool = False
    moved: bool = False  # to another place, by a tracked change
    level: int | None = None  # of a heading, from 0
    in_table: bool = False
    hidden: bool = False
    font: int = -1

    @property
    def code(self) -> int:
        return self.shift + 1 + 3 * self.struck


def _with_marks(source: str, signs: dict[int, dict[int, str]]) -> tuple[str, int, int]:
    """Insert marks before formatted words, before headings and in merged cells, and remove deleted and hidden words.

    Return the source, and the numbers of hidden and of deleted words. ``signs`` are the characters of symbol fonts.
    """
    sheet = _STYLES.search(source)
    end = _group_end(source, sheet.start()) if sheet is not None else 0  # names of styles are no words
    styles = source[sheet.start() : end] if sheet is not None else ""
    levels = {int(style): int(level) for style, level in _STYLE.findall(styles)}
    state, groups, parts = _State(), [], list[str]()
    form, begun, at, hidden, deleted = 1, False, 0, 0, 0
    row = _Row()
    while (token := _TOKEN.match(source, at)) is not None:
        at, text, word, number = token.end(), token[0], token[1], token[2]
        if text == "{":
            groups.append(state)
        elif text == "}":
            state = groups.pop() if groups else state
        elif word is not None and word != "u":
            state = _changed(state, word, number, levels)
            if row.ends_merged_cell(word):
                parts.append(_MERGED)
            if word in _ENDS:
                form = 1
            if word in _ENDS or word == "pard":
                begun = begun and word == "line"
        elif text.strip("\r\n") and not (text[0] == "\\" and text[1] in "*\r\n"):
            if state.moved:
                continue
            if state.deleted or state.hidden:
                count = 0 if text[0] == "\\" or at <= end else len(text.split())
                deleted, hidden = (deleted + count, hidden) if state.deleted else (deleted, hidden + count)
                continue
            if not _LEAD.match(parts[-1] if parts else ""):
                text = _BAR.sub(_BAR_MARK, text)
            if (font := signs.get(state.font)) is not None:
                text = _as_signs(text, font)
            if not begun and text.strip():
                begun = True
                if state.level is not None and state.level < _LEVELS and not state.in_table:
                    parts.append(f"{_LEVEL}{state.level + 1}")
            if state.code != form:
                form = state.code
                parts.append(f"{_FORM}{form}")
        parts.append(text)
    return "".join((*parts, source[at:])), hidden, deleted


@dataclass(slots=True)
class _Row:
    """The definition of a table row: for each cell whether it continues the cell above."""

    cells: list[bool] = field(default_factory=list)
    merged: bool = False
    at: int = 0

    def ends_merged_cell(self, word: str) -> bool:
        """Follow a control word. Return whether it ends a cell that continues the cell above."""
        if word == "trowd":
            self.cells, self.merged, self.at = [], False, 0
        elif word == "clvmrg":
            self.merged = True
        elif word == "cellx":
            self.cells.append(self.merged)
            self.merged = False
        elif word == "row":
            self.at = 0
        elif word == "cell":
            self.at += 1
            return self.at <= len(self.cells) and self.cells[self.at - 1]
        return False


def _as_signs(text: str, font: dict[int, str]) -> str:
    """Replace the characters of a text by the characters that a symbol font shows for them."""
    codes = [int(text[2:], 16)] if text.startswith("\\'") else [] if text[0] == "\\" else list(map(ord, text))
    return "".join(
        f"{{\\uc0\\u{ord(font[code])} }}" if code in font and code != 32 else chr(code) for code in codes
    ) or (text if text[0] == "\\" else "")


def _changed(state: _State, word: str, number: str | None, levels: dict[int, int]) -> _State:
    """Return the formatting after a control word. ``levels`` are the heading levels of styles."""
    off = number == "0"
    if word in _FORMS:
        return replace(state, struck=not off)
    if word in _SHIFTS:
        return replace(state, shift=0 if off else _SHIFTS[word])
    if word == "deleted":
        return replace(state, deleted=not off)
    if word == "mvf":
        return replace(state, moved=not off)
    if word == "plain":
        return replace(state, shift=0, struck=False, deleted=False, moved=False, hidden=False, font=-1)
    if word == "v":
        return replace(state, hidden=not off)
    if word == "f" and number:
        return replace(state, font=int(number))
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
    """Return the RTF source with the words of boxes and drawings after the paragraphs that contain them.

    The words are the texts of boxes, of drawn letters (WordArt) and alternative texts. The library would ignore them.
    """
    parts: list[str] = []
    at = 0
    seen = 0  # end of the latest box
    for box in _BOX.finditer(source):
        if box.start() < max(at, seen) or len(parts) > 3 * _MOST_NOTES:
            continue
        end = _group_end(source, box.start())
        words: list[str] = []
        close = 0
        for drawn in _DRAWN_WORDS.finditer(source, box.start(), end):
            if drawn.start() < close:
                continue
            close = _group_end(source, drawn.start() + drawn[0].rindex("{"))
            text = source[drawn.end() : close - 1].strip()
            if drawn[1] == "gtextUNICODE":
                words.append(text)
            elif text and _FILE_NAME.search(text) is None:
                words.append(f"![{text}]")
        if (inside := _BOX_TEXT.search(source, box.start(), end)) is not None:
            words.append(source[inside.end() : _group_end(source, inside.start()) - 1])
        if words := list(dict.fromkeys(filter(None, words))):
            stop = _paragraph_end(source, end)
            begin, lines = "\\par " if stop == end else " ", "\\par ".join(words)
            parts += (source[at : box.start()], source[end:stop], f"{{{begin}{lines}\\par }}")
            at = stop
        else:
            seen = end
    return "".join((*parts, source[at:]))


def _paragraph_end(source: str, start: int) -> int:
    """Return the offset after the paragraph that contains ``start``.

    Return ``start`` if its group ends before the paragraph does, or another box follows.
    """
    deep = 0
    for sign in _BORDER.finditer(source, start, start + _LONGEST):
        deep += {"{": 1, "}": -1}.get(sign[0], 0)
        if deep < 0 or _BOX.match(source, sign.start()):
            break
        if not deep and sign[0] == "\\par":
            return sign.end()
    return start
