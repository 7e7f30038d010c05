"""What a page belongs to, as a model that sees it alone is told: document, section, and what stands beside it."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_core.types.documents import Page, Section

_TITLE = 120  # characters


def place_of_page(title: str, pages: Sequence[Page], sections: Sequence[Section], number: int) -> str:
    """Lines: the document, the path to the deepest section that holds the page, the beginnings of its neighbours."""
    lines = [f"document: {_short(title)}"]  # and no page number, or a new page would have all after it described anew
    on = [one for one in sections if one.start_page <= number <= one.end_page and not one.synthetic]
    if on:
        path: list[str] = []
        by_id = {one.node_id: one for one in sections}
        step: Section | None = max(on, key=lambda one: one.level)
        while step is not None:
            path.insert(0, _short(step.title))
            step = by_id.get(step.parent_id or "")
        lines.append(f"section: {' › '.join(path)}")
    for name, beside in (("before", number - 1), ("after", number + 1)):
        if 1 <= beside <= len(pages) and (begins := _begins(pages[beside - 1], sections)):
            lines.append(f"page {name}: {begins}")
    return "\n".join(lines)


def _begins(page: Page, sections: Sequence[Section]) -> str:
    """The title that begins on a page, else its first line."""
    titled = [one.title for one in sections if one.start_page == page.number and not one.synthetic]
    first = next((line for line in page.text.splitlines() if line.strip()), "")
    return _short(titled[0] if titled else first)


def _short(text: str) -> str:
    return " ".join(text.split())[:_TITLE]
