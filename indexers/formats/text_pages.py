"""Division of text without pages into pages about as long as a printed page, at pauses in the text.

Pages are divided from the beginning, and each end depends only on the lines around it. So a change leaves the pages
before it unchanged.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from html.entities import html5
from itertools import accumulate, groupby
from types import MappingProxyType
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from hybrid_core.errors import DocumentError, LimitError
from hybrid_core.text.tokens import clean
from hybrid_core.types.documents import HeadingSource, Line, LineRole, MarkedHeading, ParsedPage, Places
from hybrid_core.types.notes import Note
from indexers.formats.clauses import clause_levels, find_clauses, looks_like_clause
from indexers.formats.flow.blocks import code_role
from indexers.formats.flow.linear import shifted, with_readings
from indexers.formats.format import FileInfo
from indexers.formats.limits import ParseLimits
from indexers.formats.raster import grey_picture

_LEAST, _MOST = 2_500, 4_000  # minimum and maximum characters of a page
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_WIDE_WORTH = 1.7  # a Chinese character counts for almost three letters

INSIDE, PARAGRAPH, CLAUSE, HEADING = range(4)  # ranks of the border before a line: its suitability as a page end
# minimum content of a page that ends at such a border
_ENOUGH = {PARAGRAPH: 0.6 * _MOST, CLAUSE: 0.45 * _MOST, HEADING: 0.35 * _MOST}
_FULL = {CLAUSE: 0.5 * (_LEAST + _MOST), HEADING: _LEAST}  # content from which a page ends at the next such border


def cut_pages(lines: Sequence[str], borders: Sequence[int]) -> list[tuple[int, int]]:
    """Return (first line, line after the last) of each page, from 0. Together the pages have all lines.

    ``borders`` ranks how suitable the border before each line is as a page end. A page may end with blank lines, and
    never begins with one.
    """
    weights = [len(line) + 1 + _WIDE_WORTH * (0 if line.isascii() else len(_WIDE.findall(line))) for line in lines]
    pages: list[tuple[int, int]] = []
    start = 0
    while start < len(lines):
        end = _end(start, lines, borders, weights)
        pages.append((start, end))
        start = end
    return pages


def _end(start: int, lines: Sequence[str], borders: Sequence[int], weights: Sequence[float]) -> int:
    best, best_rank, total = 0, INSIDE, weights[start]
    for at in range(start + 1, len(lines)):
        if lines[at].strip():
            rank = borders[at]
            if rank in _FULL and total >= _FULL[rank]:
                return at
            if rank > INSIDE and rank >= best_rank and total >= _ENOUGH[rank]:
                best, best_rank = at, rank
            if total + weights[at] > _MOST:
                return best or at
        total += weights[at]
    return len(lines)


def repeat_heads(
    columns: Sequence[list[Any]], tables: Sequence[tuple[int, int, int]], spans: Sequence[tuple[int, int]]
) -> tuple[list[tuple[int, int]], Callable[[int], int]]:
    """Repeat a table's column headings on each page that begins inside it.

    ``columns`` are lists with an entry per line, such as the lines themselves; they are changed in place. ``tables``
    are (first line, line after the last, number of heading lines), ``spans`` the pages. Return the pages with their new
    lines, and a function from old to new line numbers.
    """
    begins = [start for start, _, _ in tables]
    places: list[tuple[int, int, int]] = []  # a line, and the range of the headings to repeat before it
    for line, _ in spans:
        at = bisect_right(begins, line) - 1
        if at >= 0 and tables[at][0] + tables[at][2] <= line < tables[at][1]:
            places.append((line, tables[at][0], tables[at][0] + tables[at][2]))
    lines = [line for line, _, _ in places]
    added = [0, *accumulate(end - first for _, first, end in places)]
    for column in columns if places else ():
        written, last = column[: lines[0]], lines[0]
        for line, first, end in places:
            written += [*column[last:line], *column[first:end]]
            last = line
        column[:] = written + column[last:]

    def moved(line: int) -> int:
        return line + added[bisect_right(lines, line)]

    return [(first + added[bisect_left(lines, first)], moved(end - 1) + 1) for first, end in spans], moved


_LONGEST_TITLE = 300  # characters; a longer "heading" is a paragraph above a rule
_ATTRIBUTES = re.compile(r"\s*\{[#.:][^{}]*\}\s*$")  # ## Title {#anchor}
_IMAGE = re.compile(r"!\[[^\]]*\][(\[]|<img\s", re.IGNORECASE)
_COMMENT = re.compile(r"\s*(?:<!--.*?-->\s*)+", re.DOTALL)
_BLOCKS = frozenset(
    "paragraph_open list_item_open bullet_list_open ordered_list_open blockquote_open fence code_block table_open "
    "html_block hr".split()
)


@dataclass(frozen=True, slots=True)
class TitledLine:
    """A heading at a line (from 0) of the text."""

    line: int
    level: int
    title: str


@dataclass(slots=True)
class Blocks:
    """The structure of Markdown lines.

    ``borders`` ranks how suitable the border before each line is as a page end. ``paragraphs`` are the lines of
    top-level paragraphs.
    """

    roles: list[LineRole]
    borders: list[int]
    headings: list[TitledLine] = field(default_factory=list)
    paragraphs: list[int] = field(default_factory=list)
    # first line, line after the last, number of heading lines
    tables: list[tuple[int, int, int]] = field(default_factory=list)


@cache
def block_parser() -> MarkdownIt:
    """Return the parser of blocks, which does not parse their contents. It is cached, since it is slow to create."""
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


@cache
def _inline_parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("strikethrough")


def read_blocks(lines: Sequence[str]) -> Blocks:
    """Parse blocks by CommonMark with tables. Only top-level headings count, not those in lists or quotes.

    Formulas between lines of "$$" are code.
    """
    blocks = Blocks(["text"] * len(lines), [INSIDE] * len(lines))
    tokens = block_parser().parse("\n".join(lines))
    if formulas := _formula_lines(lines, tokens):
        tokens = block_parser().parse("\n".join("$" if at in formulas else line for at, line in enumerate(lines)))
    inline = _inline_parser()
    for at, token in enumerate(tokens):
        if token.map is None:
            continue
        first, stop = token.map[0], min(token.map[1], len(lines))
        if token.type == "heading_open":
            title = _heading_title(tokens[at + 1].content, inline)
            if token.level == 0 and title and len(title) <= _LONGEST_TITLE:
                blocks.headings.append(TitledLine(first, int(token.tag[1:]), title))
                blocks.borders[first] = HEADING
                blocks.roles[first:stop] = ["heading"] * (stop - first)
        elif token.type in _BLOCKS:
            blocks.borders[first] = max(blocks.borders[first], PARAGRAPH)
            if token.type == "table_open" and token.level == 0:
                blocks.tables.append((first, stop, 2))
            if (role := _role(token)) != "text":
                blocks.roles[first:stop] = [role] * (stop - first)
            elif token.type == "paragraph_open" and token.level == 0:
                blocks.paragraphs += range(first, stop)
    for at, line in enumerate(lines):
        if at in formulas:
            blocks.roles[at] = "code"
        elif blocks.roles[at] == "text" and _IMAGE.search(line):
            blocks.roles[at] = "image"
    return blocks


def _formula_lines(lines: Sequence[str], tokens: Sequence[Token]) -> set[int]:
    """Return the lines of displayed formulas: from a line that begins with "$$" to one that ends with it.

    A formula contains no blank line.
    """
    formulas: set[int] = set()
    if not any(line.lstrip().startswith("$$") for line in lines):
        return formulas
    raw = [token.map for token in tokens if token.type in ("fence", "code_block", "html_block") and token.map]
    verbatim = {at for first, stop in raw for at in range(first, stop)}
    start = -1
    for at, line in enumerate(lines):
        if not line.strip() or at in verbatim:
            start = -1
        elif start < 0 and line.lstrip().startswith("$$") and line.count("$$") == 1:
            start = at
        elif start >= 0 and "$$" in line:
            formulas.update(range(start, at + 1))
            start = -1
    return formulas


def _role(token: Token) -> LineRole:
    if token.type == "table_open":
        return "table"
    if token.type == "code_block":
        return "code"
    if token.type == "fence":
        return code_role(next(iter(token.info.split()), ""))
    if token.type == "html_block":
        content = token.content.lstrip().lower()
        if _COMMENT.fullmatch(content):
            return "comment"
        if content.startswith("<table"):
            return "table"
        if content.startswith("<pre"):
            return "code"
    return "text"


def _heading_title(source: str, inline: MarkdownIt) -> str:
    """Return the words of a heading without markup, "" if it is far too long."""
    if len(source) > 4 * _LONGEST_TITLE:
        return ""
    source = inline_text(_ATTRIBUTES.sub("", source), escaped=True)
    if source.isalnum():
        return clean(source)
    tokens = inline.parseInline(source)
    text = "".join(_token_text(token) for token in tokens[0].children or ())
    return " ".join(clean(text.replace("\n", " ")).split())


def _token_text(token: Token) -> str:
    if token.type == "html_inline":
        return ""
    return " " if token.type in ("softbreak", "hardbreak") else token.content


_INLINE = (
    "a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|ins|kbd|label|mark|nobr|q|s|samp|small|span|strike|"
    "strong|sub|sup|time|tt|u|var|wbr|ruby|rb|rt|rp"
)
_BLOCK_TAGS = (
    "address|article|aside|blockquote|br|caption|center|dd|details|div|dl|dt|figcaption|figure|footer|h[1-6]|header|hr|"
    "li|main|nav|ol|p|picture|section|summary|table|tbody|td|tfoot|th|thead|tr|ul"
)
_VALUE = r"""(?:"[^"]{0,2000}"|'[^']{0,2000}'|[^\s"'=<>`]{1,2000})"""
_TAG_END = rf"(?>(?:\s+[a-z_:@][\w:.@-]{{0,100}}(?:\s*=\s*{_VALUE})?){{0,50}})\s*/?>"  # with attributes, by CommonMark
_INSIDE = r"(?:(?!\\[)\]])[^`]){0,300}"
_TEX = re.compile(r"\\[A-Za-z]|[\^{}]|\w_")  # signs of a formula in "\(…\)", which may also be text in brackets
_MARKUP = re.compile(
    r"(?P<verbatim>(?P<ticks>`+)(?!`).{0,500}?(?<!`)(?P=ticks)(?!`)|\$\$.{0,500}?\$\$|\$[^$\s](?:[^$]{0,2000}[^$\s])?\$)"
    rf"|\\\((?P<round>{_INSIDE})\\\)|\\\[(?P<square>{_INSIDE})\\\]"
    r"|(?P<remark><!--.{0,500}?-->)"
    r"|<(?P<form>sup|sub|del|s|strike)(?:\s[^<>]{0,500})?>(?P<words>.{0,500}?)</(?P=form)\s*>"
    r"|<ruby(?:\s[^<>]{0,500})?>(?P<ruby>.{0,500}?)</ruby\s*>"
    rf"|</?(?P<inline>{_INLINE}){_TAG_END}"
    rf"|<(?P<block>/?(?:{_BLOCK_TAGS})){_TAG_END}"
    r"|(?P<entity>&(?:#[0-9]{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,31});)"
    r"|\\(?P<sign>[!-/:-@\[\]^_`{}~])",
    re.I,
)
_READING = re.compile(r"<rt(?:\s[^<>]{0,500})?>(.*?)(?:</rt\s*>|(?=<rb\b|<rt\b|<rp\b)|\Z)", re.I)
_PARENTHESIS = re.compile(r"<rp(?:\s[^<>]{0,500})?>.*?(?:</rp\s*>|\Z)", re.I)


def inline_text(line: str, *, escaped: bool = False) -> str:
    """Return a line of Markdown with its HTML as it is displayed: without tags and remarks, with superscripts marked.

    Entities and escaped signs become characters, unless ``escaped`` says to keep them. Code and formulas stay as they
    are. Readings (ruby) follow the line.
    """
    if "<" not in line and (escaped or ("&" not in line and "\\" not in line)):
        return line
    text, readings, at = "", list[str](), 0
    for match in _MARKUP.finditer(line):
        text += line[at : match.start()]
        text += match[0] if escaped and (match["entity"] or match["sign"]) else _shown(match, text, readings)
        at = match.end()
    return with_readings(text + line[at:], readings)


def _shown(match: re.Match[str], before: str, readings: list[str]) -> str:
    for signs, inside in (("()", match["round"]), ("[]", match["square"])):
        if inside is not None:
            return match[0] if _TEX.search(inside) else f"{signs[0]}{inline_text(inside)}{signs[1]}"
    if match["verbatim"]:
        return match[0]
    if match["words"] is not None:
        words = inline_text(match["words"])
        if match["form"].lower() not in ("sup", "sub"):
            return f"~~{words.strip()}~~" if words.strip() else ""
        if "<a" in match["words"].lower() and not words.startswith(("[", "(")):
            return f"[{words.strip()}]"
        return shifted(words, 1 if match["form"].lower() == "sup" else -1, before[-1:])
    if match["ruby"] is not None:
        inside = _PARENTHESIS.sub("", match["ruby"])
        base = inline_text(_READING.sub("", inside))
        reading = " ".join(inline_text(part).strip() for part in _READING.findall(inside))
        readings += [f"{''.join(base.split())} {reading}"] if reading.strip() else []
        return base
    if match["block"]:
        gap = "" if not before.strip() or before[-1:].isspace() else " "
        return f"{gap}- " if match["block"].lower() == "li" else gap
    if match["entity"]:
        signs = html.unescape(match[0]) if match[0][1] == "#" else html5.get(match[0][1:], match[0])
        return match[0] if signs == "|" else " ".join(signs.split("\n"))
    return match["sign"] or ""


_MOST_PICTURES = 200  # maximum pictures per page
PagePictures = Mapping[int, Sequence[tuple[int, str]]]
HeadingLine = tuple[int, int, str, HeadingSource]  # line, level, title, source


@dataclass(frozen=True, slots=True)
class PageLines:
    """A page as a range of the file's lines (from 0): ``first`` to ``end`` (excluded)."""

    first: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class MarkedText:
    """The lines of a file with their roles, pages and headings.

    ``places`` locates each line in the file, or is empty.
    """

    lines: Sequence[str]
    roles: Sequence[LineRole]
    pages: Sequence[PageLines]
    headings: Sequence[HeadingLine]
    places: Sequence[str] = ()


class MarkedFile:
    """An open file whose pages are ranges of lines.

    ``pictures`` has, by page number, (line of the page from 0, name) of the pictures. Each is shown before its line.
    ``images`` returns a picture's bytes by its name.
    """

    def __init__(
        self,
        text: MarkedText,
        metadata: dict[str, str],
        warnings: Sequence[str],
        limits: ParseLimits,
        pictures: PagePictures = MappingProxyType({}),
        images: Callable[[str], bytes] | None = None,
    ) -> None:
        self._pictures = {number: shown[:_MOST_PICTURES] for number, shown in pictures.items()}
        self._images = images
        warnings = [*warnings, *(
            Note("read.many-pictures", page=number, pictures=len(shown), limit=_MOST_PICTURES)
            for number, shown in pictures.items() if len(shown) > _MOST_PICTURES
        )]  # fmt: skip
        self._text, self._metadata, self._warnings, self._limits = text, metadata, warnings, limits
        self.pages = len(text.pages)

    def info(self) -> FileInfo:
        """Return the metadata and headings. Too many headings are replaced by a warning."""
        headings, warnings = self._text.headings, list(self._warnings)
        count = len(headings)
        try:
            self._limits.check("max_bookmarks", count, f"its headings were ignored, because there are {count:,}")
        except LimitError as error:
            headings = []
            warnings.append(error.note)
        starts = [page.first for page in self._text.pages]
        marked = []
        for line, level, title, source in headings:
            page = bisect_right(starts, line)
            marked.append(MarkedHeading(level, title, page, line - starts[page - 1], source))
        return FileInfo(self.pages, (), self._metadata, tuple(warnings), tuple(marked))

    def read(self, numbers: Iterable[int], on_page: Callable[[int], None]) -> Iterator[ParsedPage | DocumentError]:
        """Yield pages by their 1-based numbers. For a page over a limit, yield its error."""
        for number in numbers:
            try:
                yield self._page(number)
            except LimitError as error:
                yield error
            on_page(number)

    def page_pictures(self, number: int) -> Iterator[tuple[int, bytes]]:
        """Yield the pictures of a page that may show words, as greyscale PGM images with their lines (from 0).

        Raise DocumentError if one cannot be extracted.
        """
        for line, data in self.images(number):
            if (image := grey_picture(data, self._limits)) is not None:
                yield line, image

    def images(self, number: int) -> Iterator[tuple[int, bytes]]:
        """Yield the stored pictures of a page (1-based), each with the line (from 0) before which it is shown.

        Raise DocumentError if one cannot be extracted.
        """
        for line, name in self._pictures.get(number, ()):
            if self._images is not None:
                yield line, self._images(name)

    def close(self) -> None:
        """Do nothing: no file is open."""

    def _page(self, number: int) -> ParsedPage:
        text, page = self._text, self._text.pages[number - 1]
        start, last = page.first, page.end
        while last > start and not text.lines[last - 1]:
            last -= 1
        self._limits.check("max_page_lines", last - start, f"page {number} has {last - start:,} lines of text")
        characters = sum(map(len, text.lines[start:last]))
        self._limits.check("max_page_characters", characters, f"page {number} has {characters:,} characters")
        lines = tuple(
            Line(words, role=role) for words, role in zip(text.lines[start:last], text.roles[start:last], strict=True)
        )
        pictures = len(self._pictures.get(number, ()))
        unread = pictures > 0 and not any(line.text and line.role != "image" for line in lines)
        return ParsedPage(
            number, page.label, lines=lines, places=_begun(text.places[start:last]), pictures=pictures,
            needs_ocr=unread,
        )  # fmt: skip


def _begun(places: Sequence[str]) -> Places:
    """Return (line, place) for each line at which a new place begins, such as a slide or a paragraph."""
    places_begun: list[tuple[int, str]] = []
    for line, place in enumerate(places):
        if place and (not places_begun or place != places_begun[-1][1]):
            places_begun.append((line, place))
    return tuple(places_begun)


def page_borders(
    borders: Sequence[int], lines: Sequence[str], roles: Sequence[LineRole], paragraphs: Sequence[int], start: int = 0
) -> list[int]:
    """Return for each line from ``start`` how suitable the border before it is as a page end, as a rank.

    A border after a heading has the lowest rank, so that no page ends with a heading. ``borders`` are the ranks from
    markup; ``paragraphs`` are the lines, in order, that may begin a clause.
    """
    ranked = list(borders[start:])
    for at in paragraphs[bisect_left(paragraphs, start) :]:
        if ranked[at - start] <= PARAGRAPH and looks_like_clause(lines[at]):
            ranked[at - start] = CLAUSE
    titled = False
    for at in range(start, len(lines)):
        if lines[at]:
            if titled:
                ranked[at - start] = INSIDE
            titled = roles[at] == "heading"
    return ranked


def with_clauses(headings: Sequence[TitledLine], lines: Sequence[str], starts: Sequence[int]) -> list[HeadingLine]:
    """Return the headings from markup and the numbered clauses below them, in order.

    ``starts`` are the lines that may begin a clause.
    """
    at_lines = [heading.line for heading in headings]
    clauses = find_clauses([(at, lines[at]) for at in starts], at_lines, lines)
    heading_lines: list[HeadingLine] = [(h.line, h.level, h.title, "markup") for h in headings]
    for under, group in groupby(clauses, key=lambda clause: bisect_right(at_lines, clause.line)):
        run = list(group)
        above = headings[under - 1].level if under else 0
        heading_lines += [
            (clause.line, above + level, clause.title, "clause")
            for clause, level in zip(run, clause_levels(run), strict=True)
        ]
    return sorted(heading_lines)
