"""The title of a document, from its first pages and metadata, and its one-line description."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePath

from hybrid_core.cards import cover
from hybrid_core.cards.document_types import finder, type_by_ending
from hybrid_core.text.names import name_key
from hybrid_core.text.periods import find_periods
from hybrid_core.text.tokens import fold
from hybrid_core.types.documents import Line, MarkedHeading, ParsedPage, Section

_MACHINE_TITLE = re.compile(
    r"^(untitled|document\d*|microsoft \w+ - |slide \d+|.*\.(docx?|pdf|indd|qxd|tex|dvi|xlsx?|pptx?)$)", re.I
)
_NUMBERED_COPY = re.compile(r"\s*;\s*\d+$")
_STAMP = re.compile(  # text beside the title on covers
    r"(?ix)^[\W_]*(?:"
    r"(?:for\s+)?(?:immediate\s+)?release\b.* | embargo.* | (?:press|news|media)\s+release"
    r"| page\s+\w+(?:\s+of\s+\w+)? | arxiv\s*:.* | (?:doi|issn|isbn|copyright|©).*"
    r"| (?:exhibit|ex\.?|annex|appendix|schedule)[\s\-.]*[\dA-Z]{1,3}(?:[.\-(][\dA-Z).]+)*"
    r"| by\s.+ | for\s+(?:personal|internal|official)\s+use\s+only.*"
    r"| (?:strictly\s+)?(?:private|confidential)\b.* | \W*confidential\s+treatment.*"
    r"| (?:table\s+of\s+)?contents | abstract | draft | (?:vol(?:ume)?|no|issue|number)\b.*\d.*"
    r"| proceedings\s+of\b.* | edited\s+by\b.* | \(?mark\s+one\)?.*"
    r"| .*(?:https?://|www\.|@\w).*"
    r")[\W_]*$"
)
_CITED = re.compile(r"(?i:citation|cite\s+as)\b[^“\"]{0,200}[“\"]([^”\"]{12,250})[”\"]")
_WORD = re.compile(r"[^\W_]+")
_PAGES = 3
_LINES = 60  # maximum lines of a page that are read
_MOST_WORDS = 30
_MOST_CHARACTERS = 300
_LARGE = 1.3  # multiple of the body size from which a line is prominent in any case
_TYPE_WORDS = 8  # a line of at most so many words that names a type of document is the document's name


@dataclass
class _Block:
    """Adjacent lines of one style, which together may be the title."""

    page: int
    lines: list[Line] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join(" ".join(line.text for line in self.lines).split()).strip(" .,;:_*|")

    @property
    def size(self) -> float:
        return max((line.size for line in self.lines), default=0.0)


def find_title(name: str, metadata: Mapping[str, str], pages: Sequence[ParsedPage]) -> str:
    """Return the document's title.

    The first choice is the title in the document's own citation, the second the file's title if the pages show it.
    Further choices are the most prominent line on the first pages, the file's title, and the file's name.
    """
    front = [page for page in pages[: 2 * _PAGES] if page.lines][:_PAGES]
    shown = "\n".join(page.text for page in front)
    first = front[0].text if front else ""
    if cited := _CITED.search(first[:6_000]):
        return " ".join(cited[1].split()).strip(" .,")
    organisations = cover.labelled_names(first)
    marked = _NUMBERED_COPY.sub("", " ".join(metadata.get("title", "").split()))
    marked = marked if _may_be_title(marked) and not _MACHINE_TITLE.match(marked) else ""
    named = name_key(marked) in {name_key(organisation) for organisation in organisations}
    if marked and not named and _share_shown(marked, shown) >= 0.9:
        return marked[:_MOST_CHARACTERS]
    body = _body_size(front)
    best, best_value = "", -math.inf
    for order, block in enumerate(_title_blocks(front, body)):
        text = block.text
        if not _may_be_title(text) or (text[0].islower() and block.size < _LARGE * body and text[1] != "-"):
            continue
        value = _prominence(block, body) - 0.1 * min(order, 10) - 0.8 * block.page
        if value > best_value:
            best, best_value = text, value
    if best and organisations and _names_type(best):
        best = f"{organisations[0]}, {best}"
    return (best or (marked if not shown.strip() else "") or PurePath(name).stem)[:_MOST_CHARACTERS]


def marked_title(name: str, metadata: Mapping[str, str], headings: Sequence[MarkedHeading]) -> str:
    """Return the title in the file's markup, or its first top heading, or its name: the first that exists."""
    title = metadata.get("title", "")
    marked = [heading for heading in headings if heading.source == "markup"]
    if not title and marked and marked[0].level == min(heading.level for heading in marked):
        title = marked[0].title
    return title[:_MOST_CHARACTERS] or PurePath(name).stem


def _title_blocks(pages: Sequence[ParsedPage], body: float) -> Iterator[_Block]:
    """Yield the blocks (adjacent lines of one style) of the first pages in reading order.

    A line with a date or number, or one that names a type of document, is a block of its own.
    """
    for number, page in enumerate(pages):
        block = _Block(number)
        for line in [line for line in page.lines if not line.role][:_LINES]:
            alone = _names_type(line.text)
            if not line.text.strip() or _is_stamp(line.text):
                yield block
                block = _Block(number)
                continue
            if block.lines and (alone or _names_type(block.text) or not _goes_on(block.lines[-1], line, body)):
                yield block
                block = _Block(number)
            block.lines.append(line)
        yield block


def _goes_on(before: Line, line: Line, body: float) -> bool:
    """Return whether a line continues the block of the previous line.

    Such a line has the same style and is directly below or beside the previous one.
    """
    large = min(before.size, line.size) > _LARGE * body
    alike = min(before.size, line.size) >= (0.75 if large else 0.95) * max(before.size, line.size)
    tall = max(before.size, line.size, before.y1 - before.y0)  # sizes on a scan are estimates
    near = -before.size < line.y0 - before.y0 < (2.6 if large else 1.9) * tall
    capitals = before.text.isupper() == line.text.isupper() or large
    return alike and near and capitals and before.bold == line.bold and not before.text.rstrip().endswith(".")


def _prominence(block: _Block, body: float) -> float:
    """Return how prominent a block of lines is by size, weight, capitals, and names of document types."""
    value = 4 * math.log(max(block.size, 1.0) / max(body, 1.0))
    value += 0.4 * all(line.bold for line in block.lines) + 0.4 * block.text.isupper()
    return value + (2.0 if _names_type(block.text) else 0.0)


def _names_type(text: str) -> bool:
    """Return whether a line is a document type, such as "FORM 10-K" or "SERVICES AGREEMENT"."""
    words = _WORD.findall(text)
    if (
        not 1 <= len(words) <= _TYPE_WORDS
        or (text[:1].islower() and text[1:2] != "-")
        or text.rstrip().endswith((",", ";"))
    ):
        return False
    ends = fold(text).strip(" .")
    return bool(type_by_ending(text)) or any(
        mention.end >= len(text.rstrip(" .")) - 1 and not ends.startswith("this ") for mention in finder().find(text)
    )


def _may_be_title(text: str) -> bool:
    letters = sum(c.isalpha() for c in text)
    wide = any(c > "\u2e7f" for c in text)
    words = _WORD.findall(text)
    if letters < (2 if wide else 4) or letters < 0.5 * len(text.replace(" ", "")) or len(words) > _MOST_WORDS:
        return False
    return not _is_stamp(text)


def _is_stamp(text: str) -> bool:
    """Return whether a line is a date, a release line, a page number, a by-line or an address.

    Many covers show such lines beside the title; they are never the title.
    """
    line = " ".join(text.split())
    if _STAMP.match(line):
        return True
    dated = sum(mention.end - mention.start for mention in find_periods(line))
    return dated > 0 and dated >= 0.8 * len(line)


def _share_shown(title: str, text: str) -> float:
    """Return the share of the title's word pairs that also occur in the text, 0 to 1.

    A pair is two adjacent words.
    """
    words, title_words = ([fold(word) for word in _WORD.findall(words_of)] for words_of in (title, text))
    title_pairs, pairs = set(pairwise(title_words)), list(pairwise(words))
    return sum(pair in title_pairs for pair in pairs) / len(pairs) if pairs else float(set(words) <= set(title_words))


def _body_size(pages: Sequence[ParsedPage]) -> float:
    """Return the font size in which most characters of the pages are set."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            sizes[round(line.size, 1)] += len(line.text)
    return sizes.most_common(1)[0][0] if sizes else 1.0


_MAX_NAMES = 6


def describe(title: str, sections: Sequence[Section], pages: int) -> str:
    """Return a line with the title, the length, and the names of the main sections."""
    real = [section for section in sections if not section.synthetic]
    if len(real) > 1 and [section.title for section in real if section.parent_id is None] == [title]:
        del real[0]  # a section with the document's title that contains all others
    top = min((section.level for section in real), default=1)
    names = list(dict.fromkeys(section.title for section in real if section.level == top))
    if len(names) < 3:
        names = list(dict.fromkeys(section.title for section in real if section.level <= top + 1))
    shown = "; ".join(name if len(name) <= 60 else name[:59] + "…" for name in names[:_MAX_NAMES])
    more = f"; … ({len(names) - _MAX_NAMES} more)" if len(names) > _MAX_NAMES else ""
    extent = f"{pages} page" + ("s" if pages != 1 else "")
    return f"{title} ({extent})" + (f": {shown}{more}" if shown else "")
