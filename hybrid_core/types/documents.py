"""Documents, parsed and stored: frozen values that the rooms exchange. Pages are 1-based and inclusive."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from hybrid_core.types.notes import NONE, Note

_UNREAD = ("warning.unread", "warning.ocr-empty")


def unread_warning(unread: int, pages: int, which: str) -> Note:
    """Return the warning for pages that nobody has read.

    ``which`` is a list such as "1-3, 7"; only its beginning where it is long.
    """
    return Note("warning.unread", unread=unread, pages=pages, which=which)


def empty_warning(empty: int, pages: int, which: str) -> Note:
    """Return the warning for pages on which OCR found nothing."""
    return Note("warning.ocr-empty", unread=empty, pages=pages, which=which)


def unread_pages(warnings: Sequence[Note]) -> tuple[int, str]:
    """Return the number of a document's pages that show something and have no text, and which, by its warnings."""
    unread = [warning.params for warning in warnings if warning.code in _UNREAD]
    return sum(params["unread"] for params in unread), ", ".join(params["which"] for params in unread)


Effort = Literal["fast", "auto", "deep"]
Fusion = Literal["weighted", "rrf"]  # how words and meaning add up: by score or by rank
Strategy = Literal["outline", "mcts"]  # how a model searches the section trees
Route = Literal["auto", "semantic", "metadata", "description"]  # how the documents to look into are chosen
Group = Literal["page", "document"]  # whether results are pages by themselves or those of a document together
EvidenceLevel = Literal["strong", "weak", "none", "unclear"]
HeadingSource = Literal["bookmark", "printed_toc", "layout", "markup", "clause", "model", "synthetic"]
LineRole = Literal[
    "", "text", "heading", "code", "command", "config", "plain", "table", "image", "comment", "metadata", "hidden"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text on a page, in reading order.

    The box is in points with the origin at the top left of the page as it is shown (after rotation).
    ``size`` is the font size in points of most of the line's characters; ``bold``, ``italic`` and
    ``font`` likewise. In a format without pages the box and the size are 0. ``role`` is what markup says
    the line is; "" in a format without markup.
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
"""Where in a file without pages the lines of a page stand: (line from 0, place), a pair where a place begins. A place
is "paragraph 12", "slide 3 shape 5 box 7,7,93,20" (percent of the slide), "Sales!A1:H50", "line 40", "00:01:02", …
"""


HIDDEN = "hidden text"
"""The place of lines that a page holds and does not show; "" follows where those begin that it shows."""


def hidden_places(lines: Sequence[Line]) -> Places:
    """Return where lines of the role "hidden" begin and end."""
    places: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        place = HIDDEN if line.role == "hidden" else ""
        if place != (places[-1][1] if places else ""):
            places.append((number, place))
    return tuple(places)


def hidden_lines(text: str, places: Places) -> tuple[str, ...]:
    """Return the lines of a page's text that the page does not show."""
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
    """Return the position in its file of a page's line (from 0); "" where the format has pages of its own."""
    before = [place for first, place in places if first <= line]
    if before:
        return before[-1]
    lines = _LINES.fullmatch(label)
    return f"line {int(lines[1]) + line}" if lines else ""


class PageText(NamedTuple):
    """The text of a page for a search: ``label`` as printed, positions of its lines in the file, a model's description.

    ``text`` has blanks in place of the lines that the page does not show; these are ``hidden``.
    """

    label: str
    text: str
    places: Places = ()
    described: str = ""
    hidden: tuple[str, ...] = ()

    @classmethod
    def of(cls, label: str, text: str, places: Places, described: str) -> PageText:
        """Return a page's text with its hidden lines set apart."""
        lines = list(_shown_or_hidden(text, places))
        if not lines:
            return cls(label, text, places, described)
        shown = "\n".join(" " * len(line) if hidden else line for line, hidden in lines)
        return cls(label, shown, places, described, tuple(line for line, hidden in lines if hidden))

    @property
    def whole(self) -> str:
        """Return the text, followed by the description that a vision model wrote, marked as such."""
        return (
            f"{self.text}\n\n[Described from its picture by a model]\n{self.described}" if self.described else self.text
        )


@dataclass(frozen=True, slots=True)
class ParsedPage:
    """A page as its parser read it. ``text`` is its lines joined by newlines."""

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
    engine: str = ""  # what read it (``ocr``)
    sure: int = 0  # its mean confidence in the words, 0 to 100

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines)


def line_locator(first: int, last: int) -> str:
    """Return the label of a page in a format without pages: the file's lines, from 1, both included."""
    return f"line {first}" if first == last else f"lines {first}-{last}"


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of a document's own outline. ``page`` is 0 where the target is missing or outside."""

    level: int  # 1 is the top
    title: str
    page: int
    y: float | None  # points from the top of the page, None where the bookmark names only a page


@dataclass(frozen=True, slots=True)
class MarkedHeading:
    """A heading that markup or its number tells. ``line`` is its place among the page's lines, from 0."""

    level: int  # 1 is the top; levels may jump
    title: str
    page: int
    line: int
    source: HeadingSource


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A whole parsed file. ``metadata`` holds the file's own fields (title, author, …), never empty strings.

    ``headings`` are in reading order; None where the format has no markup, so that the layout must tell.
    """

    format: str
    pages: tuple[ParsedPage, ...]
    bookmarks: tuple[Bookmark, ...]
    metadata: Mapping[str, str]
    headings: tuple[MarkedHeading, ...] | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """A node of the section tree, stored flat in preorder.

    ``node_id`` is the four-digit preorder number from "0001" (five digits and more beyond 9,999).
    The section's text begins at character ``anchor`` of page ``start_page`` and ends before character
    ``end_anchor`` of page ``end_page`` (``None``: at the end of that page); the range includes its
    children. ``synthetic`` marks nodes that stand for no heading (front matter, page groups). ``gaps``: what
    it leaves open or announces and does not contain, told by rules and by a model.
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
    """Text of one section on one page: characters ``start`` to ``end`` of the page's text."""

    number: int
    node_id: str
    page: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Page:
    """A page as stored and shown. ``boxes`` holds a (x0, y0, x1, y1) per line of ``text``, in points.

    ``needs_ocr``: it shows what could not be read. ``ocr``: its text was read from its picture. ``described``: what
    a model saw on it beyond ``summary``, a line each: key terms, figures, tables. ``pictures``: how many on it may show
    words that nobody has read. ``engine``: what read it by OCR, with a mean confidence of ``sure``, 0 to 100; "" where
    a version before noted neither.
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
        """Return the lines of ``text`` that the page does not show."""
        return hidden_lines(self.text, self.places)

    @property
    def visible(self) -> str:
        """Return ``text`` with blanks in place of hidden lines, as models read it."""
        return PageText.of(self.label, self.text, self.places, "").text

    @property
    def read_by_model(self) -> bool:
        """Return whether a vision model read its text, which tells no positions of lines; OCR does.

        A page without text was read by OCR, which found none: a model's empty reading is not taken.
        """
        return self.ocr and bool(self.text) and not self.boxes and not self.engine


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time a document is about. ``quarter`` and ``date`` are None where not said."""

    year: int  # 0 where only a quarter is said
    quarter: int | None = None
    date: str | None = None  # ISO, the day the period ends or the document bears


@dataclass(frozen=True, slots=True)
class Card:
    """The facts about a document, read from its file name, title, first pages and metadata."""

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
    tags: tuple[str, ...] = ()  # what somebody called it by hand


@dataclass(frozen=True, slots=True)
class Document:
    """A file in a library at its published version."""

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
    models: Mapping[str, Any] = field(default_factory=dict)  # which ones improved it, and what that took
    error: Note = NONE  # why the newest attempt failed; an older version may still be published
    corrections: Mapping[str, str] = field(default_factory=dict)  # by hand; ``title`` and ``card`` have them
    outline: Literal["fast", "refined"] = "fast"  # its section tree is by rules alone, or a layout model refined it

    @property
    def unread(self) -> int:
        """Return the number of its pages that show something and have no text."""
        return unread_pages(self.warnings)[0]

    @property
    def published(self) -> bool:
        return bool(self.content_id)


class DocumentRow(NamedTuple):
    """A document as one line of a long list. ``content_id`` is "" if nothing is published.

    ``organisation``, ``type`` and ``error`` are "", and ``year`` 0, if unknown. ``warnings`` counts warnings.
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
    """An embedder that vectors in the catalog came from; ``fingerprint`` is of whatever decides them.

    ``sparse`` says that each of its vectors has learned term weights beside it.
    """

    fingerprint: str
    name: str
    dimension: int
    sparse: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """An entry of a library's change log. ``content_id`` is None where the document was removed.

    ``mark`` is a random number of its transaction, 0 where an older version wrote it. A log that was restored and went
    on has the same ``seq`` again, but not the same mark.
    """

    seq: int
    doc_id: str
    content_id: str | None
    mark: int = 0


class Hit(NamedTuple):
    """A page found by the coarse pass. ``score`` is higher for better. ``version`` is the tag of its content.

    ``sparse`` is its BM25, ``dense`` its best point's product with the question's vector, ``learned`` the same
    of learned term weights; None where it was not among the best by that. (A search makes hundreds: a tuple is made
    three times as fast as a frozen dataclass.)
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
    """Everything that indexing makes of one file, as a publication writes it."""

    sha256: str
    format: str
    metadata: Mapping[str, str]
    title: str
    description: str
    pages: tuple[Page, ...]
    sections: tuple[Section, ...]
    chunks: tuple[Chunk, ...]
    terms: bytes  # hybrid_core.text.terms.TermCounts of the pages' text and descriptions
    heading_terms: bytes  # the same, of the headings that begin on each page
    warnings: tuple[Note, ...] = ()
    models: Mapping[str, Any] = field(default_factory=dict)  # JSON values: which ones improved it, what that took
