"""The lines of a page that answer best."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hybrid_core import text as words

_WINDOW_CHARS = 280
_DIGIT = re.compile(r"\d")


def best_window(text: str, query: Mapping[str, float], *, numeric: bool = False) -> tuple[int, str]:
    """The stretch of about 280 characters with the most query-term weight, and its offset in the text.

    ``numeric`` prefers, among equals, a stretch whose matching lines hold figures.
    """
    may_hold = re.compile("|".join(sorted(map(_beginning, query))) or "(?!)")
    lines: list[tuple[int, str, set[str]]] = []
    offset = 0
    for line in text.split("\n"):
        held = set(words.tokenise(line)) & query.keys() if may_hold.search(words.fold(line)) else set()
        lines.append((offset, line, held))
        offset += len(line) + 1
    best, best_gain, first = (0, 0), -1.0, 0
    size = 0
    for last, (_, line, _) in enumerate(lines):
        size += len(line) + 1
        while size > _WINDOW_CHARS and first < last:
            size -= len(lines[first][1]) + 1
            first += 1
        if not lines[last][2]:
            continue
        held = set().union(*(found for _, _, found in lines[first : last + 1]))
        gain = sum(query[term] for term in held) - 0.001 * (last - first)
        if numeric and any(found and _DIGIT.search(line) for _, line, found in lines[first : last + 1]):
            gain += 0.2 * sum(query[term] for term in held)
        if gain > best_gain:
            best, best_gain = (first, last), gain
    if best_gain < 0:  # nothing matches: the beginning
        return 0, " ".join(text[:_WINDOW_CHARS].split())
    start, end = best
    while start < end and not lines[start][2]:  # begin where the match is, end where the room does
        start += 1
    room = _WINDOW_CHARS - sum(len(line) + 1 for _, line, _ in lines[start : end + 1])
    while end + 1 < len(lines) and room > len(lines[end + 1][1]):
        end += 1
        room -= len(lines[end][1]) + 1
    shown = " ".join(" ".join(line for _, line, _ in lines[start : end + 1]).split())
    return lines[start][0], shown if len(shown) <= 2 * _WINDOW_CHARS else shown[: 2 * _WINDOW_CHARS - 1] + "…"


def _beginning(term: str) -> str:
    """What a line must hold to hold a term: stemming changes only endings, and numbers may be written with commas."""
    return term[0] if term[0].isdigit() else re.escape(term[:-1] if len(term) > 3 and term.isascii() else term)
