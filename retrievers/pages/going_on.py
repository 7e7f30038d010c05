"""Whether a list or a table breaks off at the end of a page and goes on on the next."""

from __future__ import annotations

import re

from hybrid_core.text.table_rows import table_rows

_EDGE = 6  # lines at the end and the beginning of a page that may be of a table or a list
_NEAR, _SOUGHT = 0.6, 40  # of a page, from where a passage is near its end; characters by which it is found
_FOOT = 60  # characters of a running head or foot at most
_ITEM = re.compile(r"^\s*(?:[•●▪■◦‣*–-]|\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)])\s+\S")
_UNENDED = re.compile(r"[^\W_][)\]”\"’']?$|[-,;]$")
_BARE = re.compile(r"[\W\d]*")
_TURNED = re.compile(r"\b(?:continued|cont['’.]?d|fortsetzung|suite|continuación|续)\b|续表", re.IGNORECASE)


def goes_on(text: str, following: str, heading: bool) -> bool:
    """``following`` is the text of the next page; ``heading``: a section begins at its top, so that it is another
    matter.
    """
    last, first = _lines(text), _lines(following)
    if not last or not first:
        return False
    if any(_TURNED.search(line) for line in first[:_EDGE]):
        return True
    if heading:
        return False
    rows = len(table_rows(last, range(len(last)))), len(table_rows(first, range(len(first))))
    ends, begins = last[-_EDGE:], first[:_EDGE]
    if min(rows) and _row_in(last, ends) and _row_in(first, begins):
        return True
    return any(map(_ITEM.match, ends)) and any(map(_ITEM.match, begins[:3]))


def breaks_off(text: str, following: str) -> bool:
    """Return whether a sentence breaks off at the end of a page, so that the next one begins in its middle."""
    last, first = _lines(text), _lines(following)
    if not last or not first:
        return False
    end, begin = last[-1].rstrip(), first[0].lstrip()
    return bool(_UNENDED.search(end)) and (begin[:1].islower() or end.endswith(("-", ",", ";")))


def runs_over(text: str, following: str, passage: str, heading: bool) -> bool:
    """Return whether what a ``passage`` of a page says may go on on the next: it stands near the end, where a sentence
    breaks off, or in a list or a table that goes on. ``heading`` as above.
    """
    plain, sought = " ".join(text.split()), " ".join(passage.strip("… ").split())[:_SOUGHT]
    at = plain.find(sought) if sought else -1
    if at < _NEAR * len(plain):
        return False
    return goes_on(text, following, heading) or (not heading and breaks_off(text, following))


def _row_in(lines: list[str], edge: list[str]) -> bool:
    """Whether half of the lines at the edge are rows."""
    at_end = lines[-1] == edge[-1]
    numbers = range(len(lines) - len(edge), len(lines)) if at_end else range(len(edge))
    return 2 * len(table_rows(lines, numbers)) >= len(edge)


def _lines(text: str) -> list[str]:
    """The lines of a page that say something: no page numbers."""
    return [line for line in text.split("\n") if not _BARE.fullmatch(line) or "  " in line]
