"""What ``grep`` and ``compare`` print."""

from __future__ import annotations

from hybrid_core.text.plural import counted
from hybrid_pageindex.doors.cli.show import console, escape
from hybrid_pageindex.services.comparing import Comparison, SectionChange, SectionSide
from hybrid_pageindex.services.grep import GrepResult


def show_grep(found: GrepResult) -> None:
    """The totals, then pages with the lines of their matches, or documents with their counts."""
    pages, documents = counted(found.total_pages, "page"), counted(found.total_documents, "document")
    whole = "all pages were searched" if found.complete else escape(found.note)
    console.print(f"{pages} in {documents}, {counted(found.total_matches, 'place')} · {whole}")
    for document in found.documents:
        console.print(f"{escape(document.path)}: {counted(document.pages, 'page')}, {document.matches} places")
    for page in found.pages:
        console.print(f"\n{escape(page.document)}, page {page.page}  ({counted(page.matches, 'place')})")
        for place in page.places:
            for line in place.text.split("\n"):
                console.print(f"   {escape(line)}")
    if found.cursor:
        console.print(f"\nmore with --cursor {found.cursor}")


def show_comparison(compared: Comparison) -> None:
    """The counts, then each section that differs with its words and figures."""
    console.print(f"{escape(compared.left.document)} → {escape(compared.right.document)}")
    console.print(
        f"{counted(compared.added, 'section')} added, {compared.removed} removed, {compared.changed} changed, "
        f"{compared.moved} moved, {compared.unchanged} the same"
    )
    for section in compared.sections:
        _show_section(section)
    if compared.cursor:
        console.print(f"\nmore with --cursor {compared.cursor}")


def _show_section(section: SectionChange) -> None:
    sides = " → ".join(_side(one) for one in (section.left, section.right) if one is not None)
    moved = ", moved" if section.moved and section.kind != "moved" else ""
    console.print(f"\n{section.kind}{moved}: {sides}")
    for change in section.changes:
        console.print(f"   p. {change.left_page} → {change.right_page}")
        for sign, words in (("-", change.before), ("+", change.after)):
            if words:
                console.print(f"   {sign} {escape(words)}")
    for figure in section.figure_changes:
        console.print(f"   figure: {escape(figure.label)}: {escape(figure.before)} → {escape(figure.after)}")
    if section.differences > len(section.changes):
        console.print(f"   … {section.differences} differences in all")


def _side(one: SectionSide) -> str:
    return f"{escape(one.title)} (page {one.start_page})"
