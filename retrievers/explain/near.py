"""Results of different documents that are nearly equal: a draft and its final form."""

from __future__ import annotations

from collections.abc import Sequence

from retrievers.documents.content import Content, cosine

_COMPARED = 10  # results that are compared with each other
_ALIKE, _LENGTH = 0.9, 0.2  # cosine from which pages are nearly equal, share by which their lengths may differ


def nearly_equal(pages: Sequence[tuple[Content, int]]) -> dict[int, int]:
    """Which of the pages, by its place, is nearly one of another document that stands before it, by its place."""
    found: dict[int, int] = {}
    lengths = [int(content.body.lengths[page - 1]) for content, page in pages[:_COMPARED]]
    for at, (content, page) in enumerate(pages[:_COMPARED]):
        for before, (other, its_page) in enumerate(pages[:at]):
            if abs(lengths[at] - lengths[before]) > _LENGTH * lengths[before] or other.content_id == content.content_id:
                continue
            if cosine(content.vector(page), other.vector(its_page)) >= _ALIKE:
                found[at] = before
                break
    return found
