"""Documents that one question names beside each other: «Activision in 2019 or Adobe in 2015», «2015 and 2016», «the
limitations of this paper and of that».

Each part of the question is routed by itself, with the organisation of the part before it where it names none, and with
the question's time where that is one. Titles that stand in the question word for word name their documents first, for
they hold words like «and» themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from hybrid_core.text.plain_words import plain_words
from retrievers.documents.library import LibraryView
from retrievers.documents.route import Routing
from retrievers.query.content_words import compares
from retrievers.query.question import Question, read_question

_SURE = 0.4  # a card score from which a part names a document
_ALIKE = 0.02  # of card scores
_MOST = 4


def named_apart(
    question: Question, view: LibraryView, routing: Routing, worth: Mapping[str, float]
) -> dict[str, float]:
    """The documents that different parts of a question name, with their card scores; {} for fewer than two. Of those
    that a part names alike it is the one whose text is ``worth`` most."""
    titles = {doc_id: words for words, doc_id in view.titled(plain_words(question.text))}
    asks = compares(question.text) or _several(question, routing)
    if not titles and (not asks or _one_report_tells(question, routing)):
        return {}
    text = question.text
    for phrase in sorted(titles.values(), key=len, reverse=True):
        text = _without(phrase, text)
    found = dict.fromkeys(titles, 1.0)
    names = ""
    for part in _between().split(text):
        asked = read_question(part) if part.strip() else Question("")
        if not asked.terms:
            continue
        routed = view.router.route(_completed(asked, names, question))
        names = " ".join(routed.names) if routed.names else names
        best = max(routed.scores.values(), default=0.0)
        if best < _SURE or not (routed.named or asked.timed or not routed.organisations):
            continue
        first = [doc_id for doc_id, score in routed.scores.items() if score >= best - _ALIKE]
        if len(first) == 1 or not found.keys() & set(first):
            found.setdefault(max(first, key=lambda doc_id: worth.get(doc_id, 0.0)), best)
    return dict(list(found.items())[:_MOST]) if len(found) > 1 else {}


def preferred(routing: Routing, named: Mapping[str, float]) -> Routing:
    """The routing with each of these documents scored by the part of the question that names it."""
    if not named:
        return routing
    best = max((*routing.scores.values(), *named.values()))
    scores = {**routing.scores, **{doc_id: max(best, routing.scores.get(doc_id, 0.0)) for doc_id in named}}
    return replace(routing, scores=scores, tied=())


def _without(phrase: str, text: str) -> str:
    """A text without these plain words; what is left keeps its capitals, which tell names."""
    written = re.compile(r"[\W_]+".join(map(re.escape, phrase.split())), re.IGNORECASE)
    left = written.sub(" , ", text)
    return left if left != text else plain_words(text).replace(phrase, " , ")


@lru_cache(maxsize=1)
def _between() -> re.Pattern[str]:
    """Compiled when a question may name several: that takes longer than a search."""
    return re.compile(
        r"\s*(?:[,;:?]\s|\b(?:and|or|vs\.?|versus|against|than|with|und|oder|gegen|mit|et|ou|avec|y|o|con|frente\s+a)\b|[和与及跟或、，；])\s*",
        re.IGNORECASE,
    )


@lru_cache(maxsize=1)
def _change() -> re.Pattern[str]:
    return re.compile(
        r"\b(?:chang|grow|increas|decreas|drop|declin|improv|fell|rose|up\b|down\b|year[\s-]over[\s-]year|yoy|between|from\b.{1,60}\bto\b)",
        re.IGNORECASE,
    )


def _several(question: Question, routing: Routing) -> bool:
    return len(routing.organisations) > 1 or (bool(routing.organisations) and _times(question) > 1)


def _one_report_tells(question: Question, routing: Routing) -> bool:
    """Of one organisation, how things went from one time to another stands in the later report."""
    return len(routing.organisations) == 1 and _change().search(question.text) is not None


def _times(question: Question) -> int:
    """How many times a question names; a quarter and its year are one."""
    return max(len(question.years), len(question.quarters))


def _completed(part: Question, names: str, whole: Question) -> Question:
    """A part with the organisation of the part before it, or the time of the whole, where it says none."""
    if names and part.timed:
        part = replace(part, text=f"{names} {part.text}") if not _capital(part.text) else part
    if not part.timed and _times(whole) == 1:
        part = replace(part, years=whole.years, quarters=whole.quarters, period_terms=whole.period_terms)
    return part


def _capital(text: str) -> bool:
    return any(word[:1].isupper() for word in re.findall(r"[^\W\d_]{3,}", text))
