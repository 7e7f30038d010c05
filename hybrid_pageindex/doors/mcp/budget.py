"""How much an answer may say: an estimate of tokens, and cursors for what did not fit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hybrid_core.errors import UsageError
from hybrid_core.types.requests import MOST_RESULTS

BUDGET = 5000  # tokens of one answer
_FRAME = 250  # of these, for what stands around the items
_WIDE = 0x2E80  # from here on mostly Chinese, Japanese and Korean


def tokens(text: str) -> int:
    """An estimate: a token for every four characters, and for every Chinese, Japanese or Korean one.

    Models' own tokenisers differ from it and from each other; on English text of annual reports they count
    about as many.
    """
    wide = 0 if text.isascii() else sum(ord(character) >= _WIDE for character in text)
    return wide + (len(text) - wide + 3) // 4


def cost(value: Any) -> int:
    """Tokens of a value as compact JSON."""
    return tokens(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def fitting(items: Iterable[Any], budget: int) -> list[Any]:
    """The first items that fit, one at least."""
    kept: list[Any] = []
    left = budget - _FRAME
    for item in items:
        left -= cost(item)
        if kept and left < 0:
            break
        kept.append(item)
    return kept


def longest(text: str, budget: int) -> str:
    """The longest beginning of a text that fits, cut where a line ends if one does late enough."""
    if tokens(text) <= budget:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if tokens(text[:middle]) <= budget else (low, middle - 1)
    line = text.rfind("\n", 0, low)
    return text[: line + 1 if line > low // 2 else low]


def cursor(call: Mapping[str, Any], position: int, within: int = 0) -> str:
    """Where the same call goes on: ``position`` counts items, ``within`` characters of that item."""
    return f"{_mark(call)}.{position}.{within}"


def resume(call: Mapping[str, Any], given: str) -> tuple[int, int]:
    """(position, within) of a cursor, the beginning for none. Raises UsageError for a cursor of another call."""
    if not given:
        return 0, 0
    mark, *numbers = given[:100].split(".")
    if mark != _mark(call) or len(numbers) != 2 or not all(n.isascii() and n.isdigit() for n in numbers):
        raise UsageError("The cursor does not belong to this call.", "Repeat the call exactly, adding only its cursor.")
    return int(numbers[0]), int(numbers[1])


def reach(start: int, top_k: int) -> int:
    """How many results to look for where a search goes on: never more than one search may find."""
    return min(start + top_k, max(top_k, MOST_RESULTS))


def goes_on(results: Sequence[Any], end: int, most: int) -> bool:
    """Whether there may be more results after those up to ``end``, of a search for ``most``."""
    return end < len(results) or len(results) == most < MOST_RESULTS


def _mark(call: Mapping[str, Any]) -> str:
    written = json.dumps(call, sort_keys=True, ensure_ascii=True, default=str)
    return hashlib.sha256(written.encode()).hexdigest()[:8]
