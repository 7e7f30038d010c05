"""Which pages carry a printed table of contents."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise

from indexers.outline.numbering import compact
from indexers.outline.toc_rows import TocRow, label_value, page_rows
from indexers.outline.view import DocumentView

HEADS = frozenset(
    "contents tableofcontents tableofcontent contentsoverview contentoverview overviewofcontents briefcontents "
    "detailedcontents summaryofcontents index tableofcontentspage outline agenda "
    "inhalt inhaltsverzeichnis inhaltsübersicht inhaltsubersicht tabledesmatières tabledesmatieres sommaire "
    "índice indice contenido sumario sommario inhoud содержание оглавление 目录 目錄 目次 "
    "المحتويات الفهرس תוכןהעניינים תוכןעניינים".split()
)  # letters and digits only
LISTS = re.compile(
    r"(?:list\s+of\s+|index\s+(?:of|to)\s+)?(?:tables|figures|illustrations|maps|charts|boxes|plates|exhibits|graphs|diagrams)"
    r"(?:\s+and\s+\w+)?$|(?:list|table|index)\s+of\s+\w+|abbildungs\w*|tabellen\w*|插图|图目录|表目录",
    re.IGNORECASE,
)


_ONLY = 0.7  # of a page's rows: those with labels where it holds nothing but contents
_LISTED = 0.6  # of the rows of a page that lists, wherever it stands


@dataclass(slots=True)
class ContentsPages:
    """A printed table of contents, its rows without heads and lists of figures.

    ``full``: those of its pages that hold nothing else.
    """

    pages: list[int] = field(default_factory=list)
    full: set[int] = field(default_factory=set)
    rows: list[TocRow] = field(default_factory=list)

    @property
    def labelled(self) -> bool:
        """Whether its entries carry page labels."""
        labelled = sum(bool(row.label) for row in self.rows)
        return labelled >= 3 and labelled >= 0.2 * len(self.rows)


def opens_contents(title: str) -> bool:
    """Whether a title is the head of printed contents or of a list of figures."""
    return compact(title) in HEADS or LISTS.match(title) is not None


def find_contents(doc: DocumentView, search: int) -> list[ContentsPages]:
    """The tables of contents that begin in the first ``search`` pages.

    A page counts only by its own rows, never by its neighbours alone, so that one page wrongly taken
    costs nothing but the headings on it.
    """
    found: list[ContentsPages] = []
    listing = False
    last, number = min(len(doc.pages), search), 0
    while number < min(len(doc.pages), last):
        number += 1
        rows = page_rows(doc[number]) if doc[number].units else []
        opens = any(compact(row.title) in HEADS and (not row.label or len(rows) > 3) for row in rows[:8])
        continuing = bool(found) and found[-1].pages[-1] == number - 1
        if not rows or not _is_contents(rows, opens, continuing, len(doc.pages)):
            continue
        if not continuing or (opens and found[-1].rows):
            found.append(ContentsPages())
            listing = False
        contents = found[-1]
        contents.pages.append(number)
        if opens or continuing or sum(bool(row.label) for row in rows) >= _ONLY * len(rows):
            contents.full.add(number)
        last = max(last, number + 2)
        for row in rows:
            if not row.label and opens_contents(row.title):
                listing = compact(row.title) not in HEADS
            elif not listing:
                contents.rows.append(row)
    return found


def find_listings(doc: DocumentView) -> frozenset[int]:
    """Pages that do little but list what stands on other ones, anywhere: contents of a part, indexes of statements."""
    found = set()
    for page in doc.pages:
        if sum(unit.text[-1:].isdigit() for unit in page.units) < max(5, 0.4 * len(page.units)):
            continue  # most pages, at once
        rows = page_rows(page)
        firm = sum(row.firm and row.label.isdigit() for row in rows)
        if firm >= _LISTED * len(rows) and _is_contents(rows, False, False, len(doc.pages)):
            found.add(page.page.number)
    return frozenset(found)


def _is_contents(rows: list[TocRow], opens: bool, continuing: bool, pages: int) -> bool:
    labelled = [row for row in rows if row.label and row.title and label_value(row.label) <= pages + 200]
    firm = sum(row.firm for row in labelled)
    long = sum(len(row.title) > 140 for row in rows)
    if long > 0.3 * len(rows):
        return False
    values = [label_value(row.label) for row in labelled if row.label.isdigit()]
    rising = sum(a <= b for a, b in pairwise(values))
    ordered = len(values) < 3 or rising >= 0.75 * (len(values) - 1)
    spread = len(values) < 4 or len(set(values)) > 0.4 * len(values)
    words = sum(bool(compact(row.title)) and not compact(row.title).isdigit() for row in labelled)
    if not ordered or words < 0.7 * len(labelled) or not spread:
        return False
    if opens:
        return len(labelled) >= 2 or 3 <= len(rows) <= 60
    if continuing:
        return firm >= 2 and len(labelled) >= 0.25 * len(rows)
    return firm >= 5 and firm >= 0.5 * len(rows)
