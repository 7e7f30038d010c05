"""Parsed and stored documents as frozen values that all packages exchange. Pages are 1-based and inclusive."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from hybrid_core.types.notes import NONE, Note

_UNREAD = ("warning.unread", "warning.ocr-empty")


def unread_warning(unread: int, pages: int, which: str) -> Note:
    """Return the warning for pages without readable text on which OCR has not run.

    ``which`` lists these pages, such as "1-3, 7"; a long list may be cut.
    """
    return Note("warning.unread", unread=unread, pages=pages, which=which)


def empty_warning(empty: int, pages: int, which: str) -> Note:
    """Return the warning for pages on which OCR found nothing."""
    return Note("warning.ocr-empty", unread=empty, pages=pages, which=which)


def unread_pages(warnings: Sequence[Note]) -> tuple[int, str]:
    """Return the number of a document's pages that show something but have no text, and a list of their numbers.

    Both are read from the document's ``warnings``. The list is a text, such as "1-3, 7".
    """
    unread = [warning.params for warning in warnings if warning.code in _UNREAD]
    return sum(params["unread"] for params in unread), ", ".join(params["which"] for params in unread)


Effort = Literal["fast", "auto", "deep"]
Fusion = Literal["weighted", "rrf"]  # how words and meaning add up: by score or by rank
Strategy = Literal["outline", "mcts"]  # how a model searches the section trees
Route = Literal["auto", "semantic", "metadata", "description"]  # how the documents to look into are chosen
Group = Literal["page", "document"]  # whether results are single pages, or the pages of a document together
EvidenceLevel = Literal["strong", "weak", "none", "unclear"]
HeadingSource = Literal["bookmark", "printed_toc", "layout", "markup", "clause", "model", "synthetic"]
LineRole = Literal[
    "", "text", "heading", "code", "command", "config", "plain", "table", "image", "comment", "metadata", "hidden"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text on a page, in reading order.

    The box (``x0`` to ``y1``) is in points with the origin at the top left of the page as it is shown (after rotation).
    ``size`` in points, ``bold``, ``italic`` and ``font`` describe the font of most of the line's characters. In a
    format without pages the box and the size are 0. ``role`` is the role of the line in the markup, "" in a format
    without markup.
    """

    text: str
    x0: float = 0.0
    y0: float = 0.0
    x1: float = 0.0
    y1: float = 0.0
    size: float = 0.0
    bold: bool = False
    italic: bool = False
    font: str = ""
    role: LineRole = ""


Places = tuple[tuple[int, str], ...]
"""The positions in a file without pages of a page's lines: pairs (line from 0, place), one for each line at which a new
place begins. A place is "paragraph 12", "slide 3 shape 5 box 7,7,93,20" (percent of the slide), "Sales!A1:H50",
"line 40", "00:01:02", …
"""


HIDDEN = "hidden text"
"""The place of lines that a page contains but does not show. The first visible line after them has the place ""."""


def hidden_places(lines: Sequence[Line]) -> Places:
    """Return the places that mark the hidden lines of a page, which have the role "hidden".

    There is a pair (line, HIDDEN) where hidden lines begin, and a pair (line, "") at the first visible line after them.
    """
    places: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        place = HIDDEN if line.role == "hidden" else ""
        if place != (places[-1][1] if places else ""):
            places.append((number, place))
    return tuple(places)


def hidden_lines(text: str, places: Places) -> tuple[str, ...]:
    """Return the lines of a page's text that ``places`` marks as hidden: a reader of the page does not see them."""
    return tuple(line for line, hidden in _shown_or_hidden(text, places) if hidden)


def _shown_or_hidden(text: str, places: Places) -> Iterator[tuple[str, bool]]:
    if not any(place == HIDDEN for _, place in places):
        return
    begins, hidden = dict(places), False
    for number, line in enumerate(text.split("\n")):
        hidden = begins.get(number, HIDDEN if hidden else "") == HIDDEN
        yield line, hidden


_LINES = re.compile(r"lines? (\d+)(?:-\d+)?")


def place_of(label: str, places: Places, line: int) -> str:
    """Return the position in the file of a page's line, counted from 0, such as "paragraph 12" or "line 40".

    Return "" if the format has pages. ``label`` and ``places`` are those of the page.
    """
    before = [place for first, place in places if first <= line]
    if before:
        return before[-1]
    lines = _LINES.fullmatch(label)
    return f"line {int(lines[1]) + line}" if lines else ""


class PageText(NamedTuple):
    """The text of a page as a search reads it.

    ``label`` is the printed page label, ``places`` are positions of lines in the file, and ``described`` is a model's
    description. ``text`` has blanks in place of hidden lines; these lines are in ``hidden``.
    """

    label: str
    text: str
    places: Places = ()
    described: str = ""
    hidden: tuple[str, ...] = ()

    @classmethod
    def of(cls, label: str, text: str, places: Places, described: str) -> PageText:
        """Return the text of a page with its hidden lines separated from the visible ones."""
        lines = list(_shown_or_hidden(text, places))
        if not lines:
            return cls(label, text, places, described)
        shown = "\n".join(" " * len(line) if hidden else line for line, hidden in lines)
        return cls(label, shown, places, described, tuple(line for line, hidden in lines if hidden))

    @property
    def whole(self) -> str:
        """Return the text of the page, followed by a vision model's description under a heading, if there is one."""
        return (
            f"{self.text}\n\n[Described from its picture by a model]\n{self.described}" if self.described else self.text
        )


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """A page as a parser returns it. ``text`` joins its lines with newlines."""

    number: int
    label: str = ""  # as printed, "" where the document defines none; without pages ``line_locator``
    width: float = 0.0
    height: float = 0.0
    lines: tuple[Line, ...] = ()
    images: int = 0  # raster images on the page; on a page without text, whatever is drawn there
    needs_ocr: bool = False  # something is shown that the file does not hold as readable text
    ocr: bool = False  # lines were read from the page's picture, or from pictures on it
    places: Places = ()
    pictures: int = 0  # on a page without a look: that may show words, and were not read
    engine: str = ""  # the engine that read the text, if ``ocr``
    sure: int = 0  # its mean confidence in the words, 0 to 100

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)


def line_locator(first: int, last: int) -> str:
    """Return the label of a page in a format without pages: its first and last line number in the file, from 1."""
    return f"line {first}" if first == last else f"lines {first}-{last}"


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of the file's own outline. ``page`` is 0 if the target is missing or is not a page of the file."""

    level: int  # 1 is the top
    title: str
    page: int
    y: float | None  # points from the top of the page, None where the bookmark names only a page


@dataclass(frozen=True, slots=True)
class MarkedHeading:
    """A heading that the parser detects by markup or by its number.

    ``line`` is the index of its line on the page, from 0.
    """

    level: int  # 1 is the top; levels may jump
    title: str
    page: int
    line: int
    source: HeadingSource


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A parsed file.

    ``metadata`` contains the metadata fields of the file (title, author, …) that are not empty. ``headings`` are in
    reading order. They are None in a format without markup, in which headings have to be detected from the layout.
    """

    format: str
    pages: tuple[ParsedPage, ...]
    bookmarks: tuple[Bookmark, ...]
    metadata: Mapping[str, str]
    headings: tuple[MarkedHeading, ...] | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A node of the section tree, stored flat in preorder.

    ``node_id`` is the four-digit preorder number from "0001" (five digits and more beyond 9,999). The section's text
    begins at character ``anchor`` of page ``start_page`` and ends before character ``end_anchor`` of page ``end_page``
    (``None``: at the end of that page). This range includes the section's children. ``synthetic`` marks nodes without a
    heading in the document (front matter, page groups). ``gaps`` are missing parts that rules or a model detected:
    blanks to fill in, or announced content that does not follow.
    """

    node_id: str
    parent_id: str | None
    level: int
    title: str
    start_page: int
    end_page: int
    anchor: int = 0
    end_anchor: int | None = None
    anchor_y: float = 0.0
    source: HeadingSource = "layout"
    synthetic: bool = False
    summary: str = ""
    flags: tuple[str, ...] = ()
    gaps: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of one section on one page: characters ``start`` to ``end`` of the page's text."""

    number: int
    node_id: str
    page: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Page:
    """A page as the catalog stores it.

    ``boxes`` contains (x0, y0, x1, y1) in points for each line of ``text``. ``needs_ocr`` is True if the page shows
    something that could not be read, ``ocr`` if OCR or a vision model read the text from the picture of the page.
    ``described`` is a model's description besides ``summary``, one line each: key terms, figures, tables. ``pictures``
    is the number of unread pictures that may show words. ``engine`` is the OCR engine, "" if an older version stored
    the page, and ``sure`` its mean confidence, 0 to 100.
    """

    number: int
    label: str
    width: float
    height: float
    text: str
    summary: str
    boxes: tuple[tuple[int, int, int, int], ...] = ()
    needs_ocr: bool = False
    ocr: bool = False
    described: str = ""
    places: Places = ()
    pictures: int = 0
    engine: str = ""
    sure: int = 0

    @property
    def hidden_text(self) -> tuple[str, ...]:
        """Return the lines of ``text`` that a reader of the page does not see."""
        return hidden_lines(self.text, self.places)

    @property
    def visible(self) -> str:
        """Return ``text`` with blanks in place of hidden lines, as models receive it."""
        return PageText.of(self.label, self.text, self.places, "").text

    @property
    def read_by_model(self) -> bool:
        """Return whether a vision model read the text of the page.

        OCR reports the positions of lines, and a vision model does not. If the text is empty, the result is False,
        since empty output of a vision model is rejected.
        """
        return self.ocr and bool(self.text) and not self.boxes and not self.engine


@dataclass(frozen=True, slots=True)
class Period:
    """The period that a document covers. ``quarter`` and ``date`` are None if unknown."""

    year: int  # 0 if only the quarter is known
    quarter: int | None = None
    date: str | None = None  # ISO date on which the period ends, or the date of the document


@dataclass(frozen=True, slots=True)
class Card:
    """The card of a document: facts from its file name, title, first pages and metadata."""

    names: tuple[str, ...] = ()  # names of the organisation (or other subject), best first
    symbols: tuple[str, ...] = ()  # its trading symbols and the short names it gives itself
    parties: tuple[str, ...] = ()  # others whom the document binds or names, with their short names
    years: tuple[int, ...] = ()  # fiscal and calendar readings, best first
    quarter: int | None = None
    date: str | None = None  # ISO, the day its period ends or it bears
    dates: tuple[str, ...] = ()  # every date that may be called the document's own
    type: str = ""  # canonical document type, "" where unknown
    title: str = ""
    recurring: tuple[str, ...] = ()  # names that most of its pages hold, and ``names`` do not
    tags: tuple[str, ...] = ()  # tags that users added
    topic: bool = False  # whether the first name is a common noun, such as "expenses", and no organisation

    @property
    def organisations(self) -> tuple[str, ...]:
        """Return the names of the document's organisations, the most likely one first."""
        return self.names[self.topic :]

    @property
    def organisation(self) -> str:
        """Return the most likely name of the document's organisation, "" if unknown."""
        return next(iter(self.organisations), "")


@dataclass(frozen=True, slots=True)
class Document:
    """A file in a library, with the data of its published (searchable) version."""

    doc_id: str
    library: str
    path: str
    name: str  # file name with extension
    sha256: str
    content_id: str
    format: str
    pages: int
    sections: int
    title: str
    description: str
    metadata: Mapping[str, str]
    card: Card
    size: int
    mtime: float
    indexed_at: str
    warnings: tuple[Note, ...] = ()
    models: Mapping[str, Any] = field(default_factory=dict)  # the models that improved the document, with their usage
    error: Note = NONE  # why the newest attempt failed; an older version may still be published
    corrections: Mapping[str, str] = field(default_factory=dict)  # by hand; ``title`` and ``card`` have them
    outline: Literal["fast", "refined"] = "fast"  # its section tree is by rules alone, or a layout model refined it

    @property
    def unread(self) -> int:
        """Return the number of pages that show something but have no text."""
        return unread_pages(self.warnings)[0]

    @property
    def published(self) -> bool:
        return bool(self.content_id)


class DocumentRow(NamedTuple):
    """The fields of a document that a long list shows. ``content_id`` is "" if no version is published.

    ``organisation``, ``type`` and ``error`` are "" if unknown, ``year`` is 0. ``warnings`` is the number of warnings.
    """

    doc_id: str
    content_id: str
    path: str
    name: str
    title: str
    format: str
    pages: int
    size: int
    organisation: str
    year: int
    type: str
    tags: tuple[str, ...]
    warnings: int
    error: str
    indexed_at: str


@dataclass(frozen=True, slots=True)
class StoredEmbedder:
    """An embedder whose vectors the catalog stores.

    ``fingerprint`` is a hash of everything that determines the vectors. ``sparse`` says that learned term weights are
    stored with each vector.
    """

    fingerprint: str
    name: str
    dimension: int
    sparse: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """An entry of a library's change log. ``content_id`` is None if the document was removed.

    ``seq`` is the number of the change. ``mark`` is a random number of its transaction, 0 if an older version of this
    software wrote the entry. After a restore from a backup, a ``seq`` may be assigned again, but with another mark.
    """

    seq: int
    doc_id: str
    content_id: str | None
    mark: int = 0


class Hit(NamedTuple):
    """A page that the first search over the library's index returned. A higher ``score`` is better.

    ``version`` identifies the document's stored version. ``sparse`` is the BM25 score. ``dense`` is the best dot
    product of the question's vector with a vector of the page, ``learned`` that of their learned term weights. Both are
    None if the page is not among the nearest. It is a tuple because searches create hundreds of hits.
    """

    doc_id: str
    version: str
    page: int
    score: float
    sparse: float = 0.0
    dense: float | None = None
    learned: float | None = None

    def scored(self, score: float) -> Hit:
        return Hit(self.doc_id, self.version, self.page, score, self.sparse, self.dense, self.learned)

    def with_words(self, sparse: float) -> Hit:
        return Hit(self.doc_id, self.version, self.page, self.score, sparse, self.dense, self.learned)


@dataclass(frozen=True, slots=True)
class IndexedContent:
    """The complete result of indexing one file, which is stored in the catalog when the file is published."""

    sha256: str
    format: str
    metadata: Mapping[str, str]
    title: str
    description: str
    pages: tuple[Page, ...]
    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]
    terms: bytes  # hybrid_core.text.terms.TermCounts of the pages' text and descriptions
    heading_terms: bytes  # term counts of the headings that begin on each page
    warnings: tuple[Note, ...] = ()
    models: Mapping[str, Any] = field(default_factory=dict)  # JSON values: which ones improved it, what that took
