"""The texts of the pages that a search looks at more closely, each read once."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_core.store.catalog.contents import Contents
from hybrid_core.types.documents import PageText
from retrievers.documents.content import Content

_GONE = PageText("", "")


class PageTexts:
    """Of one search: a closer look, a model and the results ask for many of the same pages."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self._held: dict[tuple[str, int], PageText] = {}

    def gone(self, place: tuple[Content, int]) -> bool:
        """Whether a page was asked for that the catalog no longer had."""
        return self._held.get((place[0].content_id, place[1])) is _GONE

    def of(self, places: Sequence[tuple[Content, int]]) -> list[PageText]:
        """Each page (content, 1-based page); nothing of one where the catalog has none."""
        return self.by_id([(content.content_id, page) for content, page in places])

    def by_id(self, keys: Sequence[tuple[str, int]]) -> list[PageText]:
        """The same by (id of the content, page)."""
        if missing := [key for key in dict.fromkeys(keys) if key not in self._held]:
            self._held |= dict.fromkeys(missing, _GONE) | self._contents.page_texts(missing)
        return [self._held[key] for key in keys]
