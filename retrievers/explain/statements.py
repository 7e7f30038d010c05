"""Split a page into statements: sentences, table rows, list items and headings, with the question's terms in each."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Set
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from hybrid_core.text import tokens as words
from hybrid_core.text.markup import GAP, Offsets, TableRow, hidden, table_rows, visible
from hybrid_core.text.prose import sentences

WINDOW_CHARS = 280
_CACHE_PAGES = 512  # pages whose statements are cached
_NOTHING: frozenset[str] = frozenset()
_BORDERS = re.compile(r"[^\W\d_]+|\d+")
_PIECE = re.compile(rf"(?s:.{{1,{WINDOW_CHARS - 1}}}(?:\s|$)|.{{1,{WINDOW_CHARS}}})")
_LINE = re.compile(rf".{{1,{WINDOW_CHARS - 1}}}(?:\s|$)|.{{1,{WINDOW_CHARS}}}|\n")
_NUMBER = re.compile(r"\s*\(?[^\W_]{1,3}[.)]\s")  # number of a list item
_BULLET = re.compile(r"\s*[-*+•▪◦●–—#>]\s|\s*#")
_DIGIT = re.compile(r"\d")
_ITEM = re.compile(r"[-*+•▪◦●–—]\s")
_ENDS = tuple(".!;,。！；，…")  # characters that do not end a title
_FENCES = ("```", "~~~")
_TITLE = 80  # maximum characters of a title
_STOPS = tuple(".!?;:。！？；：")
_SHORT = 0.6  # share of the usual line width; a shorter line ends its paragraph
_NAME = 60  # maximum characters of a row's name that continues below the row


class Statement(NamedTuple):
    """A statement on a page, with the terms of the question that it contains.

    ``row`` gives the statement numbers of the headings, captions and label of a table row. ``open`` is True if the
    sentence was split and continues in the next statement.
    """

    offset: int  # in the page's text
    text: str
    terms: frozenset[str]  # terms of the question
    heading: bool = False
    row: TableRow | None = None
    open: bool = False


class _Piece(NamedTuple):
    """A statement before the question's terms are searched in it.

    ``folded`` is its text in the form in which words are compared; ``plain`` also lacks some punctuation. ``terms`` is
    empty until the question's terms are first searched, and then contains all terms of the text.
    """

    offset: int
    text: str
    heading: bool
    row: TableRow | None
    folded: str
    plain: str
    terms: list[tuple[str, ...]]
    open: bool


def statements(text: str, terms: frozenset[str], headings: Collection[int]) -> list[Statement]:
    """Return the statements in a text; long ones are split. Links are replaced by their visible text.

    ``headings`` are the character offsets of headings.
    """
    parts = _beginnings(terms)
    pieces = _pieces_of(text, tuple(headings))
    return [
        Statement(piece.offset, piece.text, _find_terms(piece, terms, parts), piece.heading, piece.row, piece.open)
        for piece in pieces
    ]


@lru_cache(maxsize=_CACHE_PAGES)
def _pieces_of(text: str, headings: tuple[int, ...]) -> tuple[_Piece, ...]:
    """Return the statements in a text. The results of recent texts are cached."""
    spans = hidden(text)
    source, text = Offsets(spans).source if spans else int, visible(text, spans)
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines[:-1]), initial=0))
    titled = {at for at, start in enumerate(starts) if headings and source(start) in headings}
    rows, code = table_rows(lines, range(len(lines))), _fenced(lines)
    numbers: dict[int, int] = {}  # number of the last statement in a line's paragraph
    page: list[_Piece] = []
    for first, last in _block_ranges(lines, rows, titled, code):
        block = text[starts[first] : starts[last] + len(lines[last])]
        row = _statement_row(rows.get(last, rows.get(first)), numbers) if rows else None
        for begin, end, is_open in [(0, len(block), False)] if row else _sentence_ranges(block):
            piece = block[begin:end].lstrip()
            title = first in titled or not (row or first in code or not _looks_like_title(piece))
            folded = words.fold(piece)
            plain = folded.replace(",", "").replace("'", "")
            offset = source(starts[first] + end - len(piece))
            page.append(_Piece(offset, piece, title, row, folded, plain, [], is_open))
        if rows:
            numbers |= dict.fromkeys(range(first, last + 1), len(page) - 1)
    return tuple(page)


def _statement_row(row: TableRow | None, numbers: Mapping[int, int]) -> TableRow | None:
    """Return a table row whose headings and captions are given by statement numbers instead of line numbers."""
    if row is None:
        return None
    heads, captions = (tuple(dict.fromkeys(numbers[at] for at in lines if at in numbers)) for lines in row[:2])
    return TableRow(heads, captions, -1)


def _find_terms(piece: _Piece, terms: frozenset[str], parts: Collection[str]) -> frozenset[str]:
    """Return the terms that a statement contains. ``parts`` are the results of ``_beginnings``.

    A statement without any of the parts contains none of the terms, which is found out fast.
    """
    plain = piece.plain
    for part in parts:
        if part in plain:
            if not piece.terms:
                piece.terms.append(tuple(words.folded_terms(words.join_words(piece.folded))))
            return terms.intersection(piece.terms[0])
    return _NOTHING


def _looks_like_title(text: str) -> bool:
    """Return whether a statement is a title or a question, so that the statement after it gives the answer."""
    text = text.strip()
    return len(text) <= _TITLE and not text.endswith(_ENDS) and not _ITEM.match(text) and not _DIGIT.search(text)


def _fenced(lines: list[str]) -> set[int]:
    """Return the lines of fenced code in Markdown, including the fences."""
    fences = [at for at, line in enumerate(lines) if line.startswith(_FENCES)]
    return {at for first, last in zip(fences[::2], fences[1::2], strict=False) for at in range(first, last + 1)}


def _block_ranges(
    lines: list[str], rows: Mapping[int, TableRow], titled: Set[int], code: Set[int]
) -> list[tuple[int, int]]:
    """Return the first and last line of each paragraph, heading, table row and list item."""
    heads = {at for row in rows.values() for at in row.heads}
    labels = {row.label for row in rows.values()}
    widths = sorted(map(len, filter(None, lines)))
    short = _SHORT * widths[len(widths) * 4 // 5] if widths else 0.0
    blocks: list[tuple[int, int]] = []
    for at, line in enumerate(lines):
        if not any(map(str.isalnum, line)):
            continue
        first, before = blocks[-1] if blocks else (-1, -2)
        lower = line[:1].islower()
        if before < at - 1 or at in titled or before in titled or at in heads or before in heads or at in labels:
            joins = False
        elif at in code:
            joins = True
        elif at in rows:
            joins = rows[at].label == before
        elif before in rows:
            joins = lower and GAP not in line and len(line) <= _NAME and not lines[before].startswith("|")
        elif GAP in line or _BULLET.match(line):
            joins = False
        else:
            ended = lines[before].rstrip().endswith(_STOPS)
            joins = not ended if lower else len(lines[before]) >= short and not (ended and _NUMBER.match(line))
        if joins:
            blocks[-1] = (first, at)
        else:
            blocks.append((at, at))
    return blocks


def _sentence_ranges(block: str) -> Iterable[tuple[int, int, bool]]:
    """Yield (start, end, open) of each sentence in a paragraph. Sentences too long for a snippet are split.

    A part is open if its sentence continues in the next part.
    """
    for start, end in sentences(block):
        if end - start <= WINDOW_CHARS:
            yield start, end, False
        else:
            long = block[start:end]
            ends = long.rstrip().endswith(_STOPS)  # otherwise its lines stay separate
            for piece in (_PIECE if ends else _LINE).finditer(long):
                yield start + piece.start(), start + piece.end(), ends and piece.end() < len(long)


def _beginnings(terms: Collection[str]) -> set[str]:
    """Return a part of each term that every text with the term contains.

    A search for the parts is fast and excludes most texts. The part of a word lacks its last letter, which stemming may
    have changed. Short words that end in a consonant are kept whole. If a term is a year, "fy" is returned too, because
    a text may write the year in short form after FY.
    """
    parts = {_beginning(_longest_piece(term)) for term in terms}
    return parts | ({"fy"} if any(term[0].isdigit() and words.is_year(term) for term in terms) else set())


def _longest_piece(term: str) -> str:
    """Return the longest part of an identifier without hyphens, since a text may leave these out."""
    if term.isalpha() or words.is_number(term):
        return term
    return max(_BORDERS.findall(term), key=len, default=term)


def _beginning(term: str) -> str:
    whole = not term.isascii() or term[0].isdigit() or len(term) < 3 or (len(term) == 3 and term[-1] not in "aeiouy")
    return term if whole else term[:-1]


_EDGE = 6  # lines at the top and bottom of a page that may belong to a table or list
_NEAR, _SOUGHT = (
    0.6,
    40,
)  # share of a page after which a passage is near its end; characters by which the passage is found
_LIST_ITEM = re.compile(r"^\s*(?:[•●▪■◦‣*–-]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)])\s+\S")
_UNENDED = re.compile(r"[^\W_][)\]”\"’']?$|[-,;]$")
_BARE = re.compile(r"[\W\d]*")
_TURNED = re.compile(r"\b(?:continued|cont['’.]?d|fortsetzung|suite|continuación|续)\b|续表", re.IGNORECASE)


def goes_on(text: str, following: str, heading: bool) -> bool:
    """Return whether a list or table on a page continues on the next page (``following``).

    ``heading`` is True if a section begins at the top of the next page. Then only a mark such as "continued" counts.
    """
    last, first = _lines_of_text(text), _lines_of_text(following)
    if not last or not first:
        return False
    if any(_TURNED.search(line) for line in first[:_EDGE]):
        return True
    if heading:
        return False
    rows = len(table_rows(last, range(len(last)))), len(table_rows(first, range(len(first))))
    ends, begins = last[-_EDGE:], first[:_EDGE]
    if min(rows) and _row_in(last, ends) and _row_in(first, begins):
        return True
    return any(map(_LIST_ITEM.match, ends)) and any(map(_LIST_ITEM.match, begins[:3]))


def breaks_off(text: str, following: str) -> bool:
    """Return whether the last sentence of a page continues on the next page, whose text is ``following``."""
    last, first = _lines_of_text(text), _lines_of_text(following)
    if not last or not first:
        return False
    end, begin = last[-1].rstrip(), first[0].lstrip()
    return bool(_UNENDED.search(end)) and (begin[:1].islower() or end.endswith(("-", ",", ";")))


def runs_over(text: str, following: str, passage: str, heading: bool) -> bool:
    """Return whether the content of a ``passage`` may continue on the next page.

    The passage must be near the end of the page, and a sentence, list or table must continue. ``heading`` is True if a
    section begins at the top of the next page.
    """
    plain, sought = " ".join(text.split()), " ".join(passage.strip("… ").split())[:_SOUGHT]
    at = plain.find(sought) if sought else -1
    if at < _NEAR * len(plain):
        return False
    return goes_on(text, following, heading) or (not heading and breaks_off(text, following))


def _row_in(lines: list[str], edge: list[str]) -> bool:
    """Return whether at least half of the lines at the edge of a page are table rows."""
    at_end = lines[-1] == edge[-1]
    numbers = range(len(lines) - len(edge), len(lines)) if at_end else range(len(edge))
    return 2 * len(table_rows(lines, numbers)) >= len(edge)


def _lines_of_text(text: str) -> list[str]:
    """Return the lines of a page without lines that have no words, such as page numbers."""
    return [line for line in text.split("\n") if not _BARE.fullmatch(line) or "  " in line]
