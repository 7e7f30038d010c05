"""Where the words, figures and tables of a page stand: told from the original when asked for, and cached."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, replace
from itertools import chain
from typing import cast

from hybrid_core.errors import DocumentError, NotFoundError, UsageError
from hybrid_core.store.regions import page_regions
from hybrid_core.store.shared_cache import SharedCache
from hybrid_core.text.table_rows import table_rows
from hybrid_core.types.documents import Page
from hybrid_core.types.layouts import Box, Illustration, PageLayout, PlacedLine, TableBox, WordBox
from hybrid_pageindex.services import reading
from hybrid_pageindex.services.page_work import PageWork, format_of_document
from hybrid_pageindex.services.reading import PageRead

_VERSION = "layout-3"
"""Of what tells where things stand: raising it has them told again."""
_NOWHERE = (0.0, 0.0, 0.0, 0.0)
_WORD = re.compile(r"\w+|[()%+\-–−]")
_LEFT_OUT = "…"  # between the parts of a snippet


class Layouts:
    """Safe for several threads."""

    def __init__(self, work: PageWork) -> None:
        self._catalog, self._cache, self._settings, self._work = work.catalog, work.cache, work.settings, work
        self._readings = SharedCache(work.cache, work.catalog, "readings")

    def of(self, library: str, name: str, number: int, password: str | None) -> PageLayout:
        """With the regions of a page that a layout model has read. Raises DocumentError where the original has moved,
        changed or cannot be read.
        """
        with self._catalog.snapshot() as snapshot:
            content = reading.one(snapshot, library, name).content_id
        layout = self._told(library, name, number, password)
        return replace(layout, regions=page_regions(self._catalog, self._readings, content, number))

    def _told(self, library: str, name: str, number: int, password: str | None) -> PageLayout:
        """Without regions, which come and go while what is told of a file's bytes stays."""
        from indexers.formats.limits import ParseLimits
        from indexers.workers.protocol import LayoutTask

        with self._catalog.snapshot() as snapshot:
            found = reading.one(snapshot, library, name)
            held = snapshot.library(library).id
            reading.check_inside([number], found)
            page = snapshot.pages(found.content_id, [number])[0]
        lines, own = _lines(page), format_of_document(found).layout is not None
        key = f"layout/{found.sha256}/{_VERSION}/{number}/{hashlib.sha256(repr(lines).encode()).hexdigest()[:24]}"
        limits = self._settings.part(ParseLimits)
        pictures: tuple[Illustration, ...] = ()
        if not own and self._work.may_show(held, found):
            if (kept := self._cache.get(f"{key}-illustrated")) is not None:
                return _unpacked(kept)
            if (shown := self._work.illustrations(held, found, ((number, page.text),))) is not None:
                key, pictures = f"{key}-illustrated", shown[0]
        if (kept := self._cache.get(key)) is not None:
            return _unpacked(kept)
        if not own:
            made = self._work.run(LayoutTask(None, None, number, lines, limits, pictures))
        else:
            with self._work.original(held, found) as path:
                made = self._work.run(LayoutTask(path, password, number, lines, limits))
        layout = cast(PageLayout, made)
        self._cache.offer({key: _packed(layout)})
        return layout

    def quote(self, library: str, name: str, number: int, quote: str, password: str | None) -> tuple[Box, ...]:
        """The boxes of quoted words, one for each line they stand in. Raises NotFoundError where they do not."""
        layout = self._told(library, name, number, password)
        parts = [part for part in quote.split(_LEFT_OUT) if _letters(part)]
        boxes = [box for part in parts for box in _quoted(layout.words, part)]
        if not boxes:
            raise NotFoundError(f"page {number} does not hold these words.", "Quote them as the page's text has them.")
        return tuple(boxes)

    def with_tables(self, library: str, read: PageRead) -> PageRead:
        """A page whose tables are in Markdown; ``note`` says why they are not, where that cannot be told."""
        lines = read.text.split("\n")
        if len(table_rows(lines, range(len(lines)))) < 2 or any(line.startswith("|") for line in lines):
            return read
        try:
            tables = self._told(library, read.doc_id, read.page, None).tables
        except (DocumentError, UsageError) as error:
            return replace(read, note=f"tables are shown as lines: {error}")
        return replace(read, text="\n".join(lines_with_tables(lines, tables)))


def lines_with_tables(lines: Sequence[str], tables: Iterable[TableBox]) -> list[str]:
    """Return the lines of a page with tables in Markdown in place of the lines they are made of.

    Lines with a word that their table's cells do not hold stay as they are: a reader must not miss any.
    """
    written: list[str] = []
    end = 0
    for table in sorted(tables, key=lambda table: table.lines):
        first, last = table.lines
        if end <= first < last and _words(lines[first:last]) <= _words(chain(*table.rows)):
            written += [*lines[end:first], *_lines_of(table)]
            end = last
    return [*written, *lines[end:]]


def _words(texts: Iterable[str]) -> Counter[str]:
    """Count words, figures with the marks on them, whatever stands between them."""
    return Counter(word for text in texts for word in _WORD.findall(text))


def _lines(page: Page) -> tuple[PlacedLine, ...]:
    texts = page.text.split("\n")
    boxes = [cast(Box, tuple(map(float, box))) for box in page.boxes]
    return tuple(zip(texts, boxes if len(boxes) == len(texts) else [_NOWHERE] * len(texts), strict=True))


def _quoted(words: Sequence[WordBox], quote: str) -> Iterator[Box]:
    """Words from the one in which a quote begins to the one in which it ends, put together line by line."""
    owners = [at for at, word in enumerate(words) for _ in _letters(word.text)]
    wanted = _letters(quote)
    start = "".join(_letters(word.text) for word in words).find(wanted)
    if start < 0:
        return
    inside = words[owners[start] : owners[start + len(wanted) - 1] + 1]
    lines: list[list[Box]] = []
    for box in (word.box for word in inside):
        if lines and _level(lines[-1][-1], box):
            lines[-1].append(box)
        else:
            lines.append([box])
    for boxes in lines:
        x0, y0, x1, y1 = zip(*boxes, strict=True)
        yield min(x0), min(y0), max(x1), max(y1)


def _level(one: Box, other: Box) -> bool:
    """Whether two boxes stand in one line."""
    return min(one[3], other[3]) - max(one[1], other[1]) > 0.5 * min(one[3] - one[1], other[3] - other[1])


def _letters(text: str) -> str:
    """Letters and digits, so that marks and spaces may differ."""
    return "".join(filter(str.isalnum, text.casefold()))


def _lines_of(table: TableBox) -> list[str]:
    rows = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in table.rows]
    heads = table.heads or 1  # Markdown knows no table without one
    empty = [] if table.heads else [f"|{' |' * len(table.rows[0])}"]
    return [*empty, *rows[: table.heads], f"|{'---|' * len(table.rows[0])}", *rows[heads if table.heads else 0 :]]


def _packed(layout: PageLayout) -> bytes:
    return zlib.compress(json.dumps(astuple(layout)[:5], ensure_ascii=False).encode())


def _unpacked(data: bytes) -> PageLayout:
    width, height, words, figures, tables = json.loads(zlib.decompress(data))
    return PageLayout(
        width, height, tuple(WordBox(text, tuple(box)) for text, box in words), tuple(map(tuple, figures)),
        tuple(TableBox(tuple(box), tuple(map(tuple, rows)), heads, tuple(lines)) for box, rows, heads, lines in tables),
    )  # fmt: skip
