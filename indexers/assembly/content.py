"""Build the content of a document from its parsed pages: tree, chunks, summaries, term counts.

This module reads and writes no files. On scanned pages, font sizes are estimates that vary by a tenth. They are first
rounded over the whole document, so that layout rules can use them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hybrid_core.text import tokens
from hybrid_core.text.prose import ranges
from hybrid_core.text.terms import TermCounts
from hybrid_core.types.documents import (
    IndexedContent,
    Line,
    Page,
    ParsedDocument,
    ParsedPage,
    Section,
    empty_warning,
    unread_warning,
)
from hybrid_core.types.locators import RegionsByPage
from hybrid_core.types.notes import Note
from indexers.assembly import summaries
from indexers.assembly.chunks import ChunkSize, cut
from indexers.assembly.flags import find_flags, find_gaps, gaps_warning
from indexers.assembly.spool import Spool, TermsByPage
from indexers.assembly.summaries import ProseByPage
from indexers.assembly.title import describe, find_title, marked_title
from indexers.outline.quality import KEY, quality
from indexers.outline.tree import TreeLimits, estimated_tree

_STEP = 1.25
_FIRST = 0.6  # share of a step: a font size that differs more from body text is another step
_MOST_STEPS = 4  # larger letters are often a picture
_LEAST_LETTERS = 4  # a line with fewer is no heading, and its size a guess


def level_sizes(pages: Sequence[ParsedPage]) -> tuple[ParsedPage, ...]:
    """Return the pages, with the font sizes of OCR lines rounded to the body size times a power of 1.25."""
    read = [line for page in pages if page.ocr for line in page.lines]
    if not read:
        return tuple(pages)
    usual = _usual(read)
    printed: Counter[tuple[float, str]] = Counter()
    for page in pages:
        if not page.ocr:
            for line in page.lines:
                printed[line.size, line.font] += len(line.text)
    size, font = printed.most_common(1)[0][0] if printed else (usual, "")
    return tuple(
        replace(page, lines=tuple(_levelled(line, usual, size, font) for line in page.lines)) if page.ocr else page
        for page in pages
    )


def _usual(lines: Sequence[Line]) -> float:
    """Return the most common font size of lines in points.

    Sizes are grouped in steps from the median; the result is the middle of the most common step.
    """
    median, left = 0.0, sum(len(line.text) for line in lines) / 2
    for line in sorted(lines, key=lambda line: line.size):
        left -= len(line.text)
        if left <= 0:
            median = max(line.size, 1.0)
            break
    letters: Counter[int] = Counter()
    for line in lines:
        letters[_steps(line, median)] += len(line.text)
    return median * _STEP ** letters.most_common(1)[0][0]


def _steps(line: Line, usual: float) -> int:
    steps = math.log(max(line.size, 1.0) / usual, _STEP)
    return int(math.copysign(math.floor(abs(steps) + 1 - _FIRST), steps))


def _levelled(line: Line, usual: float, size: float, font: str) -> Line:
    few = sum(map(str.isalpha, line.text)) < _LEAST_LETTERS
    steps = min(_steps(line, usual), 0 if few else _MOST_STEPS)
    return replace(line, size=round(size * _STEP**steps, 1), font=font)


def build_content(
    name: str,
    sha256: str,
    format: str,
    spools: Sequence[Spool],
    size: ChunkSize,
    limits: TreeLimits = TreeLimits(),
    regions: RegionsByPage | None = None,
) -> IndexedContent:
    """Build the content to publish from the parsed page ranges (``spools``) of a document, in order.

    ``regions`` are the findings of a layout model, which help to detect headings.
    """
    info = next(spool.info for spool in spools if spool.info is not None)
    parsed = level_sizes([page for spool in spools for page in spool.pages])
    terms = [page for spool in spools for page in spool.terms]
    document = ParsedDocument(format, parsed, info.bookmarks, info.metadata, info.headings)
    sections, signs = estimated_tree(document, limits, regions)
    texts = [page.text for page in parsed]
    per_page = TermsByPage(terms)
    furniture = summaries.find_furniture(texts) if info.headings is None else frozenset()
    summary = summaries.summarise(ProseByPage(parsed), sections, per_page, furniture)
    pages = tuple(
        _page(page, page_text, page_summary)
        for page, page_text, page_summary in zip(parsed, texts, summary.pages, strict=True)
    )
    described = zip(sections, summary.sections, find_flags(sections, parsed), find_gaps(sections, parsed), strict=True)
    sections = tuple(
        replace(section, summary=page_summary, flags=flags, gaps=gaps)
        for section, page_summary, flags, gaps in described
    )
    if info.headings is None:
        title = find_title(name, info.metadata, parsed)
    else:
        title = marked_title(name, info.metadata, info.headings)
    return IndexedContent(
        sha256=sha256,
        format=format,
        metadata=info.metadata,
        title=title,
        description=describe(title, sections, len(pages)),
        pages=pages,
        sections=sections,
        chunks=tuple(cut(sections, pages, size)),
        terms=TermCounts.build(per_page, [page.length for page in terms]).to_bytes(),
        heading_terms=heading_terms(sections, len(pages)).to_bytes(),
        warnings=(
            *map(Note.of, info.warnings),
            *(Note.of(w) for spool in spools for w in spool.warnings),
            *text_warnings(pages),
            *gaps_warning(sections),
        ),
        models={KEY: round(quality(signs), 3)} if signs else {},
    )


def _page(page: ParsedPage, page_text: str, summary: str) -> Page:
    placed = page.lines if page.width else ()  # a format without pages has no places on them
    return Page(
        number=page.number,
        label=page.label,
        width=page.width,
        height=page.height,
        text=page_text,
        summary=summary,
        boxes=_boxes(placed),
        needs_ocr=page.needs_ocr,
        ocr=page.ocr,
        places=page.places,
        pictures=page.pictures,
        engine=page.engine,
        sure=page.sure,
    )


def _boxes(lines: Sequence[Line]) -> tuple[tuple[int, int, int, int], ...]:
    """Return the boxes of lines in whole points, limited to the range of 16 bits."""
    points = np.array([(line.x0, line.y0, line.x1, line.y1) for line in lines]).reshape(-1, 4)
    return tuple(map(tuple, np.rint(points).clip(-32_768, 32_767).astype(int).tolist()))


def heading_terms(sections: Sequence[Section], pages: int) -> TermCounts:
    """Return the term counts of the headings that begin on each page."""
    words: list[list[str]] = [[] for _ in range(pages)]
    for section in sections:
        if not section.synthetic:
            words[section.start_page - 1] += tokens.tokenise(section.title)
    return TermCounts.build([tokens.counts(page) for page in words], [len(page) for page in words])


def text_warnings(pages: Sequence[Page], vlm: str = "") -> list[Note]:
    """Return the warnings about pages whose text was read by OCR or a vision model, or is missing.

    ``vlm`` is the name of the vision model, "" if none was used.
    """
    unread = [page.number for page in pages if page.needs_ocr]
    by_ocr = [page for page in pages if page.ocr and page.text and not page.read_by_model]
    read = [page.number for page in by_ocr if page.width]
    pictured = [page.number for page in by_ocr if not page.width]
    empty = [page.number for page in pages if page.ocr and not page.text]
    seen = [page.number for page in pages if page.read_by_model]
    warnings, count = [], len(pages)
    if read:
        warnings.append(Note("warning.read-by-ocr", read=len(read), pages=count, which=ranges(read)))
    if pictured:
        note = Note("warning.pictures-read-by-ocr", read=len(pictured), pages=count, which=ranges(pictured))
        warnings.append(note)
    if empty:
        warnings.append(empty_warning(len(empty), count, ranges(empty)))
    if seen:
        note = Note("warning.read-by-vision", read=len(seen), pages=count, model=vlm, which=ranges(seen))
        warnings.append(note)
    if unread:
        warnings.append(unread_warning(len(unread), count, ranges(unread)))
    elif not any(page.text for page in pages):
        warnings.append(Note("warning.no-text"))
    return warnings
