"""What a model asks for before it answers: lines that begin with READ or SEARCH, as the prompt describes them."""

from __future__ import annotations

import re
from dataclasses import dataclass

MARK, SEARCH = "READ ", "SEARCH "
MOST_PAGES = 4  # in one round
MOST_SEARCHES = 2  # in one round
_LONGEST = 300  # characters of a search
_LINE = re.compile(
    r"^\W{0,3}READ\s+(?:(?P<source>source)|D(?P<document>\d+))\b[\s,:]*(?:(?P<kind>pages?|sections?)\b)?[\s:]*(?P<what>.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_SEARCH = re.compile(r"^\W{0,3}SEARCH\b[\s:]*(?P<words>\S.*)$", re.MULTILINE)
_RANGE = re.compile(r"(\d{1,6})(?:\s*[-–]\s*(\d{1,6}))?")


@dataclass(frozen=True, slots=True)
class Wish:
    """``document`` is the number of one that was listed; its ``pages``, or the section of this ``node_id``. With
    ``source`` the whole of a source that is cut. What is not said is 0 or empty.
    """

    written: str
    document: int = 0
    pages: tuple[int, ...] = ()
    node_id: str = ""
    source: int = 0


def wishes(reply: str) -> tuple[Wish, ...]:
    """Return what to read, () where the reply is an answer: one begins with a line of either sort."""
    said = reply.strip()
    return tuple(one for match in _LINE.finditer(said) for one in _of(match)) if _asks(said) else ()


def searches(reply: str) -> tuple[str, ...]:
    """Return what to search for, () where the reply is an answer."""
    said = reply.strip()
    found = [" ".join(match["words"].split())[:_LONGEST] for match in _SEARCH.finditer(said)] if _asks(said) else []
    return tuple(dict.fromkeys(found))[:MOST_SEARCHES]


def _asks(said: str) -> bool:
    return _LINE.match(said) is not None or _SEARCH.match(said) is not None


def _of(match: re.Match[str]) -> list[Wish]:
    written, what = " ".join(match[0].split()), match["what"]
    if match["source"]:
        return [Wish(written, source=int(number)) for number, _ in _RANGE.findall(what)]
    document = int(match["document"])
    if (match["kind"] or "").lower().startswith("section"):
        return [Wish(written, document, node_id=number) for number in re.findall(r"\d{4,}", what)]
    pages: list[int] = []
    for first, last in _RANGE.findall(what):
        pages += range(int(first), min(int(last or first), int(first) + MOST_PAGES) + 1)
    return [Wish(written, document, tuple(dict.fromkeys(pages)))] if pages else []
