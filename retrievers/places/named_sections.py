"""Sections that a question names by their titles: «the restructuring note», «Limitations section of …»."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from hybrid_core.text.plain_words import plain_words
from hybrid_core.text.tokens import cached_hash, tokenise
from retrievers.documents.content import Content
from retrievers.places.headings import numbered
from retrievers.places.located import PlaceFound, beginning
from retrievers.query.content_words import is_frame

_PARTS = {
    "chapter": "chapter", "kapitel": "chapter", "chapitre": "chapter", "capítulo": "chapter", "note": "note",
    **dict.fromkeys(
        "section clause slide appendix annex exhibit heading paragraph abschnitt klausel folie anhang sección seccion "
        "cláusula annexe".split(), "section",
    ),
}  # fmt: skip
_LETTERS = re.compile(r"[^\W\d_]+")
_CHINESE_PARTS = ("章", "节", "部分")
_NAMED, _EXACT = 0.6, 0.85  # Dice coefficient of the title and what is asked, where a part is spoken of and where not
_SEGMENT = re.compile(r"[,;:–—(|]")
_SEGMENT_ONLY = 0.98  # of the fit of a whole title
_LABELS = frozenset(tokenise("item note section article chapter part exhibit clause appendix schedule annex"))
_LINE = 100  # characters of a line that may be a title
_PAIR = 2  # so many words stand together by accident too
_MOST, _READ = 4, 8


@dataclass(frozen=True, slots=True)
class SectionAsked:
    """``terms`` are all of the question, ``telling`` those that neither name the document nor could be part of any
    question; ``needed`` are those of them that its first page lacks, so that they cannot be said of the whole.
    ``naming`` are the document's own names, ``part`` is what kind of part is spoken of, "" for none.
    """

    text: str
    terms: frozenset[str]
    telling: frozenset[str]
    needed: frozenset[str]
    naming: frozenset[str]
    part: str


def part_spoken_of(question: str) -> str:
    """What kind of part a question asks for, by what parts are called: "chapter", "note", "section"; "" for none."""
    named = (_PARTS[word] for word in _LETTERS.findall(question.lower()) if word in _PARTS)
    return next(named, "section" if any(part in question for part in _CHINESE_PARTS) else "")


def named_sections(asked: SectionAsked, content: Content, worth: Callable[[int], float]) -> list[PlaceFound]:
    """The sections whose titles say what is asked and hardly more, likeliest first.

    Where a part is spoken of, less of the title has to be said, or only its beginning. Of titles that fit alike those
    come first that are called what was spoken of, then the longest that stands in the question word for word, then
    those below sections that the question names too, then those higher in the tree, then by what their pages are
    ``worth``.
    """
    found = []
    begins = _pages_with_headings(asked, content)
    for at, (page, synthetic) in enumerate(content.beginnings):
        if synthetic or (begins is not None and page not in begins):
            continue
        section = content.sections[at]
        said = _verbatim(asked, section.title)
        fit = _fit(asked, section.title, said)
        if fit < (_NAMED if asked.part else _EXACT):
            continue
        label = numbered(section.title)
        called = bool(asked.part and label and label.word == asked.part)
        above = {term for i in content.path(at)[:-1] for term in _words(content.sections[i].title)}
        below = -len(above & asked.terms)
        order = (
            (-called, section.level, -fit) if asked.part == "chapter" else (-called, -said, -fit, below, section.level)
        )
        found.append(((*order, -worth(section.start_page)), section, said))
    found.sort(key=lambda one: one[0])
    places: dict[int, PlaceFound] = {}
    for _, section, said in found[:_MOST]:
        place = beginning(section, f"«{section.title}» begins here")
        if not asked.part and not said:  # it may be that only a word of it is asked about
            place = replace(place, span=None)
        whole = said > _PAIR or (asked.needed or asked.telling) <= _words(section.title)
        places.setdefault(section.start_page, replace(place, whole=whole))
    return list(places.values())


def _pages_with_headings(asked: SectionAsked, content: Content) -> set[int] | None:
    """The pages on which headings with a telling term begin; None where every heading must be looked at."""
    if not asked.telling or asked.part:
        return None
    held = content.headings.occurrences([cached_hash(term) for term in asked.telling])
    return {page + 1 for page in held.pages.tolist()}


def titled_lines(
    asked: SectionAsked,
    content: Content,
    worth: Callable[[int], float],
    texts: Callable[[Sequence[int]], Sequence[str]],
) -> list[PlaceFound]:
    """The pages on which a line by itself says what is asked: a heading that no tree has. Of the pages that hold all of
    its words the best are read."""
    wanted = asked.needed or asked.telling
    if len(wanted) < (1 if asked.part or asked.terms & asked.naming else _PAIR):
        return []
    held = content.body.occurrences([cached_hash(term) for term in wanted])
    pages, holding = np.unique(held.pages, return_counts=True)
    whole = (pages[holding == len(wanted)] + 1).tolist()
    best = sorted(whole, key=lambda page: -worth(page))[:_READ]
    places = []
    for page, text in zip(best, texts(best), strict=True):
        lines = (line for line in map(str.strip, text.split("\n")) if _may_be_title(line))
        if line := next((line for line in lines if wanted <= _words(line) <= asked.terms), None):
            places.append(PlaceFound(page, f"«{line}» stands here"))
    return places[:_MOST]


def _may_be_title(line: str) -> bool:
    """Whether a line is no sentence and no part of one."""
    sentence = line.endswith((".", "。", ";", "；")) and line.count(" ") > _PAIR
    return len(line) <= _LINE and not line[:1].islower() and not sentence


def _fit(asked: SectionAsked, title: str, said: int) -> float:
    """How well a title, of which so many words are ``said`` verbatim, says what is asked: the whole of it, or what
    stands before a comma or a colon."""
    words = _words(title)
    if words <= asked.naming:
        return 0.0
    if not asked.needed - words and said > _PAIR:
        return 1.0
    whole = _dice(asked, words)
    if whole < 1 and (first := _SEGMENT.split(title)[0]) != title:
        whole = max(whole, _SEGMENT_ONLY * _dice(asked, _words(first)))
    return max(whole, _NAMED) if asked.part and _begins(asked, title) else whole


def _dice(asked: SectionAsked, title: frozenset[str]) -> float:
    shared = title & asked.terms
    if not shared & asked.telling and not (asked.part and any(map(is_frame, shared))):
        return 0.0
    return 2 * len(shared) / (len(title) + len(shared) + len(asked.needed - title))


def _begins(asked: SectionAsked, title: str) -> bool:
    """Whether two words and more are asked for by which a long title begins."""
    count = len(asked.telling)
    return count > 1 and set(tokenise(title)[:count]) == asked.telling


def _verbatim(asked: SectionAsked, title: str) -> int:
    """How many words of a title stand in the question, if all do and in their order; one alone says nothing."""
    plain = _plain(title)
    words = plain.count(" ") - 1
    return words if words > 1 and plain in asked.text else 0


@lru_cache(maxsize=50_000)
def _plain(title: str) -> str:
    return plain_words(_unnumbered(title))


@lru_cache(maxsize=50_000)
def _words(title: str) -> frozenset[str]:
    """The terms of a title without its number and what it is called."""
    return frozenset(tokenise(_unnumbered(title))) - _LABELS


def _unnumbered(title: str) -> str:
    label = numbered(title)
    return label.after if label and label.after.strip() else title
