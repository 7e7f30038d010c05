"""Find references to numbered parts (page 14, section 4.2, Note 7, Table 3, 刑法第133条).

Also recognise questions about "this document", which name no document.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from hybrid_core.text.identifiers import CHINESE, page_number, part_number
from retrievers.query.words import content_words

ReferenceKind = Literal["page", "part", "caption"]

# Words for each kind of part, by its standard word.
_KIND_WORDS: dict[ReferenceKind, dict[str, str]] = {
    "page": {
        "page": r"pages?|pp?\.|pg\.?|seiten?|p[áa]ginas?|pagina",
        "slide": r"slides?|folien?|diapositives?|diapositivas?",
    },
    "part": {
        "section": r"sections?|sect?\.|§{1,2}|abschnitte?|secci[óo]n|sezione|sub-?sections?",
        "chapter": r"chapters?|chap?\.|kapitel|chapitres?|cap[íi]tulos?",
        "article": r"articles?|arts?\.|artikel|art[íi]culos?",
        "clause": r"clauses?|paragraphs?|para\.|ziffer",
        "item": r"items?",
        "note": r"(?:foot)?notes?",
        "part": r"parts?|teil|partie|parte",
        "appendix": r"appendix|appendices|annex(?:es)?|annexe|anhang|anexo",
        "exhibit": r"exhibits?",
        "schedule": r"schedules?",
    },
    "caption": {
        "table": r"tables?|tab\.|tabellen?|tableaux?|tablas?",
        "figure": r"figures?|figs?\.|charts?|graphs?|diagrams?|abbildung(?:en)?|abb\.|gr[áa]ficos?|illustrations?",
    },
}
_OF_CHINESE = {"条": "article", "章": "chapter", "节": "section", "编": "part", "款": "clause", "页": "page",
               "张幻灯片": "slide", "附件": "exhibit", "附录": "appendix", "表": "table", "图": "figure"}  # fmt: skip
KIND_OF = {word: kind for kind, words in _KIND_WORDS.items() for word in words}
NUMBER = r"(?:\d{1,4}(?:\.\d{1,3}){0,4}[A-Za-z]?|[A-Z](?:[.-]?\d{1,3}){0,3}|[IVXLC]{1,7}|[ivxlc]{1,7}(?=\W|$))"
_FORMS = "|".join(rf"(?P<{word}>{forms})" for words in _KIND_WORDS.values() for word, forms in words.items())
_NUMBERED = rf"\d{{1,4}}|[{CHINESE}]{{1,9}}"
_WORD = re.compile(r"[^\W\d_]+")
_SIGNS = "§第表图附"
_WORDS = frozenset(
    """
    page pages p pp pg seite seiten página páginas pagina paginas slide slides folie folien diapositive diapositives
    diapositiva diapositivas section sections sect sec subsection subsections abschnitt abschnitte sección seccion
    sezione chapter chapters chap ch kapitel chapitre chapitres capítulo capítulos capitulo capitulos article
    articles art arts artikel artículo artículos articulo articulos clause clauses paragraph paragraphs para ziffer
    item items note notes footnote footnotes part parts teil partie parte appendix appendices annex annexes annexe
    anhang anexo exhibit exhibits schedule schedules table tables tab tabelle tabellen tableau tableaux tabla tablas
    figure figures fig figs chart charts graph graphs diagram diagrams abbildung abbildungen abb gráfico gráficos
    grafico graficos illustration illustrations
    """.split()
)
_SMALL_ROMAN = re.compile(r"[ivxlc]+")


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to a numbered part of a document.

    ``word`` is the standard word for the kind of part, such as "note". ``number`` is normalised by ``part_number``.
    ``written`` is the original text from ``start`` to ``end``.
    """

    kind: ReferenceKind
    word: str
    number: str
    written: str
    start: int
    end: int


def may_refer(text: str) -> bool:
    """Return whether a text contains a word or sign of a reference. This test is fast and excludes most texts."""
    return any(sign in text for sign in _SIGNS) or not _WORDS.isdisjoint(_WORD.findall(text.lower()))


def references(question: str) -> list[Reference]:
    """Return the references in a question, in order."""
    if not may_refer(question):
        return []
    numbered, chinese = _patterns()
    places = [_reference_of(match) for match in numbered.finditer(question)]
    places += [_in_chinese(match) for match in chinese.finditer(question)]
    return sorted((place for place in places if place is not None), key=lambda place: place.start)


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of references.

    They are compiled only when needed, because this takes longer than a search.
    """
    numbered = re.compile(
        rf"(?<![\w-])(?i:{_FORMS})\s{{0,3}}(?i:no\.?|nr\.?|number|numbers|#)?\s{{0,2}}(?P<number>{NUMBER})(?!\w|[.,]\d|\s?%|\s[mb]illion)"
    )
    chinese = re.compile(
        rf"第\s?(?P<number>{_NUMBERED})\s?(?P<word>条|章|节|编|款|页|张幻灯片)(?:之(?P<sub>[{CHINESE}]{{1,3}}))?"
        rf"|(?P<caption>附件|附录|表|图)\s?(?P<at>\d{{1,3}}(?:[.-]\d{{1,3}})?)(?!\d)"
    )
    return numbered, chinese


def _reference_of(match: re.Match[str]) -> Reference | None:
    word = next(word for word in KIND_OF if match[word])
    number = match["number"]
    if KIND_OF[word] == "page":
        return Reference("page", word, page_number(number), match[0], match.start(), match.end())
    if _SMALL_ROMAN.fullmatch(number):  # "part i" may be a typing error
        return None
    return Reference(KIND_OF[word], word, part_number(number), match[0], match.start(), match.end())


@lru_cache(maxsize=256)
def line_starts(word: str) -> re.Pattern[str]:
    """Return a pattern for the beginnings of lines in which a number may follow this word."""
    chinese = "|".join(f"{sign}" for sign, stands_for in _OF_CHINESE.items() if stands_for == word)
    return re.compile(
        rf"^[^\w\n]{{0,4}}(?:(?i:{_KIND_WORDS[KIND_OF[word]][word]})[ \t]{{0,3}}\S|第|(?:{chinese or '第'}))",
        re.MULTILINE,
    )


def _in_chinese(match: re.Match[str]) -> Reference:
    word = _OF_CHINESE[match["word"] or match["caption"]]
    number = part_number(match["number"] or match["at"])
    if match["sub"]:
        number += f".{part_number(match['sub'])}"
    return Reference(KIND_OF[word], word, number, match[0], match.start(), match.end())


@lru_cache(maxsize=1)
def bare_line_starts() -> re.Pattern[str]:
    """Return a pattern for lines that begin with a number and a title ("7. Warranties").

    Lines that begin with a single capital letter match too.
    """
    return re.compile(
        r"^[ \t]*(?:(?:\d{1,3}(?:\.\d{1,3}){0,3}|[IVXLC]{1,7}|[A-Z](?:\.\d{1,2})?)[.):][ \t]+|[A-Z]\s{1,3})[A-Z]",
        re.MULTILINE,
    )


_THIS = re.compile(
    r"\b(?:this|the given|the present|diese[smrn]?|ce|cette|este|esta)\s+"
    r"(?:documents?|dokuments?|reports?|bericht\w*|papers?|files?|datei|pdf|books?|buch\w*|slides?|deck|presentation|"
    r"brochure|manual|article|filing|guide|leaflet|document[oe]?|rapport|informe|libro)\b"
    r"|(?:本|这份|这个|该)(?:文档|文件|报告|论文|书|手册|幻灯片)",
    re.IGNORECASE,
)
_TELLING = 2  # number of other content words from which the document is clear after all


def unnamed_document(question: str) -> bool:
    """Return whether a question asks about "this document" or a numbered part and little else.

    In a library of several documents it is then unclear which document is meant.
    """
    places = [place for place in references(question) if place.kind != "part"]
    if not places and _THIS.search(question) is None:
        return False
    left = _THIS.sub(" ", question)
    for place in places:
        left = left.replace(place.written, " ")
    return len([word for word in content_words(left) if word not in _PLACE_WORDS]) < _TELLING


_PLACE_WORDS = frozenset({"show", "shown", "written", "write", "titl", "title", "first", "last", "number", "content"})
