"""What a page belongs to, as a model that sees it alone is told: document, section, and what stands beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hybrid_core.types.documents import Page, Section

_TITLE = 120  # characters


class PagePlace(NamedTuple):
    """Lines. ``own``: the document, the path to the deepest section that holds the page. ``beside``: how its neighbours
    begin, which no kept reply depends on, or a page that changed would have those beside it described anew.
    """

    own: str = ""
    beside: str = ""

    def __str__(self) -> str:
        return f"{self.own}\n{self.beside}".strip()


def place_of_page(title: str, pages: Sequence[Page], sections: Sequence[Section], number: int) -> PagePlace:
    """What a page (1-based) belongs to."""
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
    beside = [
        f"page {name}: {begins}"
        for name, at in (("before", number - 1), ("after", number + 1))
        if 1 <= at <= len(pages) and (begins := _begins(pages[at - 1], sections))
    ]
    return PagePlace("\n".join(lines), "\n".join(beside))


def _begins(page: Page, sections: Sequence[Section]) -> str:
    """The title that begins on a page, else its first line."""
    titled = [one.title for one in sections if one.start_page == page.number and not one.synthetic]
    first = next((line for line in page.text.splitlines() if line.strip()), "")
    return _short(titled[0] if titled else first)


def _short(text: str) -> str:
    return " ".join(text.split())[:_TITLE]
