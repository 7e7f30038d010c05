"""Views of pages: page images, pages as LibreOffice prints them, and the positions of words, figures and tables."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from hybrid_core.errors import DocumentError, NotFoundError, UsageError
from hybrid_core.store.shared_cache import SharedCache, page_regions
from hybrid_core.text.markup import table_rows
from hybrid_core.types.documents import Document, Page
from hybrid_core.types.locators import Box, Illustration, PageLayout, PlacedLine, TableBox, WordBox
from hybrid_pageindex.engine.documents import reading
from hybrid_pageindex.engine.documents.originals import PageWork, format_of_document
from hybrid_pageindex.engine.documents.reading import PageRead

if TYPE_CHECKING:
    from indexers.formats.format import PictureOptions
    from indexers.workers.protocol import LayoutTask


SHEET = 12  # maximum pages on a contact sheet
SIDE = 1568  # pixels; vision models scale down larger images
MOST_BYTES = 300_000


class Pictures:
    """Page images, drawn from original files or page texts and cached. Safe for several threads."""

    def __init__(self, work: PageWork) -> None:
        self.work = work
        self._catalog, self._cache, self._settings = work.catalog, work.cache, work.settings
        self._shared = SharedCache(work.cache, work.catalog, "pictures")

    def draw(
        self, library: str, name: str, pages: Sequence[int], picture: PictureOptions, password: str | None
    ) -> bytes:
        """Return the image of a page, or of several pages as a contact sheet. Images are cached by content.

        Raise DocumentError if the original file is missing, has changed or cannot be drawn, UsageError if its format is
        unknown.
        """
        with self._catalog.snapshot() as snapshot:
            document = reading.find_document(snapshot, library, name)
            library_id = snapshot.library(library).id
            reading.check_inside(pages, document)
            format = format_of_document(document)
            own = format.show is not None
            texts = (
                () if own else tuple((page.number, page.text) for page in snapshot.pages(document.content_id, pages))
            )
        titles = "|".join(filter(None, (picture.title, *picture.titles)))
        part = f"{picture.clip}-{titles}-" if picture.clip or titles else ""
        shape = f"{part}{picture.dpi}-{picture.side}-{picture.most_bytes}.{picture.format}"
        place = f"image/{document.sha256}/{','.join(map(str, pages))}/"
        if own:
            return self._draw_once(place + shape, lambda: self._drawn(library_id, document, pages, picture, password))
        plain = f"{place}{hashlib.sha256(repr(texts).encode()).hexdigest()[:24]}-{shape}"
        if self.work.may_show(library_id, document):
            if format.sketch is not None:
                try:
                    key = f"{plain}-{_SKETCH_VERSION}"
                    return self._draw_once(key, lambda: self._sketched(library_id, document, texts, picture))
                except DocumentError:  # the page is drawn from its text
                    pass
            illustrated = f"{plain}-illustrated"
            if (cached := self._cache.get(illustrated)) is not None:
                return cached
            if (shown := self.work.illustrations(library_id, document, texts)) is not None:
                return self._draw_once(illustrated, lambda: self._drawn_texts(texts, picture, shown))
        return self._draw_once(plain, lambda: self._drawn_texts(texts, picture, ((),) * len(texts)))

    def _draw_once(self, key: str, draw: Callable[[], bytes]) -> bytes:
        image = self._shared.get(key)
        if image is None:
            image = draw()
            self._shared.offer({key: image})
        return image

    def _drawn(
        self, library: str, document: Document, pages: Sequence[int], picture: PictureOptions, password: str | None
    ) -> bytes:
        from indexers.formats.limits import ParseLimits
        from indexers.workers.protocol import PictureTask

        with self.work.original(library, document) as path:
            limits = self._settings.part(ParseLimits)
            return cast("bytes", self.work.run(PictureTask(path, password, tuple(pages), limits, picture)))

    def _sketched(
        self, library: str, document: Document, texts: tuple[tuple[int, str], ...], picture: PictureOptions
    ) -> bytes:
        from indexers.formats.limits import ParseLimits
        from indexers.workers.protocol import TextPictureTask

        with self.work.original(library, document) as path:
            task = TextPictureTask(texts, picture, ((),) * len(texts), path, self._settings.part(ParseLimits))
            return cast("bytes", self.work.run(task))

    def _drawn_texts(
        self, texts: tuple[tuple[int, str], ...], picture: PictureOptions, shown: tuple[tuple[Illustration, ...], ...]
    ) -> bytes:
        from indexers.workers.protocol import TextPictureTask

        return cast("bytes", self.work.run(TextPictureTask(texts, picture, shown)))


_SKETCH_VERSION = "sketched-1"
"""The version of the code that draws pages from their files (``Format.sketch``), part of the keys of the cache."""
_PRINT_VERSION = "printed-1"
_MOST_KEPT = 20_000_000  # maximum bytes of a PDF in the cache


def draw_printed(work: PageWork, library: str, name: str, number: int, picture: PictureOptions) -> bytes:
    """Return the image of a page as LibreOffice prints it.

    Raise UsageError if LibreOffice does not print the format. Raise DocumentError if LibreOffice is missing or fails,
    or the original file is missing or has changed.
    """
    from indexers.workers.protocol import PrintedPictureTask, PrintTask

    with work.catalog.snapshot() as snapshot:
        document = reading.find_document(snapshot, library, name)
        library_id = snapshot.library(library).id
        reading.check_inside([number], document)
        [page] = snapshot.pages(document.content_id, [number])
    format = format_of_document(document)
    if not format.office_prints:
        raise UsageError(
            f"{document.name}: LibreOffice cannot print files of the format {format.title}.",
            "Request the page without the printed view.",
        )
    key = f"{_PRINT_VERSION}/{document.sha256}"
    printed = work.cache.get(key)
    if printed is None:
        with work.original(library_id, document) as path:
            printed = cast("bytes", work.run(PrintTask(path)))
        if len(printed) <= _MOST_KEPT:
            work.cache.offer({key: printed})
    slide = format.place == "slide"
    return cast("bytes", work.run(PrintedPictureTask(printed, number, page.text, slide, picture)))


_LAYOUT_VERSION = "layout-5"
"""The version of the code that computes positions. With a higher version they are computed again."""
_NOWHERE = (0.0, 0.0, 0.0, 0.0)
_WORD = re.compile(r"\w+|[()%+\-–−]")
_LEFT_OUT = "…"  # between the parts of a snippet


class Layouts:
    """Positions of words, figures and tables on pages, read from original files and cached.

    Safe for several threads.
    """

    def __init__(self, work: PageWork) -> None:
        self._catalog, self._cache, self._settings, self._work = work.catalog, work.cache, work.settings, work
        self._readings = SharedCache(work.cache, work.catalog, "readings")

    def of(self, library: str, name: str, number: int, password: str | None) -> PageLayout:
        """Return the layout of a page: its words, figures, tables, and the regions that a layout model recognised.

        Raise DocumentError if the original file is missing, has changed or cannot be read.
        """
        with self._catalog.snapshot() as snapshot:
            content = reading.find_document(snapshot, library, name).content_id
        layout = self._page_layout(library, name, number, password)
        return replace(layout, regions=page_regions(self._catalog, self._readings, content, number))

    def _page_layout(self, library: str, name: str, number: int, password: str | None) -> PageLayout:
        """Return the layout of a page without a layout model's regions.

        The layout is cached by the file's hash. Regions are not cached, because they may change.
        """
        from indexers.formats.limits import ParseLimits
        from indexers.workers.protocol import LayoutTask

        with self._catalog.snapshot() as snapshot:
            document = reading.find_document(snapshot, library, name)
            library_id = snapshot.library(library).id
            reading.check_inside([number], document)
            page = snapshot.pages(document.content_id, [number])[0]
        lines, format = _placed_lines(page), format_of_document(document)
        lines_hash = hashlib.sha256(repr(lines).encode()).hexdigest()[:24]
        key = f"layout/{document.sha256}/{_LAYOUT_VERSION}/{number}/{lines_hash}"
        limits = self._settings.part(ParseLimits)
        pictures: tuple[Illustration, ...] = ()
        if format.layout is None and self._work.may_show(library_id, document):
            if format.sketch is not None:
                sketched = f"{key}-{_SKETCH_VERSION}"
                if (cached := self._cache.get(sketched)) is not None:
                    return _unpacked(cached)
                try:
                    return self._computed(sketched, library_id, document, LayoutTask(None, None, number, lines, limits))
                except DocumentError:  # the layout is that of the page drawn from its text
                    pass
            if (cached := self._cache.get(f"{key}-illustrated")) is not None:
                return _unpacked(cached)
            if (shown := self._work.illustrations(library_id, document, ((number, page.text),))) is not None:
                key, pictures = f"{key}-illustrated", shown[0]
        if (cached := self._cache.get(key)) is not None:
            return _unpacked(cached)
        if format.layout is None:
            layout = cast("PageLayout", self._work.run(LayoutTask(None, None, number, lines, limits, pictures)))
            self._cache.offer({key: _packed(layout)})
            return layout
        return self._computed(key, library_id, document, LayoutTask(None, password, number, lines, limits))

    def _computed(self, key: str, library: str, document: Document, task: LayoutTask) -> PageLayout:
        """Compute the layout of a page of a document's file, and cache it."""
        with self._work.original(library, document) as path:
            layout = cast("PageLayout", self._work.run(replace(task, path=path)))
        self._cache.offer({key: _packed(layout)})
        return layout

    def highlight(
        self, library: str, name: str, number: int, quote: str, occurrence: int, password: str | None
    ) -> tuple[Box, ...]:
        """Return the boxes of the words ``quote`` on a page, one per line; empty if the page lacks them.

        ``occurrence`` (from 0) chooses one of several places with these words.
        """
        words = self._page_layout(library, name, number, password).words
        return tuple(_quoted(words, quote, occurrence))

    def quote(self, library: str, name: str, number: int, quote: str, password: str | None) -> tuple[Box, ...]:
        """Return the boxes of quoted words, one per line. Raise NotFoundError if the page does not contain them."""
        layout = self._page_layout(library, name, number, password)
        parts = [part for part in quote.split(_LEFT_OUT) if _letters_and_digits(part)]
        boxes = [box for part in parts for box in _quoted(layout.words, part)]
        if not boxes:
            raise NotFoundError(
                f"Page {number} does not contain these words.", "Quote words exactly as the text of the page has them."
            )
        return tuple(boxes)

    def with_tables(self, library: str, read: PageRead) -> PageRead:
        """Return a page with its tables in Markdown, and the data of its charts as tables at the end.

        If its layout cannot be read, return the page with plain lines and the reason as ``note``.
        """
        lines = read.text.split("\n")
        tabular = len(table_rows(lines, range(len(lines)))) >= 2
        drawn = sum(_TICK.fullmatch(line) is not None for line in lines) >= _TICKS
        if not (tabular or drawn) or any(line.startswith("|") for line in lines):
            return read
        try:
            layout = self._page_layout(library, read.doc_id, read.page, None)
        except (DocumentError, UsageError) as error:
            return replace(read, note=f"tables are shown as lines: {error}")
        charts = [line for chart in layout.charts for line in (CHART_HEAD, *_lines_of(chart))]
        tables = self._with_heads(library, read, layout.tables)
        return replace(read, text="\n".join([*lines_with_tables(lines, tables), *charts]))

    def _with_heads(self, library: str, read: PageRead, tables: Sequence[TableBox]) -> list[TableBox]:
        """Return the tables of a page. A first one that continues from the page before gets its column headings."""
        ordered = sorted(tables, key=lambda table: table.lines)
        if not ordered or ordered[0].heads or ordered[0].lines[0] > _RUNNING:
            return ordered
        first, *others = ordered
        heads = self._heads_before(library, read.doc_id, read.page, len(first.rows[0]))
        return [replace(first, rows=(*heads, *first.rows), heads=len(heads)), *others]

    def _heads_before(self, library: str, name: str, number: int, columns: int) -> tuple[tuple[str, ...], ...]:
        """Return the column headings of a table that continues on a page, () if the table begins there."""
        with self._catalog.snapshot() as snapshot:
            document = reading.find_document(snapshot, library, name)
            before = list(range(max(1, number - _MOST_CONTINUED), number))
            pages = {page.number: page for page in snapshot.pages(document.content_id, before)}
        for at in reversed(before):
            if at not in pages or not pages[at].text:
                return ()
            try:
                tables = self._page_layout(library, name, at, None).tables
            except (DocumentError, UsageError):
                return ()
            last = max(tables, key=lambda table: table.lines, default=None)
            below = 0 if last is None else pages[at].text.count("\n") + 1 - last.lines[1]
            if last is None or below > _RUNNING or len(last.rows[0]) != columns:
                return ()
            if last.heads or last.lines[0] > _RUNNING:
                return last.rows[: last.heads]
        return ()


_RUNNING = 3  # maximum lines of running heads between a table and the edge of its page
_MOST_CONTINUED = 20  # pages of one table
CHART_HEAD = "Chart, read from the drawing:"
_TICK = re.compile(r"\W{0,3}\d[\d.,]*\s?%?")
_TICKS = 3  # lines of one number each, which the axis of a chart has at least


def lines_with_tables(lines: Sequence[str], tables: Iterable[TableBox]) -> list[str]:
    """Return the lines of a page, with the lines of each table replaced by the table in Markdown.

    Keep a table's lines if one of their words is in no cell, so that no word is lost.
    """
    written: list[str] = []
    end = 0
    for table in sorted(tables, key=lambda table: table.lines):
        first, last = table.lines
        if end <= first < last and _count_words(lines[first:last]) <= _count_words(chain(*table.rows)):
            written += [*lines[end:first], *_lines_of(table)]
            end = last
    return [*written, *lines[end:]]


def _count_words(texts: Iterable[str]) -> Counter[str]:
    """Count words and numbers, including the signs of numbers but no other punctuation."""
    return Counter(word for text in texts for word in _WORD.findall(text))


def _placed_lines(page: Page) -> tuple[PlacedLine, ...]:
    texts = page.text.split("\n")
    boxes = [cast("Box", tuple(map(float, box))) for box in page.boxes]
    return tuple(zip(texts, boxes if len(boxes) == len(texts) else [_NOWHERE] * len(texts), strict=True))


def _quoted(words: Sequence[WordBox], quote: str, occurrence: int = 0) -> Iterator[Box]:
    """Yield one box per line around the words of a quote. Case, spaces and punctuation may differ.

    ``occurrence`` counts the places of the quote from 0. If it is too high, take the last place.
    """
    owners = [at for at, word in enumerate(words) for _ in _letters_and_digits(word.text)]
    letters = _letters_and_digits(quote)
    text = "".join(_letters_and_digits(word.text) for word in words)
    start = text.find(letters) if letters else -1
    if start < 0:
        return
    for _ in range(occurrence):
        after = text.find(letters, start + len(letters))
        if after < 0:
            break
        start = after
    inside = words[owners[start] : owners[start + len(letters) - 1] + 1]
    lines: list[list[Box]] = []
    for box in (word.box for word in inside):
        if lines and _level(lines[-1][-1], box):
            lines[-1].append(box)
        else:
            lines.append([box])
    for boxes in lines:
        x0, y0, x1, y1 = zip(*boxes, strict=True)
        yield min(x0), min(y0), max(x1), max(y1)


def _level(box: Box, other: Box) -> bool:
    """Return whether two boxes are at about the same height, and therefore on one line."""
    return min(box[3], other[3]) - max(box[1], other[1]) > 0.5 * min(box[3] - box[1], other[3] - other[1])


def _letters_and_digits(text: str) -> str:
    """Return the letters and digits of a text in lower case, for comparisons that ignore punctuation and spaces."""
    return "".join(filter(str.isalnum, text.casefold()))


def _lines_of(table: TableBox) -> list[str]:
    rows = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in table.rows]
    heads = table.heads or 1  # a Markdown table needs a header row
    empty = [] if table.heads else [f"|{' |' * len(table.rows[0])}"]
    return [*empty, *rows[: table.heads], f"|{'---|' * len(table.rows[0])}", *rows[heads if table.heads else 0 :]]


def _packed(layout: PageLayout) -> bytes:
    packed = [*astuple(layout)[:5], astuple(layout)[6]]  # regions are added to each copy
    return zlib.compress(json.dumps(packed, ensure_ascii=False).encode())


def _unpacked(data: bytes) -> PageLayout:
    width, height, words, figures, tables, charts = json.loads(zlib.decompress(data))
    return PageLayout(
        width, height, tuple(WordBox(text, tuple(box)) for text, box in words), tuple(map(tuple, figures)),
        tuple(map(_unpacked_table, tables)), charts=tuple(map(_unpacked_table, charts)),
    )  # fmt: skip


def _unpacked_table(packed: Sequence[Any]) -> TableBox:
    box, rows, heads, lines = packed
    return TableBox(tuple(box), tuple(map(tuple, rows)), heads, tuple(lines))
