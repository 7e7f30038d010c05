"""A changed file costs its changed pages: what models see and what is embedded, counted."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.incremental import CHAPTER, measured

pytestmark = pytest.mark.slow


def test_only_pages_that_changed_are_seen_and_embedded_again(tmp_path: Path) -> None:
    made = {work.change: work for work in measured(CHAPTER, tmp_path)}
    assert made["new"].shown == made["new"].embedded == CHAPTER
    pages = {change: (work.shown, work.embedded) for change, work in made.items() if change != "new"}
    assert pages == {
        "a page changed": (1, 1),
        "a page put first": (1, 1),
        "a chapter added": (CHAPTER, CHAPTER),
        "renamed": (0, 0),
        "touched": (0, 0),
    }
    a_page = made["new"].vectors / CHAPTER
    assert made["a page changed"].vectors <= 2 * a_page, "one of its summary, and those of its text"
    assert made["a page put first"].vectors <= 2 * a_page
    assert made["a chapter added"].vectors <= 1.2 * made["new"].vectors
    assert made["a page changed"].sections <= 2, "its section with those that hold it, and the document's line"
    assert (
        (made["renamed"].calls, made["renamed"].vectors) == (made["touched"].calls, made["touched"].vectors) == (0, 0)
    )
    assert not made["renamed"].parsed and not made["touched"].parsed
