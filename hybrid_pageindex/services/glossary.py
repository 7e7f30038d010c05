"""The glossary of a document: the terms that it defines itself, with their definitions. No model is asked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.text.tokens import fold
from hybrid_pageindex.services import reading

_MOST = 1_000  # terms of one document
_LONGEST = 500  # characters of a definition
_OPEN, _CLOSE = '[“"«„「]', '[”"»“」]'
_TERM = r"(?P<term>[^\W_][^\"“”«»„「」()\n]{0,79}?)"
_MEANS = (
    r"shall\s+(?:each\s+)?mean|(?:each\s+)?means?|(?:shall\s+)?ha(?:s|ve)\s+the\s+(?:respective\s+)?meanings?|"
    r"(?:is|are)\s+defined|refers?\s+to|bezeichnet|bedeutet|meint|désigne|significa"
)
_DEFINED = re.compile(
    rf"{_OPEN}{_TERM}{_CLOSE}\s*(?:(?:,|\()[^.;\"“”]{{0,60}}(?:,|\))\s*)?(?:{_MEANS})\b"
    rf"|{_OPEN}(?P<quoted>[^\W_][^\"“”「」\n]{{0,29}}?){_CLOSE}[,，]?\s*(?:是指|系指|意指|指的是|指)"
    r"|本(?:法|条例|规定|办法|细则|合同|协议|指引)(?:中)?所(?:称|指)(?:的)?[“「]?(?P<statute>[^\W\d_]{1,20}?)[”」]?[,，]?(?:是指|系指|指)"
)
_CALLED = re.compile(
    r"\((?:[^()\"“”]{0,60}?\b)??(?:the|an?|each|together|collectively|hereinafter|hereafter|as|such|all|our)?[\s,]*"
    rf"{_OPEN}(?P<term>[^\W\d_][^\"“”()\n]{{0,59}}){_CLOSE}\s*\)"
)
_END = re.compile(r"[.;](?=\s+(?:\(?\d+(?:\.\d+)*[.)]?\s+)?(?:[A-Z“\"(«„]|$))|[。；]|\n\s*\n|[.;]\s*$")
_NO_END = re.compile(r"(?:\b(?:Inc|Corp|Co|Ltd|No|Nos|Mr|Ms|Dr|St|U\.S|e\.g|i\.e|etc|Sec|Art)|\b[A-Z])\.$")


@dataclass(frozen=True, slots=True)
class DefinedTerm:
    """``text`` is the sentence that defines the term, on ``page``."""

    term: str
    text: str
    page: int


def glossary(catalog: Catalog, library: str, document: str) -> list[DefinedTerm]:
    """Return the defined terms of a document in alphabetical order, each with its first definition.

    Raises NotFoundError for an unknown document.
    """
    with catalog.snapshot() as snapshot:
        chosen = reading.one(snapshot, library, document)
        pages = [(page.number, page.text) for page in snapshot.pages(chosen.content_id)]
    terms: dict[str, DefinedTerm] = {}
    for find in (definitions, introductions):  # a definition says more than a name in brackets
        for number, text in pages:
            for term, sentence in find(text):
                if len(terms) < _MOST:
                    terms.setdefault(fold(term), DefinedTerm(term, sentence, number))
    return sorted(terms.values(), key=lambda each: fold(each.term))


def definitions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the terms of a page that a sentence says the meaning of, with the sentence from the term on."""
    for match in _DEFINED.finditer(text):
        term = match["term"] or match["quoted"] or match["statute"]
        yield _spaced(term).rstrip(",. "), _spaced(text[match.start() : _end(text, match.end())])


def introductions(text: str) -> Iterator[tuple[str, str]]:
    """Yield the terms of a page that stand in brackets behind what they name, with the sentence up to there."""
    for match in _CALLED.finditer(text):
        yield _spaced(match["term"]).rstrip(",. "), _spaced(text[_begin(text, match.start()) : match.end()])


def _end(text: str, start: int) -> int:
    stop = min(len(text), start + _LONGEST)
    for match in _END.finditer(text, start, stop):
        if not _NO_END.search(text, max(0, match.start() - 8), match.start() + 1):
            return match.end()
    return stop


def _begin(text: str, end: int) -> int:
    first = max(0, end - _LONGEST)
    begin = first
    for match in _END.finditer(text, first, end):
        if not _NO_END.search(text, max(0, match.start() - 8), match.start() + 1):
            begin = match.end()
    return begin


def _spaced(text: str) -> str:
    return " ".join(text.split())
