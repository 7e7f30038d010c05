"""Parsed pages become an index: tree, chunks, summaries, term counts. Pure computation, no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hybrid_core.text import tokens
from hybrid_core.text.plural import counted
from hybrid_core.text.term_counts import TermCounts
from hybrid_core.types.documents import IndexedContent, Line, Page, ParsedDocument, ParsedPage, Section
from hybrid_core.types.layouts import RegionsByPage
from hybrid_core.types.unread import empty_warning, unread_warning
from indexers.build import description, summaries
from indexers.build.chunks import ChunkSize, cut
from indexers.build.flags import find_flags
from indexers.build.gaps import find_gaps, gaps_warning
from indexers.build.prose import prose
from indexers.build.spool import Spool, TermsByPage
from indexers.build.title import find_title, marked_title
from indexers.ocr.sizes import level_sizes
from indexers.outline.tree import TreeLimits, build_tree


def build_content(
    name: str,
    sha256: str,
    format: str,
    spools: Sequence[Spool],
    size: ChunkSize,
    limits: TreeLimits = TreeLimits(),
    regions: RegionsByPage | None = None,
) -> IndexedContent:
    """Make everything that a publication writes from a document's parsed ranges, in order."""
    info = next(spool.info for spool in spools if spool.info is not None)
    parsed = level_sizes([page for spool in spools for page in spool.pages])
    terms = [page for spool in spools for page in spool.terms]
    document = ParsedDocument(format, parsed, info.bookmarks, info.metadata, info.headings)
    sections = build_tree(document, limits, regions)
    texts = [page.text for page in parsed]
    per_page = TermsByPage(terms)
    furniture = summaries.find_furniture(texts) if info.headings is None else frozenset()
    summary = summaries.summarise([prose(page) for page in parsed], sections, per_page, furniture)
    pages = tuple(
        _page(page, page_text, said) for page, page_text, said in zip(parsed, texts, summary.pages, strict=True)
    )
    told = zip(sections, summary.sections, find_flags(sections, parsed), find_gaps(sections, parsed), strict=True)
    sections = tuple(replace(section, summary=said, flags=held, gaps=gaps) for section, said, held, gaps in told)
    if info.headings is None:
        title = find_title(name, info.metadata, parsed)
    else:
        title = marked_title(name, info.metadata, info.headings)
    return IndexedContent(
        sha256=sha256,
        format=format,
        metadata=info.metadata,
        title=title,
        description=description.describe(title, sections, len(pages)),
        pages=pages,
        sections=sections,
        chunks=tuple(cut(sections, pages, size)),
        terms=TermCounts.build(per_page, [page.length for page in terms]).to_bytes(),
        heading_terms=heading_terms(sections, len(pages)).to_bytes(),
        warnings=(
            *info.warnings,
            *(w for spool in spools for w in spool.warnings),
            *text_warnings(pages),
            *gaps_warning(sections),
        ),
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
    """In whole points, as far as 16 bits hold them."""
    points = np.array([(line.x0, line.y0, line.x1, line.y1) for line in lines]).reshape(-1, 4)
    return tuple(map(tuple, np.rint(points).clip(-32_768, 32_767).astype(int).tolist()))


def heading_terms(sections: Sequence[Section], pages: int) -> TermCounts:
    """Term counts of the headings that begin on each page."""
    words: list[list[str]] = [[] for _ in range(pages)]
    for section in sections:
        if not section.synthetic:
            words[section.start_page - 1] += tokens.tokenise(section.title)
    return TermCounts.build([tokens.counts(page) for page in words], [len(page) for page in words])


def text_warnings(pages: Sequence[Page], vlm: str = "") -> list[str]:
    """What the user should know of pages without text. ``vlm`` is the vision model that was asked, if one was."""
    unread = [page.number for page in pages if page.needs_ocr]
    by_ocr = [page for page in pages if page.ocr and page.text and not page.read_by_model]
    read = [page.number for page in by_ocr if page.width]
    pictured = [page.number for page in by_ocr if not page.width]
    empty = [page.number for page in pages if page.ocr and not page.text]
    seen = [page.number for page in pages if page.read_by_model]
    said = []
    were = f"{counted(len(pages), 'page')} {'was' if len(pages) == 1 else 'were'}"
    if read:
        said.append(f"{len(read)} of {were} read by OCR: {ranges(read)}")
    if pictured:
        said.append(f"pictures on {len(pictured)} of {were} read by OCR: {ranges(pictured)}")
    if empty:
        said.append(empty_warning(len(empty), len(pages), ranges(empty)))
    if seen:
        said.append(f"{len(seen)} of {were} read by the vision model {vlm}: {ranges(seen)}")
    if unread:
        said.append(unread_warning(len(unread), len(pages), ranges(unread)))
    elif not any(page.text for page in pages):
        said.append("no page has text")
    return said


def ranges(numbers: Sequence[int]) -> str:
    """``[1, 2, 3, 7]`` -> ``1-3, 7``."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    shown = [str(a) if a == b else f"{a}-{b}" for a, b in spans[:12]]
    return ", ".join(shown) + (", …" if len(spans) > 12 else "")
