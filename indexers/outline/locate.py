"""Where a title stands on a page, or anywhere in the document."""

from __future__ import annotations

from collections import defaultdict
from difflib import SequenceMatcher

from indexers.outline.numbering import bare, compact, numbering
from indexers.outline.view import DocumentView, PageView

_LINES = 6  # a title wraps over at most this many lines
_LABEL = 14  # letters of a line that may be only "Chapter 12", in another size than the title


def find_title(
    title: str,
    doc: DocumentView,
    page: int,
    y: float | None = None,
    slack: int = 1,
    least: float = 0.0,
    skip: frozenset[int] = frozenset(),
) -> tuple[int, int] | None:
    """(page, unit) of a title on the page or, failing that, within ``slack`` pages of it; None where it is not there.

    ``least``: how well it must match, 1 for a line that is the title and nothing else; ``skip``:
    pages where it does not count (printed contents).
    """
    whole, short = compact(title), bare(title)
    for number in (page, *(page + sign * d for d in range(1, slack + 1) for sign in (1, -1))):
        if 1 <= number <= len(doc.pages) and number not in skip:
            unit = find_on_page(whole, short, doc[number], y if number == page else None, least)
            if unit is not None:
                return number, unit
    return None


def find_on_page(whole: str, short: str, page: PageView, y: float | None = None, least: float = 0.0) -> int | None:
    """The unit where a title begins; several are told apart by height ``y``, else by size.

    ``whole`` and ``short`` are the title's letters and digits with and without its numbering.
    """
    if not short:
        return None
    best: tuple[float, float, int] | None = None
    for i in sorted({*page.beginning(whole), *page.beginning(short)}):
        score = _match(whole, short, page, i)
        if score > least:
            unit = page.units[i]
            far = abs(unit.y0 - y) / 20 if y is not None else -unit.size / 4
            if best is None or (-score, far, i) < best:
                best = (-score, far, i)
    return best[2] if best else None


def _match(whole: str, short: str, page: PageView, i: int, near: bool = True) -> float:
    """1.0 for the title and nothing else, less where the line goes on, 0 where it is another text.

    ``near``: forgive misprints.
    """
    full = page.compact[i]
    for wanted, worth in ((whole, 1.0), (short, 0.95)):
        text = full
        if text[:3] != wanted[:3]:
            begins = text.find(wanted[:8], 1, _LABEL + 8)
            if begins < 0 or not _numbers(page.units[i].text, begins):
                continue
            text, worth = text[begins:], worth - 0.04  # numbered on the page, not where the title comes from
        if text == wanted:
            return worth
        if text.startswith(wanted):
            if len(wanted) >= 8 or len(text) <= len(wanted) + 4:
                return 0.7 * worth if len(text) > len(wanted) + 4 else 0.9 * worth
            continue
        joined = text
        j = i + 1
        while j < min(len(page.compact), i + _LINES) and len(joined) < len(wanted) and wanted.startswith(joined):
            if len(text) > _LABEL and not 0.85 < page.units[j].size / max(page.units[i].size, 0.1) < 1.18:
                break  # an author or subtitle
            joined += page.compact[j]
            j += 1
        if joined == wanted:
            return worth
        if len(text) >= 8 and joined.startswith(wanted):
            return 0.8 * worth
        if near and len(wanted) > 12 and len(joined) > 0.6 * len(wanted) and text[:6] == wanted[:6]:
            ratio = SequenceMatcher(None, wanted, joined[: len(wanted) + 3], autojunk=False).ratio()
            if ratio >= 0.9:
                return 0.7 * worth * ratio
    return 0.0


def _numbers(text: str, letters: int) -> bool:
    """Whether numbering takes up exactly that many letters and digits at the start of a text."""
    found = numbering(text)
    return found is not None and len(compact(text[: found.end])) == letters


class LinePrefixIndex:
    """Where in the document lines begin a given title: (page, unit) by the first letters of each line."""

    def __init__(self, doc: DocumentView, skip: frozenset[int]) -> None:
        self._doc = doc
        self._at: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for page in doc.pages:
            number = page.page.number
            if number in skip:
                continue
            for i, text in enumerate(page.compact):
                if text and len(page.units[i].text) < 200:
                    self._at[text[:5]].append((number, i))
                    found = numbering(page.units[i].text)
                    if found is not None and (rest := compact(page.units[i].text[found.end : found.end + 12])[:5]):
                        self._at[rest].append((number, i))

    def places(self, title: str, most: int = 60) -> list[tuple[int, int]]:
        """Places in order of page, at most one per page, none where there are more than ``most`` lines to try."""
        whole, short = compact(title), bare(title)
        near = {*self._at.get(whole[:5], ()), *self._at.get(short[:5], ())}
        if not short or len(near) > 40 * most:
            return []
        found: dict[int, tuple[float, int]] = {}
        for number, i in sorted(near):
            score = _match(whole, short, self._doc[number], i, near=False)
            if score >= 0.8 and score > found.get(number, (0.0, 0))[0]:
                found[number] = (score, i)
        return [(number, i) for number, (_, i) in found.items()] if len(found) <= most else []
