"""Read indexed documents and their pages, and find positions in files without pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.text.prose import counted
from hybrid_core.types.documents import HIDDEN, Document, Page, ParsedPage, Section, place_of
from hybrid_core.types.locators import book_locator, distance, names_of, place_span, shown_place
from retrievers.candidates import documents as select

if TYPE_CHECKING:
    from hybrid_core.types.locators import BookLocator


@dataclass(frozen=True, slots=True)
class PlaceRead:
    """A position within a file without pages (such as an e-book), at which a line of a page text begins.

    ``line`` is the index of that line (from 0), and ``quote`` its first words. ``Engine.documents.find_place`` finds
    the position again by ``place`` and ``quote``. ``path`` lists the headings above it, from the top.
    """

    line: int
    place: str
    quote: str
    path: tuple[str, ...] = ()

    @property
    def locator(self) -> BookLocator | None:
        """Return the position in the form of e-book readers, None in files of other formats."""
        return book_locator(self.place)

    def to_dict(self) -> dict[str, Any]:
        """Return the position as JSON values. The key ``locator`` exists only for e-books."""
        locator = self.locator
        return asdict(self) | ({} if locator is None else {"locator": asdict(locator)})


_LIST = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")
MOST_PAGES = 1000
_AT_ONCE = 200  # pages read at once


@dataclass(frozen=True, slots=True)
class SectionOnPage:
    """A section with text on a page. Its path lists the titles from the top of the tree down to it."""

    node_id: str
    path: tuple[str, ...]
    start_page: int
    end_page: int


@dataclass(frozen=True, slots=True)
class PageRead:
    doc_id: str
    doc_name: str
    page: int
    label: str
    text: str
    summary: str
    sections: tuple[SectionOnPage, ...]
    needs_ocr: bool
    ocr: bool
    indexed_at: str
    described: str
    read_by: str  # reader of text in pictures (``ocr``): "OCR (ENGINE, 93 % sure)", "the vision model NAME", else ""
    places: tuple[PlaceRead, ...] = ()
    note: str = ""  # what could not be shown as requested
    hidden_text: tuple[str, ...] = ()  # lines of ``text`` that the page does not show

    def to_dict(self) -> dict[str, Any]:
        """Return the page as JSON values, without ``places`` and ``note`` if they are empty."""
        shape = asdict(self) | {"places": [place.to_dict() for place in self.places]}
        return {name: part for name, part in shape.items() if part or name not in ("places", "note")}

    def shown(self) -> PageRead:
        """Return the page without its hidden text, as a language model reads it."""
        if not self.hidden_text:
            return self
        left: list[str] = []
        hidden = Counter(self.hidden_text)
        for line in self.text.split("\n"):
            if hidden[line]:
                hidden[line] -= 1
            else:
                left.append(line)
        remark = f"hidden text on this page: {counted(len(self.hidden_text), 'line')} left out"
        return replace(self, text="\n".join(left), hidden_text=(), note="; ".join(filter(None, (remark, self.note))))

    @property
    def span(self) -> str:
        """Return the positions of the page's first and last line for display.

        Return "" if there are none or the page label already contains them.
        """
        span = (
            place_span(*(shown_place(place.place) for place in (self.places[0], self.places[-1])))
            if self.places
            else ""
        )
        return span if span != self.label else ""


def documents(catalog: Catalog, library: str, where: Sequence[str] = ()) -> list[Document]:
    """Return all documents of a library, ordered by path.

    With the conditions ``where``, return only published documents that meet them.
    """
    with catalog.snapshot() as snapshot:
        rows = library_documents(snapshot, library)
    return select.select_where([d for d in rows if d.published], where) if where else rows


def document(catalog: Catalog, library: str, name: str) -> Document:
    """Return a document by name or id. Raise NotFoundError if there is none, UsageError if the name is ambiguous."""
    with catalog.snapshot() as snapshot:
        return find_document(snapshot, library, name, published=False)


def published(catalog: Catalog, library: str, name: str) -> Document:
    """Return a published document by name or id.

    Raise the errors of ``document``, and NotFoundError if its indexing failed.
    """
    with catalog.snapshot() as snapshot:
        return find_document(snapshot, library, name)


def library_documents(snapshot: Snapshot, library: str) -> list[Document]:
    """Return the documents of a library, given by name or alias. Raise NotFoundError if it does not exist."""
    entry = snapshot.library(library)
    documents = snapshot.documents(entry.id)
    return documents if entry.id == entry.name else [replace(document, library=entry.name) for document in documents]


def find_document(snapshot: Snapshot, library: str, name: str, *, published: bool = True) -> Document:
    matches = select.select_by_name(library_documents(snapshot, library), [str(name)])
    if len(matches) > 1:
        choices = ", ".join(f"{d.doc_id} ({d.path})" for d in matches[:5])
        raise UsageError(f"'{name}' is the name of {len(matches)} documents.", f"Use one of these ids: {choices}.")
    if published and not matches[0].published:
        raise _not_indexed(matches[0])
    return matches[0]


def refuse_failed(catalog: Catalog, library: str, names: Sequence[str]) -> None:
    """Raise NotFoundError if one of ``names`` has only documents that failed to be indexed. Give the reason."""
    with catalog.snapshot() as snapshot:
        everything = library_documents(snapshot, library)
    for name in names:
        matches = select.select_by_name(everything, [name])
        if not any(document.published for document in matches):
            raise _not_indexed(matches[0])


def _not_indexed(document: Document) -> NotFoundError:
    return NotFoundError(
        f"{document.path} could not be indexed: {document.error}", "Repair the file and index it again."
    )


def read_pages(catalog: Catalog, library: str, name: str, numbers: str | int | Sequence[int]) -> list[PageRead]:
    """Return pages of a document in the requested order: by numbers, or by a position or label such as "slide 3".

    Raise UsageError for an invalid list or a page outside the document.
    """
    with catalog.snapshot() as snapshot:
        document = find_document(snapshot, library, name)
        if isinstance(numbers, int):
            numbers = [numbers]
        page_numbers = _resolve_page_numbers(snapshot, document, numbers) if isinstance(numbers, str) else list(numbers)
        check_inside(page_numbers, document)
        pages = {page.number: page for page in snapshot.pages(document.content_id, page_numbers)}
        sections = snapshot.sections(document.content_id)

    return [
        PageRead(
            document.doc_id, document.name, number, pages[number].label, pages[number].text, pages[number].summary,
            _on_page(sections, number), pages[number].needs_ocr, pages[number].ocr,
            document.indexed_at, pages[number].described, _read_by(document, pages[number]),
            places_of(pages[number], sections), hidden_text=pages[number].hidden_text,
        )
        for number in page_numbers
    ]  # fmt: skip


def find_place(catalog: Catalog, library: str, name: str, place: str, quote: str) -> PlaceFound:
    """Return the page and line of a position in a document.

    The position counts as found if its name exists and the quoted words are there. If not, search for the words. Raise
    NotFoundError if neither is found.
    """

    with catalog.snapshot() as snapshot:
        document = find_document(snapshot, library, name)
        at = find(lambda: _all_pages(snapshot, document), place, quote)
    if at is None:
        raise NotFoundError(
            f"{document.name} has no page or section '{place}' that contains these words.",
            "Search for the words to find their page.",
        )
    return at


def _all_pages(snapshot: Snapshot, document: Document) -> Iterator[Page]:
    for first in range(1, document.pages + 1, _AT_ONCE):
        yield from snapshot.pages(document.content_id, range(first, min(first + _AT_ONCE, document.pages + 1)))


def _read_by(document: Document, page: Page) -> str:
    if page.read_by_model:
        return f"the vision model {document.models.get('vlm', '')}".rstrip()
    if not page.ocr:
        return ""
    what = "OCR" if page.width else "OCR of its pictures"  # pages that are not pictures have text of their own besides
    return f"{what} ({page.engine}, {page.sure} % sure)" if page.engine and page.text else what


def _resolve_page_numbers(snapshot: Snapshot, document: Document, written: str) -> list[int]:
    if any(map(str.isalpha, written)):
        at = find(lambda: _all_pages(snapshot, document), written.strip(), "")
        if at is not None:
            return [at.page]
    return page_list(written, document)


def page_list(written: str, document: Document) -> list[int]:
    """Parse a page list: "3,7-9" becomes [3, 7, 8, 9]. Repeated pages are dropped."""
    numbers: dict[int, None] = {}
    for part in written.split(","):
        match = _LIST.fullmatch(part)
        if not match:
            raise UsageError(
                f"'{written}' is not a list of page numbers.", "Write numbers and ranges, for example 3,7-9."
            )
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise UsageError(f"The page range '{part.strip()}' is not ascending.", f"Write {last}-{first}.")
        check_inside([first, last], document)
        if last - first >= MOST_PAGES:
            raise UsageError(
                f"The page range '{part.strip()}' contains more than {MOST_PAGES} pages.",
                "Request fewer pages at once.",
            )
        numbers |= dict.fromkeys(range(first, last + 1))
    return list(numbers)


def check_inside(numbers: Sequence[int], document: Document) -> None:
    """Raise UsageError if the document does not have one of these pages."""
    for number in numbers:
        if not isinstance(number, int):
            raise UsageError(f"{number!r} is not a page number.", "Give whole numbers, or a list like '3,7-9'.")
        if not 1 <= number <= document.pages:
            raise UsageError(f"{document.name} has no page {number}.", f"Its pages are 1 to {document.pages}.")


def _on_page(sections: Sequence[Section], page: int) -> tuple[SectionOnPage, ...]:
    """Return the sections on a page: first the innermost one that continues from the page before.

    The sections that begin on the page follow, in order.
    """
    by_id = {section.node_id: section for section in sections}
    enclosing = [section for section in sections if section.start_page <= page <= section.end_page]
    first = [s for s in enclosing if s.start_page < page and (s.end_page > page or s.end_anchor != 0)]
    begins = [s for s in enclosing if s.start_page == page]
    return tuple(
        SectionOnPage(s.node_id, section_path(s, by_id), s.start_page, s.end_page)
        for s in (*(first[-1:] if not begins or begins[0].anchor > 0 else ()), *begins)
    )


def section_path(section: Section, by_id: dict[str, Section]) -> tuple[str, ...]:
    """Return the titles from the top of the tree down to a section."""
    path = [section.title]
    while section.parent_id is not None:
        section = by_id[section.parent_id]
        path.append(section.title)
    return tuple(reversed(path))


_QUOTE = 80  # characters of the quote of a position
_ALIKE = 0.6  # share of a quote's groups of three letters that a line must contain to match it approximately
_MIN_QUOTE_LETTERS = 12  # minimum letters of a quote that may match approximately


@dataclass(frozen=True, slots=True)
class PlaceFound:
    """The page (from 1) and ``line`` (from 0) at which a position was found.

    ``moved`` is True if its words were found elsewhere than at the named position.
    """

    page: int
    line: int
    moved: bool


def places_of(page: Page | ParsedPage, sections: Sequence[Section]) -> tuple[PlaceRead, ...]:
    """Return the named positions at which lines of a page begin.

    ``sections`` are those of the document, each parent before its children.
    """
    lines = page.text.split("\n")
    starts = [0]
    for text in lines:
        starts.append(starts[-1] + len(text) + 1)
    enclosing = [section for section in sections if section.start_page <= page.number <= section.end_page]
    return tuple(
        PlaceRead(line, place, lines[line][:_QUOTE], _path(enclosing, page.number, starts[line]))
        for line, place in page.places
        if line < len(lines) and place not in ("", HIDDEN)
    )


def _path(sections: Sequence[Section], page: int, character: int) -> tuple[str, ...]:
    """Return the titles of the sections that contain a character of a page, from the top."""
    at = (page, character)
    return tuple(
        section.title
        for section in sections
        if not section.synthetic and (section.start_page, section.anchor) <= at
        and (section.end_page > page or section.end_anchor is None or character < section.end_anchor)
    )  # fmt: skip


def find(pages: Callable[[], Iterable[Page | ParsedPage]], place: str, quote: str) -> PlaceFound | None:
    """Return the position named ``place`` if the words ``quote`` begin there, else the best matching line.

    Lines that begin with the words rank first, then lines that contain them, then lines that contain most of them.
    Among equals the line nearest to the named position is returned. Without a quote, a page label is enough. Return
    None if nothing matches.
    """
    words = _letters_and_digits(quote)
    nearest = _Nearest(place)
    for page in pages():
        lines = [_letters_and_digits(line) for line in page.text.split("\n")]
        for line, _ in page.places if page.places else enumerate(lines):
            called = place_of(page.label, page.places, line)
            if place in names_of(called) and line < len(lines) and lines[line].startswith(words):
                return PlaceFound(page.number, line, moved=False)
        if not words and page.label == place:
            return PlaceFound(page.number, 0, moved=False)
        for line, text in enumerate(lines):
            if words and words in text:
                nearest.add(0 if text.startswith(words) else 1, page, line)
    if nearest.found is not None or len(words) < _MIN_QUOTE_LETTERS:
        return nearest.found
    triples = _triples(words)
    for page in pages():
        for line, text in enumerate(map(_letters_and_digits, page.text.split("\n"))):
            alike = len(triples & _triples(text[: 2 * len(words)])) / len(triples)
            if alike >= _ALIKE:
                nearest.add(1 - alike, page, line)
    return nearest.found


class _Nearest:
    """A search for the best matching line. Among equal matches, the line nearest to the position ``place`` wins."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._best: tuple[float, bool, tuple[int, ...]] | None = None
        self.found: PlaceFound | None = None

    def add(self, misfit: float, page: Page | ParsedPage, line: int) -> None:
        apart = distance(self._place, place_of(page.label, page.places, line))
        rank = (misfit, apart is None, apart or ())
        if self._best is None or rank < self._best:
            self._best, self.found = rank, PlaceFound(page.number, line, moved=True)


def _triples(words: str) -> set[str]:
    return {words[at : at + 3] for at in range(len(words) - 2)}


def _letters_and_digits(text: str) -> str:
    """Return the letters and digits of a text in lower case, for comparisons that ignore punctuation and spaces."""
    return "".join(filter(str.isalnum, text.casefold()))
