"""Reading what is indexed: documents and pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.text.plural import counted
from hybrid_core.types.documents import Document, Page, Section
from hybrid_pageindex.services.page_places import PlaceRead
from retrievers.documents import select

if TYPE_CHECKING:
    from hybrid_pageindex.services.places import PlaceFound

_LIST = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?")
MOST_PAGES = 1000
_AT_ONCE = 200  # pages that are read at a time


@dataclass(frozen=True, slots=True)
class SectionOnPage:
    """A section that has text on a page, with the titles from the top of the tree down to it."""

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
    read_by: str  # who read text from pictures (``ocr``): "OCR (ENGINE, 93 % sure)", "the vision model NAME", else ""
    places: tuple[PlaceRead, ...] = ()
    note: str = ""  # what of the page could not be shown as asked
    hidden_text: tuple[str, ...] = ()  # lines of ``text`` that the page does not show

    def to_dict(self) -> dict[str, Any]:
        """The JSON shape: ``places`` only where the format has no pages of its own, ``note`` where there is one."""
        shape = asdict(self) | {"places": [place.to_dict() for place in self.places]}
        return {name: part for name, part in shape.items() if part or name not in ("places", "note")}

    def shown(self) -> PageRead:
        """Return the page without the text that it does not show, as a language model reads it."""
        if not self.hidden_text:
            return self
        left: list[str] = []
        hidden = Counter(self.hidden_text)
        for line in self.text.split("\n"):
            if hidden[line]:
                hidden[line] -= 1
            else:
                left.append(line)
        said = f"hidden text on this page: {counted(len(self.hidden_text), 'line')} left out"
        return replace(self, text="\n".join(left), hidden_text=(), note="; ".join(filter(None, (said, self.note))))

    @property
    def span(self) -> str:
        """The places of its first and its last line as people read them, "" where its label says as much."""
        from hybrid_core.types.locators import place_span, shown_place

        span = place_span(*(shown_place(one.place) for one in (self.places[0], self.places[-1]))) if self.places else ""
        return span if span != self.label else ""


def documents(catalog: Catalog, library: str, where: Sequence[str] = ()) -> list[Document]:
    """Every document, by path; with conditions only published ones that meet them."""
    with catalog.snapshot() as snapshot:
        found = known(snapshot, library)
    return select.where([d for d in found if d.published], where) if where else found


def document(catalog: Catalog, library: str, name: str) -> Document:
    """The one document a name means. Raises NotFoundError, and UsageError where it means several."""
    with catalog.snapshot() as snapshot:
        return one(snapshot, library, name, published=False)


def published(catalog: Catalog, library: str, name: str) -> Document:
    """The one document a name means, which has been indexed. Raises as ``document`` does, and for one that failed."""
    with catalog.snapshot() as snapshot:
        return one(snapshot, library, name)


def known(snapshot: Snapshot, library: str) -> list[Document]:
    """The documents of the library of a name or alias. Raises NotFoundError where there is no such library."""
    found = snapshot.library(library)
    documents = snapshot.documents(found.id)
    return documents if found.id == found.name else [replace(one, library=found.name) for one in documents]


def one(snapshot: Snapshot, library: str, name: str, *, published: bool = True) -> Document:
    found = select.by_name(known(snapshot, library), [str(name)])
    if len(found) > 1:
        choices = ", ".join(f"{d.doc_id} ({d.path})" for d in found[:5])
        raise UsageError(f"'{name}' means {len(found)} documents.", f"Use an id: {choices}.")
    if published and not found[0].published:
        raise _not_indexed(found[0])
    return found[0]


def refuse_failed(catalog: Catalog, library: str, names: Sequence[str]) -> None:
    """Raises NotFoundError with the reason where a name means only documents that could not be indexed."""
    with catalog.snapshot() as snapshot:
        everything = known(snapshot, library)
    for name in names:
        found = select.by_name(everything, [name])
        if not any(document.published for document in found):
            raise _not_indexed(found[0])


def _not_indexed(document: Document) -> NotFoundError:
    return NotFoundError(f"{document.path} could not be indexed: {document.error}", "Mend the file and index it again.")


def read_pages(catalog: Catalog, library: str, name: str, numbers: str | int | Sequence[int]) -> list[PageRead]:
    """Pages in the order asked for, or the one of a place or a label («slide 3», «Sales!A51:H100», «line 85»).

    Raises UsageError for a bad list or a page outside the document.
    """
    with catalog.snapshot() as snapshot:
        found = one(snapshot, library, name)
        if isinstance(numbers, int):
            numbers = [numbers]
        wanted = _named(snapshot, found, numbers) if isinstance(numbers, str) else list(numbers)
        check_inside(wanted, found)
        pages = {page.number: page for page in snapshot.pages(found.content_id, wanted)}
        sections = snapshot.sections(found.content_id)
    from hybrid_pageindex.services.places import places_of

    return [
        PageRead(
            found.doc_id, found.name, number, pages[number].label, pages[number].text, pages[number].summary,
            _on_page(sections, number), pages[number].needs_ocr, pages[number].ocr,
            found.indexed_at, pages[number].described, _read_by(found, pages[number]),
            places_of(pages[number], sections), hidden_text=pages[number].hidden_text,
        )
        for number in wanted
    ]  # fmt: skip


def find_place(catalog: Catalog, library: str, name: str, place: str, quote: str) -> PlaceFound:
    """A place by its name where the quoted words still begin there, else where these stand now.

    Raises NotFoundError where neither is found.
    """
    from hybrid_pageindex.services.places import find

    with catalog.snapshot() as snapshot:
        found = one(snapshot, library, name)
        at = find(lambda: _all_pages(snapshot, found), place, quote)
    if at is None:
        raise NotFoundError(f"{found.name} has no place '{place}' with these words.", "Search for the words.")
    return at


def _all_pages(snapshot: Snapshot, found: Document) -> Iterator[Page]:
    for first in range(1, found.pages + 1, _AT_ONCE):
        yield from snapshot.pages(found.content_id, range(first, min(first + _AT_ONCE, found.pages + 1)))


def _read_by(document: Document, page: Page) -> str:
    if page.read_by_model:
        return f"the vision model {document.models.get('vlm', '')}".rstrip()
    if not page.ocr:
        return ""
    what = "OCR" if page.width else "OCR of its pictures"  # pages without a look keep their own text
    return f"{what} ({page.engine}, {page.sure} % sure)" if page.engine and page.text else what


def _named(snapshot: Snapshot, found: Document, written: str) -> list[int]:
    if any(map(str.isalpha, written)):
        from hybrid_pageindex.services.places import find

        if (at := find(lambda: _all_pages(snapshot, found), written.strip(), "")) is not None:
            return [at.page]
    return page_list(written, found)


def page_list(written: str, document: Document) -> list[int]:
    """``3,7-9`` -> [3, 7, 8, 9]; repeats are dropped."""
    numbers: dict[int, None] = {}
    for part in written.split(","):
        match = _LIST.fullmatch(part)
        if not match:
            raise UsageError(f"'{written}' is no list of pages.", "Write numbers and ranges, for example 3,7-9.")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise UsageError(f"'{part.strip()}' runs backwards.", f"Write {last}-{first}.")
        check_inside([first, last], document)
        if last - first >= MOST_PAGES:
            raise UsageError(f"'{part.strip()}' is more than {MOST_PAGES} pages.", "Ask for fewer at once.")
        numbers |= dict.fromkeys(range(first, last + 1))
    return list(numbers)


def check_inside(numbers: Sequence[int], document: Document) -> None:
    """Raises UsageError where a document has no such page."""
    for number in numbers:
        if not isinstance(number, int):
            raise UsageError(f"{number!r} is no page number.", "Give whole numbers, or a list like '3,7-9'.")
        if not 1 <= number <= document.pages:
            raise UsageError(f"{document.name} has no page {number}.", f"Its pages are 1 to {document.pages}.")


def _on_page(sections: Sequence[Section], page: int) -> tuple[SectionOnPage, ...]:
    """The innermost sections with text on a page, in order."""
    by_id = {section.node_id: section for section in sections}
    here = [section for section in sections if section.start_page <= page <= section.end_page]
    parents = {section.parent_id for section in here}
    return tuple(
        SectionOnPage(s.node_id, section_path(s, by_id), s.start_page, s.end_page)
        for s in here
        if s.node_id not in parents or s.start_page == page
    )


def section_path(section: Section, by_id: dict[str, Section]) -> tuple[str, ...]:
    """Titles from the top of the tree down to a section."""
    path = [section.title]
    while section.parent_id is not None:
        section = by_id[section.parent_id]
        path.append(section.title)
    return tuple(reversed(path))
