"""Extractive summaries: the most informative sentences of each page, combined for sections.

A sentence scores by the frequency of its terms on the page (SumBasic, Nenkova & Vanderwende 2005). Other pages do not
count, so an unchanged page keeps its summary and its vector if other pages change. A section's own text on one page is
summarised first, so sections that share a page never share a summary.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

from hybrid_core.text import tokens
from hybrid_core.text.markup import visible
from hybrid_core.types.documents import Line, ParsedPage, Section
from indexers.assembly.chunks import own_ranges

# literal characters first, which makes the search fast
_SENTENCE_GAP = re.compile(r"[.!?](\s+)(?=[\"'“(]?[A-Z0-9])|[。！？；]()")
_DIGITS = re.compile(r"\d+")
_CELL_GAP = "  "
_PAGE_CHARS, _SECTION_CHARS, _SENTENCE_CHARS = 320, 480, 240
_BEST_SENTENCES = 3  # sentences that a fragment or section passes to its parent


@dataclass(frozen=True, slots=True)
class _Sentence:
    score: float
    page: int
    order: int
    text: str


@dataclass(frozen=True, slots=True)
class Summaries:
    pages: tuple[str, ...]
    sections: tuple[str, ...]  # one per section, in the order of the sections


def summarise(
    texts: Sequence[str],
    sections: Sequence[Section],
    terms: Sequence[Mapping[int, int]],
    furniture: frozenset[str],
) -> Summaries:
    """Return summaries of all pages and sections.

    ``terms`` has one {term hash: count} per page. ``furniture`` contains the running heads and feet to omit, in the
    form of ``furniture_key``.
    """
    on_page: list[list[_Sentence]] = [[] for _ in range(len(texts))]
    own: list[list[_Sentence]] = []
    for section, (first, start), (last, end) in own_ranges(sections):
        sentences: list[_Sentence] = []
        for number in range(first, last + 1):
            page_text = texts[number - 1]
            fragment = page_text[start if number == first else 0 : end if number == last else None]
            chosen = _best(
                _sentences(visible(fragment), furniture, section.title),
                number,
                terms[number - 1],
                len(on_page[number - 1]),
            )
            on_page[number - 1] += chosen
            sentences += chosen
        own.append(_top(sentences))
    return Summaries(
        tuple(_compose(_top(chosen), _PAGE_CHARS) for chosen in on_page),
        tuple(_compose(chosen, _SECTION_CHARS) for chosen in _gathered(sections, own)),
    )


def furniture_key(line: str) -> str:
    """Return a line with its digits masked, so that running heads with different page numbers are equal."""
    return _DIGITS.sub("#", line.strip().lower())


def find_furniture(texts: Sequence[str]) -> frozenset[str]:
    """Return the running heads and feet: lines that repeat among the first or last three lines of many pages."""
    seen: Counter[str] = Counter()
    for page_text in texts:
        lines = [line for line in page_text.split("\n") if line.strip()]
        seen.update({furniture_key(line) for line in lines[:3] + lines[-3:]})
    min_pages = max(3, len(texts) // 20)
    return frozenset(key for key, count in seen.items() if count >= min_pages)


def _gathered(sections: Sequence[Section], own: Sequence[list[_Sentence]]) -> list[list[_Sentence]]:
    """Return the best sentences of each section, including those of its subsections.

    The loop goes backwards, because subsections come after their parents in the list.
    """
    gathered = [list(best) for best in own]
    place = {section.node_id: at for at, section in enumerate(sections)}
    for at in range(len(sections) - 1, -1, -1):
        gathered[at] = _top(gathered[at])
        parent = sections[at].parent_id
        if parent is not None:
            gathered[place[parent]] += gathered[at]
    return gathered


def _sentences(fragment: str, furniture: frozenset[str], title: str) -> list[str]:
    """Return the prose sentences of a text fragment. If it has no prose, return its table labels as one sentence."""
    openings = {key[:1] for key in furniture}
    prose: list[str] = []
    labels: list[str] = []
    for line in map(str.strip, fragment.split("\n")):
        if not line:
            prose += [""] if prose and prose[-1] else []  # a blank line also ends the paragraph
            continue
        opening = "#" if line[0].isdecimal() else line[0].lower()[:1]
        if line == title or (opening in openings and furniture_key(line) in furniture):
            continue
        if _CELL_GAP in line or not any(c.isalpha() for c in line):
            labels.append(line.split(_CELL_GAP)[0].strip())
            prose.append("")  # a table ends the paragraph
        else:
            prose.append(line)
    paragraphs = [" ".join(p.split("\n")) for p in re.split(r"\n{2,}", "\n".join(prose)) if p.strip()]
    sentences = [s.strip() for p in paragraphs for s in _split(p)]
    full = [s for s in sentences if _is_sentence(s)]
    if full and len(labels) <= 0.6 * (len(labels) + len(prose)):
        return full
    named = [label for label in dict.fromkeys(labels) if any(c.isalpha() for c in label)]
    return ["; ".join([s for s in sentences if s] + named)] if sentences or named else []


def _split(paragraph: str) -> Iterator[str]:
    start = 0
    for gap in _SENTENCE_GAP.finditer(paragraph):
        first, end = gap.span(gap.lastindex or 0)
        yield paragraph[start:first]
        start = end
    yield paragraph[start:]


def _is_sentence(text: str) -> bool:
    """Return whether a text is neither a heading nor a list of table labels."""
    if not text.isascii() and len(text) >= 12:
        return True
    return len(text) >= 40 and (text[-1] in '.!?:;”"' or len(text) >= 100)


def _best(sentences: Sequence[str], page: int, counts: Mapping[int, int], order: int) -> list[_Sentence]:
    scored = []
    for at, sentence in enumerate(sentences):
        shown = sentence if len(sentence) <= _SENTENCE_CHARS else sentence[: _SENTENCE_CHARS - 1].rstrip() + "…"
        hashes = set(map(tokens.cached_hash, tokens.tokenise(shown)))
        weight = sum([math.log1p(counts.get(h, 0)) for h in hashes]) / (len(hashes) + 6)
        scored.append(_Sentence(weight, page, order + at, shown))
    return _top(scored)


def _top(sentences: Sequence[_Sentence]) -> list[_Sentence]:
    best = sorted(sentences, key=lambda s: (-s.score, s.page, s.order))[:_BEST_SENTENCES]
    return sorted(best, key=lambda s: (s.page, s.order))


def _compose(sentences: Sequence[_Sentence], limit: int) -> str:
    """Return the best sentences in reading order, as many as ``limit`` allows.

    The result has at least one sentence, cut if necessary.
    """
    chosen: list[_Sentence] = []
    used = 0
    for sentence in sorted(sentences, key=lambda s: -s.score):
        if chosen and used + len(sentence.text) > limit:
            continue
        chosen.append(sentence)
        used += len(sentence.text) + 1
    return " ".join(s.text for s in sorted(chosen, key=lambda s: (s.page, s.order)))[:limit]


_HIDDEN = frozenset({"hidden", "heading", "code", "command", "config", "plain", "comment", "metadata"})
_LINK = re.compile(r"!?\[([^\[\]]*)\](?:\([^()\s]*(?:\s\"[^\"]*\")?\)|\[[^\[\]]*\])")
_MARKS = re.compile(r"\*{1,3}|`+|~~|(?<!\w)_{1,3}|_{1,3}(?!\w)|<[a-zA-Z/!][^<>]*>")
_BEGINNING = re.compile(r"(?:>\s?|[-*+]\s(?:\[[ xX]\]\s)?)+")
_RULE = re.compile(r"[\s|:=-]*")


def prose(page: ParsedPage) -> str:
    """Return a page's text without markup, each line padded to its original length."""
    words = [_strip_markup(line).ljust(len(line.text)) if line.role else line.text for line in page.lines]
    return "\n".join(words) if any(map(str.strip, words)) else page.text  # a page that contains only code


class ProseByPage(Sequence[str]):
    """A sequence with the prose of every page. Each item is built on access, to save memory."""

    def __init__(self, pages: Sequence[ParsedPage]) -> None:
        self._pages = pages
        self._last: tuple[int, str] = (-1, "")

    def __len__(self) -> int:
        return len(self._pages)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        if isinstance(at, slice):
            return ProseByPage(self._pages[at])
        if self._last[0] != at:
            self._last = (at, prose(self._pages[at]))
        return self._last[1]


def _strip_markup(line: Line) -> str:
    if line.role in _HIDDEN or _RULE.fullmatch(line.text):
        return ""
    text = _MARKS.sub("", _LINK.sub(r"\1", _LINK.sub(r"\1", line.text.strip())))  # twice, for an image in a link
    if line.role == "table":
        return "  ".join(cell.strip() for cell in text.strip("|").split("|"))[: len(line.text)]
    return _BEGINNING.sub("", text, count=1)
