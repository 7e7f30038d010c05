"""Where a document says what it is about: its abstract or summary, introduction, conclusion and contents, by the titles
of its sections, and its first pages."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hybrid_core.text.tokens import tokenise
from hybrid_core.types.documents import Document, Section
from retrievers.documents.content import Content
from retrievers.places.headings import numbered
from retrievers.places.located import PlaceFound, beginning
from retrievers.query.about import Wanted

_NUMBER = (
    r"(?:(?:part|item|chapter|section|kapitel|chapitre|cap[íi]tulo)\s+)?"
    r"(?:\d{1,3}(?:\.\d{1,3})*[a-z]?|[ivx]{1,5}|[a-z])?[.:)\s–—-]*"
)
_WHOLE = (
    r"(?:the |this )?(?:study|report|paper|book|document|guide|manual|survey|agreement|company|chapters?|results"
    r"|findings|year|quarter|operations|business|\d{4})"
)
# What sections are called that speak for the whole.
_CALLED: Mapping[str, str] = {
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
    for role, called in _CALLED.items()
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
_MOST = 6


def overview(wanted: Wanted, document: Document, content: Content) -> list[PlaceFound]:
    """The pages that say what the whole is about, those first that say it best."""
    found: dict[int, PlaceFound] = {}
    for role in _ORDER[wanted]:
        if section := _section(role, document, content):
            place = beginning(section, f"«{section.title}» speaks for the whole document")
            found.setdefault(place.page, place)
        elif role == "front" and document.card.type not in _COVERS and content.body.lengths[0] >= _WORDS:
            found.setdefault(1, PlaceFound(1, "the document begins here"))
    if document.card.type not in _COVERS:
        found.setdefault(1, PlaceFound(1, "the document begins here"))
    if not found and content.pages > 1:  # a form of which no part speaks for the whole
        found[2] = PlaceFound(2, "what follows the cover")
    return list(found.values())[:_MOST]


def _section(role: str, document: Document, content: Content) -> Section | None:
    """The section of this role that stands highest in the tree, where a document has what speaks for it."""
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


def _alike(one: set[str], other: set[str]) -> bool:
    return bool(one) and 2 * len(one & other) >= _SAME * (len(one) + len(other))
