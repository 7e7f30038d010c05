"""A content whose pages and sections a model changed, made whole again: anchors, chunks, terms, warnings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hybrid_core.text.term_counts import TermCounts
from hybrid_core.types.documents import IndexedContent, Page, Section
from indexers.build.chunks import ChunkSize, cut
from indexers.build.content import heading_terms, text_warnings
from indexers.build.spool import PageTerms, TermsByPage


def within(sections: Sequence[Section], pages: Sequence[Page], before: Sequence[Page]) -> tuple[Section, ...]:
    """Sections whose anchors lie within the texts of their pages, which may have become others: at the same line where
    the lines are as many as ``before``.
    """

    def inside(page: int, anchor: int) -> int:
        text, old = pages[page - 1].text, before[page - 1].text
        if text != old and text.count("\n") == old.count("\n"):
            line = old.count("\n", 0, anchor)
            column = anchor - (old.rfind("\n", 0, anchor) + 1)
            lines = text.split("\n")
            return sum(len(one) + 1 for one in lines[:line]) + min(column, len(lines[line]))
        return min(anchor, len(text))

    return tuple(
        replace(
            section,
            anchor=inside(section.start_page, section.anchor),
            end_anchor=None if section.end_anchor is None else inside(section.end_page, section.end_anchor),
        )
        for section in sections
    )


def rebuilt(
    base: IndexedContent,
    pages: Sequence[Page],
    sections: Sequence[Section],
    *,
    description: str,
    said: Sequence[str],
    moot: str = "",
    models: Mapping[str, Any],
    size: ChunkSize,
) -> IndexedContent:
    """``said`` is added to the warnings; those about pages without text are told anew.

    ``moot`` is a warning that falls away once every page has text: how to have them read.
    """
    stale = set(text_warnings(base.pages))
    if not any(page.needs_ocr for page in pages):
        stale.add(moot)
    kept = [warning for warning in base.warnings if warning not in stale]
    return replace(
        base,
        description=description,
        pages=tuple(pages),
        sections=tuple(sections),
        chunks=tuple(cut(sections, pages, size)),
        terms=_terms(base, pages),
        heading_terms=heading_terms(sections, len(pages)).to_bytes(),
        warnings=(*kept, *text_warnings(pages, str(models.get("vlm", ""))), *said),
        models=models,
    )


def _terms(base: IndexedContent, pages: Sequence[Page]) -> bytes:
    """Term counts: those of pages that say what they said are taken over."""
    held = TermCounts.from_bytes(base.terms)
    terms = [
        PageTerms(hashes, counts.astype("uint32"), int(length))
        for (hashes, counts), length in zip(held.page_vectors(), held.lengths, strict=True)
    ]
    changed = False
    for at, (before, page) in enumerate(zip(base.pages, pages, strict=True)):
        if (before.text, before.described) != (page.text, page.described):
            terms[at] = PageTerms.of_text(f"{page.text}\n{page.described}")
            changed = True
    if not changed:
        return base.terms
    return TermCounts.build(TermsByPage(terms), [page.length for page in terms]).to_bytes()
