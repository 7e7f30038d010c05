"""The warnings that a document has pages without text; they say which, so that nobody looks for them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hybrid_core.text.plural import counted

_WARNING = re.compile(
    r"(\d+) of \d+ pages? (?:ha(?:ve|s) no readable text \(scanned\?\)|shows? no text that OCR could read): "
    r"([\d, -]*\d)"
)


def unread_warning(unread: int, pages: int, which: str) -> str:
    """Of pages that nobody has read. ``which`` is a list such as "1-3, 7"; where it is long only its beginning."""
    have = "has" if pages == 1 else "have"
    return f"{unread} of {counted(pages, 'page')} {have} no readable text (scanned?): {which}"


def empty_warning(empty: int, pages: int, which: str) -> str:
    """Of pages on which OCR found nothing."""
    show = "shows" if pages == 1 else "show"
    return f"{empty} of {counted(pages, 'page')} {show} no text that OCR could read: {which}"


def unread_pages(warnings: Sequence[str]) -> tuple[int, str]:
    """How many pages of a document show something and have no text, and which, by its warnings."""
    found = [said for warning in warnings if (said := _WARNING.match(warning))]
    return sum(int(said[1]) for said in found), ", ".join(said[2] for said in found)
