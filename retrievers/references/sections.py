"""Find sections that a question names by title, and sections that summarise a whole document."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from hybrid_core.text.tokens import cached_hash, plain_words, tokenise
from hybrid_core.types.documents import Document, Section
from hybrid_core.types.notes import Note
from retrievers.query.intent import Wanted
from retrievers.query.words import is_frame
from retrievers.references.locations import PlaceFound, beginning, numbered
from retrievers.trees.content import Content

_PARTS = {
    "chapter": "chapter", "kapitel": "chapter", "chapitre": "chapter", "capítulo": "chapter", "note": "note",
    **dict.fromkeys(
        "section clause slide appendix annex exhibit heading paragraph abschnitt klausel folie anhang sección seccion "
        "cláusula annexe".split(), "section",
    ),
}  # fmt: skip
_LETTERS = re.compile(r"[^\W\d_]+")
_CHINESE_PARTS = ("章", "节", "部分")
_PART_FIT, _TITLE_FIT = (
    0.6,
    0.85,
)  # Dice coefficient of the title and what is asked, where a part is spoken of and where not
_SEGMENT = re.compile(r"[,;:–—(|]")
_SEGMENT_ONLY = 0.98  # factor on the match of a whole title, for a match with only one part of it
_LABELS = frozenset(tokenise("item note section article chapter part exhibit clause appendix schedule annex"))
_LINE = 100  # characters of a line that may be a title
_PAIR = 2  # so many words stand together by accident too
_MOST_SECTIONS, _READ = 4, 8


@dataclass(frozen=True, slots=True)
class SectionQuery:
    """A question as a query for sections.

    ``terms`` are all terms of the question. ``telling`` are those that are neither document names nor filler words.
    ``needed`` are telling terms that the document's first pages lack. ``naming`` are the terms of the document's own
    names. ``part`` is the kind of part that the question mentions, such as "chapter", "" for none.
    """

    text: str
    terms: frozenset[str]
    telling: frozenset[str]
    needed: frozenset[str]
    naming: frozenset[str]
    part: str


def part_spoken_of(question: str) -> str:
    """Return the kind of part that a question mentions, such as "chapter", "note" or "section"; "" if it mentions
    none.
    """
    named = (_PARTS[word] for word in _LETTERS.findall(question.lower()) if word in _PARTS)
    return next(named, "section" if any(part in question for part in _CHINESE_PARTS) else "")


def named_sections(query: SectionQuery, content: Content, worth: Callable[[int], float]) -> list[PlaceFound]:
    """Return the first pages of sections whose titles match the question, most likely first.

    The titles must contain little else. If the question mentions a kind of part, a partial match is enough. Equal
    matches are ordered in this sequence: sections of that kind, the longest exact title, sections below other named
    sections, higher levels, higher ``worth``.
    """
    matches = []
    begins = _pages_with_headings(query, content)
    for at, (page, synthetic) in enumerate(content.beginnings):
        if synthetic or (begins is not None and page not in begins):
            continue
        section = content.sections[at]
        verbatim = _verbatim(query, section.title)
        fit = _fit(query, section.title, verbatim)
        if fit < (_PART_FIT if query.part else _TITLE_FIT):
            continue
        label = numbered(section.title)
        called = bool(query.part and label and label.word == query.part)
        above = {term for i in content.path(at)[:-1] for term in _title_terms(content.sections[i].title)}
        below = -len(above & query.terms)
        order = (
            (-called, section.level, -fit)
            if query.part == "chapter"
            else (-called, -verbatim, -fit, below, section.level)
        )
        matches.append(((*order, -worth(section.start_page)), section, verbatim))
    matches.sort(key=lambda match: match[0])
    places: dict[int, PlaceFound] = {}
    for _, section, verbatim in matches[:_MOST_SECTIONS]:
        place = beginning(section, Note("verdict.section-begins", title=section.title))
        if not query.part and not verbatim:  # it may be that only a word of it is asked about
            place = replace(place, span=None)
        whole = verbatim > _PAIR or (query.needed or query.telling) <= _title_terms(section.title)
        places.setdefault(section.start_page, replace(place, whole=whole))
    return list(places.values())


def _pages_with_headings(query: SectionQuery, content: Content) -> set[int] | None:
    """Return the pages on which headings with a telling term begin.

    Return None if this test does not apply, so that all headings must be checked.
    """
    if not query.telling or query.part:
        return None
    occurrences = content.headings.occurrences([cached_hash(term) for term in query.telling])
    return {page + 1 for page in occurrences.pages.tolist()}


def titled_lines(
    query: SectionQuery,
    content: Content,
    worth: Callable[[int], float],
    texts: Callable[[Sequence[int]], Sequence[str]],
) -> list[PlaceFound]:
    """Return pages with a line that matches like a heading but is not in the section tree.

    Only the best pages that contain all needed terms of the query are read.
    """
    required = query.needed or query.telling
    if len(required) < (1 if query.part or query.terms & query.naming else _PAIR):
        return []
    occurrences = content.body.occurrences([cached_hash(term) for term in required])
    pages, holding = np.unique(occurrences.pages, return_counts=True)
    whole = (pages[holding == len(required)] + 1).tolist()
    best = sorted(whole, key=lambda page: -worth(page))[:_READ]
    places = []
    for page, text in zip(best, texts(best), strict=True):
        lines = (line for line in map(str.strip, text.split("\n")) if _may_be_title(line))
        if line := next((line for line in lines if required <= _title_terms(line) <= query.terms), None):
            places.append(PlaceFound(page, Note("verdict.line", line=line)))
    return places[:_MOST_SECTIONS]


def _may_be_title(line: str) -> bool:
    """Return whether a line may be a title: it is short, begins with a capital and does not end like a sentence."""
    sentence = line.endswith((".", "。", ";", "；")) and line.count(" ") > _PAIR
    return len(line) <= _LINE and not line[:1].islower() and not sentence


def _fit(query: SectionQuery, title: str, verbatim: int) -> float:
    """Return the match of a title with the question, from 0 to 1.

    The whole title or its part before a comma or colon counts, whichever is better. ``verbatim`` is the number of its
    words if the question contains the title literally.
    """
    words = _title_terms(title)
    if words <= query.naming:
        return 0.0
    if not query.needed - words and verbatim > _PAIR:
        return 1.0
    whole = _dice(query, words)
    if whole < 1 and (first := _SEGMENT.split(title)[0]) != title:
        whole = max(whole, _SEGMENT_ONLY * _dice(query, _title_terms(first)))
    return max(whole, _PART_FIT) if query.part and _begins(query, title) else whole


def _dice(query: SectionQuery, title: frozenset[str]) -> float:
    shared = title & query.terms
    if not shared & query.telling and not (query.part and any(map(is_frame, shared))):
        return 0.0
    return 2 * len(shared) / (len(title) + len(shared) + len(query.needed - title))


def _begins(query: SectionQuery, title: str) -> bool:
    """Return whether a title begins with exactly the telling terms of the query, at least two."""
    count = len(query.telling)
    return count > 1 and set(tokenise(title)[:count]) == query.telling


def _verbatim(query: SectionQuery, title: str) -> int:
    """Return the number of words of a title if the question contains it literally, otherwise 0.

    A title of a single word gives 0.
    """
    plain = _plain_title(title)
    words = plain.count(" ") - 1
    return words if words > 1 and plain in query.text else 0


@lru_cache(maxsize=50_000)
def _plain_title(title: str) -> str:
    return plain_words(_unnumbered(title))


@lru_cache(maxsize=50_000)
def _title_terms(title: str) -> frozenset[str]:
    """Return the terms of a title without its number and words such as "note" or "section"."""
    return frozenset(tokenise(_unnumbered(title))) - _LABELS


def _unnumbered(title: str) -> str:
    label = numbered(title)
    return label.after if label and label.after.strip() else title


_NUMBER = (
    r"(?:(?:part|item|chapter|section|kapitel|chapitre|cap[íi]tulo)\s+)?"
    r"(?:\d{1,3}(?:\.\d{1,3})*[a-z]?|[ivx]{1,5}|[a-z])?[.:)\s–—-]*"
)
_WHOLE = (
    r"(?:the |this )?(?:study|report|paper|book|document|guide|manual|survey|agreement|company|chapters?|results"
    r"|findings|year|quarter|operations|business|\d{4})"
)
# What sections are called that speak for the whole.
_ROLE_NAMES: Mapping[str, str] = {
    "abstract": r"abstract|zusammenfassung|r[ée]sum[ée]|resumen|摘要",
    "summary": rf"(?:[\w&]+ ){{0,2}}(?:summary|overview)(?: of {_WHOLE})?|at a glance|in brief|synopsis"
    r"|概述|概要|内容提要|提要|summary [\w -]{0,30}(?:results|performance)",
    "findings": r"(?:key|main|principal) (?:findings|points|messages|takeaways|results|insights|figures)|findings"
    r"|(?:[\w-]+ ){0,2}highlights|(?:overall )?financial results",
    "introduction": rf"(?:an )?introduction|einleitung|einf[üu]hrung|introducci[óo]n|about {_WHOLE}|background|purpose"
    r"|preface|foreword|vorwort|pr[ée]face|pr[óo]logo|business|general|recitals|引言|前言|序言?|导言|总则|总论",
    "conclusion": r"(?:summary and |discussion and )?conclusions?(?: and .{3,40})?|concluding remarks|closing remarks"
    r"|fazit|schlussfolgerung(?:en)?|conclusi[óo]n(?:es)?|结论|结语|总结",
    "contents": r"(?:table of )?contents|inhalt(?:sverzeichnis)?|table des mati[èe]res|sommaire|[íi]ndice|目录|目次",
}
_TITLES = {
    role: re.compile(rf"\s*{_NUMBER}(?:{called})(?:\s*[:–—-].*)?\W*$", re.IGNORECASE)
    for role, called in _ROLE_NAMES.items()
}
_ORDER: Mapping[Wanted, tuple[str, ...]] = {
    "summary": ("abstract", "summary", "titled", "front", "introduction", "findings", "conclusion", "contents"),
    "findings": ("findings", "summary", "abstract", "titled", "front", "conclusion", "introduction", "contents"),
    "conclusion": ("conclusion", "summary", "findings", "abstract", "titled", "front", "introduction"),
    "abstract": ("abstract", "summary", "titled", "front", "introduction", "conclusion"),
}
_COVERS = frozenset(("annual report", "quarterly report", "current report"))  # their first page is a form
# Of a document's pages: where it is introduced, from where it may conclude (references and appendices follow), and from
# where a summary stands at its end.
_BEGINNING, _CONCLUDES, _END = 0.25, 0.4, 0.67
_SHORT = 16  # pages of a beginning at least
_WORDS = 40  # from which a first page says more than a title
_SAME = 0.7  # Dice coefficient of a section's title and the document's
_MOST_PAGES = 6


def overview(kind: Wanted, document: Document, content: Content) -> list[PlaceFound]:
    """Return the pages that summarise a document, best first."""
    places: dict[int, PlaceFound] = {}
    for role in _ORDER[kind]:
        if section := _section(role, document, content):
            place = beginning(section, Note("verdict.summary", title=section.title))
            places.setdefault(place.page, place)
        elif role == "front" and document.card.type not in _COVERS and content.body.lengths[0] >= _WORDS:
            places.setdefault(1, PlaceFound(1, Note("verdict.document-begins")))
    if document.card.type not in _COVERS:
        places.setdefault(1, PlaceFound(1, Note("verdict.document-begins")))
    if not places and content.pages > 1:  # a form of which no part speaks for the whole
        places[2] = PlaceFound(2, Note("verdict.after-cover"))
    return list(places.values())[:_MOST_PAGES]


def _section(role: str, document: Document, content: Content) -> Section | None:
    """Return the section with a role ("conclusion") at the highest level, None if there is none."""
    if role == "front" or (role == "titled" and document.card.type in _COVERS):
        return None
    beginning = max(_SHORT, _BEGINNING * content.pages)
    end = (_CONCLUDES if role == "conclusion" else _END) * content.pages
    sections = [section for section in content.sections if not section.synthetic]
    if role == "titled":
        title = set(tokenise(document.title))
        early = [s for s in sections if 1 < s.start_page <= beginning and not numbered(s.title)]  # no chapter of it
        named = [section for section in early if _alike(set(tokenise(section.title)), title)]
    else:
        named = [section for section in sections if _TITLES[role].match(section.title)]
        early = [section for section in named if section.start_page <= beginning]
        late = [section for section in reversed(named) if section.start_page >= end]
        named = late if role == "conclusion" else early or (late if role == "summary" else [])
    return min(named, key=lambda section: section.level, default=None)


def _alike(first: set[str], second: set[str]) -> bool:
    return bool(first) and 2 * len(first & second) >= _SAME * (len(first) + len(second))
