"""A document's title: what a reader would call it, from its cover, its metadata or its name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import PurePath

from hybrid_core.document_types import type_by_ending
from hybrid_core.periods import find_periods
from hybrid_core.types import Line, MarkedHeading, ParsedPage

_MACHINE = re.compile(
    r"^(untitled|document\d*|microsoft \w+ - |slide \d+|.*\.(docx?|pdf|indd|qxd|tex|dvi|xlsx?|pptx?)$)", re.I
)
_COUNTED = re.compile(r"\s*;\s*\d+$")  # «Title; 1» of books' metadata
_FORM = re.compile(r"form\s+(?=\S*\d)[A-Z0-9]{1,6}(?:[-–][A-Z0-9]{1,4})?(?:/A)?", re.I)
_CITED = re.compile(r"(?i)\bcitation\b[^“\"]{0,200}[“\"]([^”\"]{8,250})[”\"]")
# Lines of a cover that are no title: stamps, notices, numbers of exhibits and pages, by-lines, labels, addresses.
_STAMP = re.compile(
    r"(?i)arxiv:|(?:https?://|www\.)|\S+@\S+\.\w|\(?(?:embargoed |not )?for (?:(?:immediate )?release|\w+ use only)\b"
    r"|\(?page\s+\d+|\d+\s*/\s*\d+$|(?:exhibit|annex|appendix|schedule)\s+[\dA-Z.\-()]+$|\[?confidential\b|\[?\*+"
    r"|(?:table of )?contents$|proceedings of|volume\s+\d|vol\.|source:|by[ :]|edited by|©|copyright"
    r"|(?:draft|version|rev(?:ision)?\.?|doi|isbn|issn|no\.|tel\.?|phone|fax)\b[ :.]*[\d/v]"
    r"|united states$|securities and exchange commission|[•·▪■◦–-]\s|execution (?:copy|version)$"
)
_LABEL = re.compile(r"[:;,]$")
_SENTENCE = re.compile(r"(?i)[.!]$|\b(?:this|hereby|pursuant|whereas|shall|has been|have been|is|are|was|were)\b")
_COVERS = 6  # pages on which a title may be repeated: covers, half-titles, title pages
_FLAT = 8  # lines in the largest type: more are body text, whose size tells nothing
_JOINED = 5  # lines over which a title may run
_HEADLINES = 40  # lines of a page among which its title stands


def find_title(name: str, metadata: Mapping[str, str], pages: Sequence[ParsedPage]) -> str:
    """The metadata's title where a cover bears it, else what the cover gives itself by its type's size or, where all
    is of one size, by its wording, else the metadata's title, else the file's name."""
    covers = pages[:_COVERS]
    said = _COUNTED.sub("", " ".join(metadata.get("title", "").split()))
    usable = len(said) >= 4 and any(c.isalpha() for c in said) and not _MACHINE.match(said)
    if usable and any(_bears(page, said) for page in covers):
        return said[:300]
    page = next((page for page in covers if any(_plain(line) for line in page.lines)), None)
    found = _on_cover(page) if page else ""
    return (found or (said if usable else "") or PurePath(name).stem)[:300]


def marked_title(name: str, metadata: Mapping[str, str], headings: Sequence[MarkedHeading]) -> str:
    """The title a file with markup gives itself, else its first heading where none stands above it, else the name."""
    said = metadata.get("title", "")
    marked = [heading for heading in headings if heading.source == "markup"]
    if not said and marked and marked[0].level == min(heading.level for heading in marked):
        said = marked[0].title
    return said[:300] or PurePath(name).stem


def _key(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())


def _bears(page: ParsedPage, title: str) -> bool:
    """Whether the page bears the title in lines of its own, not as a part of a line."""
    lines = [_key(line.text) for line in page.lines[:_HEADLINES]]
    wanted = _key(title)
    return any("".join(lines[at : at + n]) == wanted for at in range(len(lines)) for n in range(1, _JOINED + 1))


def _plain(line: Line) -> bool:
    text = " ".join(line.text.split())
    if len(text) < 4 or sum(c.isalpha() for c in text) < 3 or _STAMP.match(text) or _LABEL.search(text):
        return False
    dated = sum(m.end - m.start for m in find_periods(text))
    return dated < 0.6 * len(text)


def _on_cover(page: ParsedPage) -> str:
    lines = page.lines[:_HEADLINES]
    if form := next((m[0] for line in lines if (m := _FORM.fullmatch(line.text.strip()))), ""):
        return form
    if cited := _CITED.search(page.text):
        return " ".join(cited[1].split()).strip(" .,")
    plain = [line for line in lines if _plain(line)]
    largest = max(line.size for line in plain)
    top = [line for line in plain if line.size >= largest - 0.2]
    if len(top) > _FLAT:
        top = _worded(top)
    joined = [top[0]]
    for before, line in pairwise(top):
        if len(joined) == _JOINED or not -0.2 * largest <= line.y0 - before.y0 < 2.0 * largest:
            break
        joined.append(line)
    return " ".join(unicodedata.normalize("NFKC", " ".join(line.text for line in joined)).split())


def _worded(lines: Sequence[Line]) -> list[Line]:
    """The line that ends with a kind of document («Supply Agreement»), else the first that is no sentence."""
    short = [line for line in lines if len(line.text.strip()) <= 120 and not _SENTENCE.search(line.text.strip())]
    typed = (line for line in short if type_by_ending(" ".join(line.text.split())))
    return [next(typed, next(iter(short), lines[0]))]
