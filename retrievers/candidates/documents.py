"""Choose candidate documents by scores, expert terms, filters, and names in the question.

Candidates are documents with hits, and documents that the question names. Scores are combined as weighted sums, or by
reciprocal rank on request. Ranks lose score differences, so weak rankers hurt more (docs/lab/retrieval.md). Expert
terms are added only for documents of the matching types, or for the documents that the question names.
"""

from __future__ import annotations

import difflib
import math
import os
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from heapq import nlargest
from pathlib import PurePath
from typing import TypeVar

from hybrid_core.errors import Advice, NotFoundError, UsageError
from hybrid_core.text.tokens import fold, plain_words
from hybrid_core.types.documents import Document, Hit
from hybrid_core.types.notes import NONE, Note
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.scoring import DocumentScoring, ExpansionScoring
from retrievers.candidates.library import LibraryView
from retrievers.candidates.router import CardScores
from retrievers.query.expert import NO_EXPANSION, Expansion, Expert
from retrievers.query.question import Question, read_question
from retrievers.query.words import compares
from retrievers.trees.content import Content


def node_score(scores: Sequence[float]) -> float:
    """Return Σ s / √(N + 1) over N scores s, 0 without scores; higher is better."""
    return sum(scores) / math.sqrt(len(scores) + 1)


def doc_scores(hits: Sequence[Hit]) -> dict[str, float]:
    """Return the DocScore of every document with hits, higher is better.

    DocScore is Σ s / √(N + 1) over the document's N hits, where s is a hit's score divided by the best hit's. Many
    middling hits can outweigh one good hit, but only by a square root. Source: PageIndex's document score.
    """
    best = max([hit.score for hit in hits], default=0.0)
    if best <= 0:
        return {}
    grouped: defaultdict[str, list[float]] = defaultdict(list)
    for hit in hits:
        grouped[hit.doc_id].append(hit.score / best)
    return {doc_id: node_score(scores) for doc_id, scores in grouped.items()}


K = TypeVar("K", bound=Hashable)


def normalised(scores: Mapping[K, float]) -> dict[K, float]:
    """Return the scores divided by the best one (0 to 1), zeros if no score is above 0."""
    best = max(scores.values(), default=0.0)
    return {key: max(score, 0.0) / best if best > 0 else 0.0 for key, score in scores.items()}


def weighted(parts: Sequence[tuple[float, Mapping[K, float]]]) -> dict[K, float]:
    """Return Σ weight · score for each key over parts of (weight, scores); higher is better.

    A key that a part lacks has the score 0 in this part.
    """
    total: dict[K, float] = {}
    for weight, scores in parts:
        for key, score in scores.items():
            total[key] = total.get(key, 0.0) + weight * score
    return total


def reciprocal_ranks(parts: Sequence[Mapping[K, float]], k: float) -> dict[K, float]:
    """Return Σ 1/(k + rank) for each key over the parts; higher is better.

    This is Reciprocal Rank Fusion (Cormack, Clarke and Büttcher 2009). Ranks count from 1. A part adds nothing for keys
    that it lacks or scores 0.
    """
    total: dict[K, float] = {}
    for scores in parts:
        for rank, key in enumerate(ranked({key: score for key, score in scores.items() if score > 0}), 1):
            total[key] = total.get(key, 0.0) + 1 / (k + rank)
    return total


def ranked(scores: Mapping[K, float], limit: int | None = None) -> list[K]:
    """Return the keys by falling score, at most ``limit`` of them. Ties are sorted by the keys' text."""
    if limit is not None and limit < len(scores):
        lowest = nlargest(limit, scores.values())[-1]
        scores = {key: score for key, score in scores.items() if score >= lowest}
    return sorted(scores, key=lambda key: (-scores[key], str(key)))[:limit]


@dataclass(frozen=True, slots=True)
class ExpansionScope:
    """The expert terms that are added to a question, by document type.

    ``named`` are the only documents for which they are added, None for all documents.
    """

    by_type: Mapping[str, Expansion] = field(default_factory=dict)
    named: frozenset[str] | None = None

    def of(self, document: Document) -> Expansion:
        """Return the expert terms that apply to a document."""
        if self.named is not None and document.doc_id not in self.named:
            return NO_EXPANSION
        return self.by_type.get(document.card.type, NO_EXPANSION)

    def groups(self, view: LibraryView, scope: Collection[str] | None) -> list[tuple[Expansion, frozenset[str] | None]]:
        """Return each distinct expansion with its documents, None for all documents in the scope."""
        if self.named is None and len(view.types(scope) - self.by_type.keys()) == 0 and len(self._different()) == 1:
            return [(expansion, None) for expansion in self._different()]
        searched = self.named if self.named is not None else scope
        groups: list[tuple[Expansion, frozenset[str] | None]] = []
        for expansion in self._different():
            types = [kind for kind, expanded in self.by_type.items() if expanded is expansion]
            doc_ids = view.of_types(types, searched)
            if doc_ids:
                groups.append((expansion, doc_ids))
        return groups

    def _different(self) -> list[Expansion]:
        return list({id(expansion): expansion for expansion in self.by_type.values()}.values())


def expansion_scope(
    expert: Expert,
    question: str,
    names: Collection[str],
    scores: Mapping[str, float],
    view: LibraryView,
    scope: frozenset[str] | None,
    scoring: ExpansionScoring,
) -> ExpansionScope:
    """Return the expert terms for a question, and the documents to which they apply.

    ``names`` are the words of the question that name documents. ``scores`` are the routing scores (0 to 1) of
    documents. A document counts as named if its score is at least ``scoring.named``.
    """
    by_type = expert.expand(question, view.types(scope), names, scoring.full_terms)
    if not by_type:
        return ExpansionScope()
    named = frozenset(d for d, score in scores.items() if score >= scoring.named and (scope is None or d in scope))
    everything = len(named) == len(view.documents if scope is None else scope)
    return ExpansionScope(by_type, None if everything or not named else named)


@dataclass(frozen=True, slots=True)
class CandidateDocument:
    """A candidate document. ``score`` is ``doc_score`` (at most 1) + weight · ``routing`` (at most 1).

    ``doc_score`` comes from the document's text, and ``routing`` from its card. If ``searched`` is True, its best pages
    are candidates, otherwise only its hits.
    """

    document: Document
    content: Content
    score: float
    doc_score: float
    routing: float
    reason: Note
    searched: bool = True


def candidate_documents(
    hits: Sequence[Hit],
    page_hits: Sequence[Hit],
    routing: CardScores,
    view: LibraryView,
    scope: frozenset[str] | None,
    read: Callable[[Sequence[str]], Mapping[str, Content]],
    scoring: DocumentScoring,
    apart: Collection[str] = (),
) -> list[CandidateDocument]:
    """Return every document that has a hit or that the question names, best first.

    ``hits`` rank documents, and ``page_hits`` rank their pages. ``read`` returns contents by id. Some documents are
    searched completely: those with the best routing scores or DocScores, those in ``apart``, and all of a small scope.
    Removed documents are left out.
    """
    text_scores = normalised(doc_scores(hits))
    routed = routing.scores if scope is None else {d: s for d, s in routing.scores.items() if d in scope}
    few = scope if scope is not None and len(scope) <= scoring.limit else ()
    apart = [doc_id for doc_id in apart if scope is None or doc_id in scope]
    searched = dict.fromkeys((*ranked(routed, scoring.limit), *apart, *ranked(text_scores, scoring.best), *sorted(few)))
    scores = weighted([(1.0, text_scores), (scoring.cards, {d: routed.get(d, 0.0) for d in searched})])
    among = dict.fromkeys((*searched, *(hit.doc_id for hit in page_hits if scope is None or hit.doc_id in scope)))
    order = ranked({doc_id: scores.get(doc_id, 0.0) for doc_id in among}, len(among))
    documents = [view.documents[doc_id] for doc_id in order]
    contents = read([document.content_id for document in documents])
    return [
        CandidateDocument(
            document, contents[document.content_id], scores.get(document.doc_id, 0.0),
            text_scores.get(document.doc_id, 0.0), routed.get(document.doc_id, 0.0),
            routing.reasons.get(document.doc_id, NONE), document.doc_id in searched,
        )
        for document in documents
        if document.content_id in contents
    ]  # fmt: skip


_SURE = 0.4  # minimum card score of a document that a part names
_SAME_SCORE = 0.02  # card scores closer than this are equal
_MOST = 4


def named_apart(question: Question, view: LibraryView, routing: CardScores, hits: Sequence[Hit]) -> dict[str, float]:
    """Return the documents that different parts of a question name, such as two companies, with their card scores.

    Return {} for fewer than two documents. If a part matches several documents equally, take the one with the highest
    DocScore of its ``hits``.
    """
    titles = {doc_id: words for words, doc_id in view.titled(plain_words(question.text))}
    asks = compares(question.text) or _several(question, routing)
    if not titles and (not asks or _one_report_tells(question, routing)):
        return {}
    worth = doc_scores(hits)
    text = question.text
    for phrase in sorted(titles.values(), key=len, reverse=True):
        text = _without(phrase, text)
    named = dict.fromkeys(titles, 1.0)
    names = ""
    for part in _between().split(text):
        part_question = read_question(part) if part.strip() else Question("")
        if not part_question.terms:
            continue
        routed = view.router.route(_completed(part_question, names, question))
        names = " ".join(routed.names) if routed.names else names
        best = max(routed.scores.values(), default=0.0)
        if best < _SURE or not (routed.named or part_question.timed or not routed.organisations):
            continue
        first = [doc_id for doc_id, score in routed.scores.items() if score >= best - _SAME_SCORE]
        if len(first) == 1 or not named.keys() & set(first):
            named.setdefault(max(first, key=lambda doc_id: worth.get(doc_id, 0.0)), best)
    return dict(list(named.items())[:_MOST]) if len(named) > 1 else {}


def preferred(routing: CardScores, named: Mapping[str, float]) -> CardScores:
    """Return the routing scores with the documents in ``named`` raised to the best score."""
    if not named:
        return routing
    best = max((*routing.scores.values(), *named.values()))
    scores = {**routing.scores, **{doc_id: max(best, routing.scores.get(doc_id, 0.0)) for doc_id in named}}
    return replace(routing, scores=scores)


def _without(phrase: str, text: str) -> str:
    """Return a text with a phrase of plain words replaced by a comma. Other words keep their capitals."""
    written = re.compile(r"[\W_]+".join(map(re.escape, phrase.split())), re.IGNORECASE)
    left = written.sub(" , ", text)
    return left if left != text else plain_words(text).replace(phrase, " , ")


@lru_cache(maxsize=1)
def _between() -> re.Pattern[str]:
    """Return the pattern of commas and words such as "and" that separate names of documents.

    It is compiled only when needed, because this takes longer than a search.
    """
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


def _several(question: Question, routing: CardScores) -> bool:
    return len(routing.organisations) > 1 or (bool(routing.organisations) and _times(question) > 1)


def _one_report_tells(question: Question, routing: CardScores) -> bool:
    """Return whether the question asks how something changed within one organisation.

    The organisation's later report describes such a change, so no second document is needed.
    """
    return len(routing.organisations) == 1 and _change().search(question.text) is not None


def _times(question: Question) -> int:
    """Return how many periods a question names. A quarter and its year count as one."""
    return max(len(question.years), len(question.quarters))


def _completed(part: Question, names: str, whole: Question) -> Question:
    """Complete a part of a question that lacks an organisation or a period.

    A part with a period and without capitalised words gets the organisation of the previous part. A part without a
    period gets that of the whole question, if it has only one.
    """
    if names and part.timed:
        part = replace(part, text=f"{names} {part.text}") if not _capital(part.text) else part
    if not part.timed and _times(whole) == 1:
        part = replace(part, years=whole.years, quarters=whole.quarters, period_terms=whole.period_terms)
    return part


def _capital(text: str) -> bool:
    return any(word[:1].isupper() for word in re.findall(r"[^\W\d_]{3,}", text))


_SIMILAR_NAME = 0.7  # minimum ratio of difflib for suggesting a name
_SHORTEST = 3  # minimum characters of a part of a name to be suggested


def search_scope(documents: Mapping[str, Document], request: SearchRequest) -> frozenset[str] | None:
    """Return the doc_ids that match the filters of a request, None if it has no filter.

    Raise the errors of ``select_by_name`` and ``select_where``.
    """
    if not request.documents and not request.where:
        return None
    selected = list(documents.values())
    if request.documents:
        selected = select_by_name(selected, request.documents)
    return frozenset(document.doc_id for document in select_where(selected, request.where))


def select_by_name(documents: Sequence[Document], names: Sequence[str]) -> list[Document]:
    """Return the documents that match names: ids, file names, stems, paths, or the ends of paths.

    Relative paths start at the working directory. Raise NotFoundError with similar names if a name matches no document.
    """
    selected: dict[str, Document] = {}
    for name in names:
        path = os.path.abspath(os.path.expanduser(name)) if os.sep in name else name  # noqa: PTH100, PTH111 - see discover
        matching = (
            [d for d in documents if name in (d.doc_id, d.name, d.path) or d.path == path]
            or [d for d in documents if fold(name) in (fold(d.name), *_last(d.name))]
            or [d for d in documents if os.sep in name and d.path.endswith(os.sep + name)]
        )  # in the form that results show
        if not matching:
            raise NotFoundError(f"This library has no document '{name}'.", _nearest(name, documents))
        selected |= {d.doc_id: d for d in matching}
    return list(selected.values())


def select_where(documents: Sequence[Document], conditions: Sequence[str]) -> list[Document]:
    """Return the documents that meet all conditions ``key=value``. Case is ignored; ``*`` and ``?`` are wildcards.

    Raise UsageError for a condition without ``=``, and for a key that no document has.
    """
    fields = {document.doc_id: _fields(document) for document in documents}
    keys = sorted({key for values in fields.values() for key in values})
    selected = list(documents)
    for condition in conditions:
        key, equals, value = condition.partition("=")
        key, value = key.strip().casefold(), fold(value.strip())
        if not equals or not key or not value:
            raise UsageError(
                f"'{condition}' is not a filter of the form key=value.",
                Advice("Write key=value, for example year=2023.", "Write --where key=value, for example year=2023."),
            )
        if documents and key not in keys:
            raise UsageError(
                f"No document has the metadata field '{key}'.", f"The metadata fields are: {', '.join(keys)}."
            )
        selected = [
            d
            for d in selected
            if any(fnmatchcase(fold(field_value), value) for field_value in fields[d.doc_id].get(key, ()))
        ]
    return selected


def _fields(document: Document) -> dict[str, tuple[str, ...]]:
    card = document.card
    fields: dict[str, tuple[str, ...]] = {key.casefold(): (value,) for key, value in document.metadata.items()}
    fields |= {
        "doc_id": (document.doc_id,), "name": (document.name, PurePath(document.name).stem),
        "path": (document.path,), "folder": tuple(str(p) for p in PurePath(document.path).parents),
        "format": (document.format,), "title": (document.title,), "organisation": card.names,
        "year": tuple(map(str, card.years)), "type": (card.type,),
        "quarter": () if card.quarter is None else (str(card.quarter), f"q{card.quarter}"),
        "date": (card.date or "",), "tag": card.tags,
    }  # fmt: skip
    return fields


def _last(name: str) -> tuple[str, str]:
    """Return the last part of a name and its stem, with case folded.

    For "all.zip!/a/notes.md" these are "notes.md" and "notes".
    """
    path = PurePath(name)
    return fold(path.name), fold(path.stem)


def _nearest(name: str, documents: Sequence[Document]) -> str:
    names_by_stem = {fold(PurePath(d.name).stem): d.name for d in documents}  # alike by more than their endings
    stem = fold(PurePath(name).stem)
    near = difflib.get_close_matches(stem, names_by_stem, n=3, cutoff=_SIMILAR_NAME)
    near += [key for key in names_by_stem if stem in key and key not in near and len(stem) >= _SHORTEST]
    if not names_by_stem:
        return "The library is empty."
    if not near:
        return Advice("See the list of its documents.", "The command 'list' shows the documents.")
    return "Did you mean " + " or ".join(f"'{names_by_stem[key]}'" for key in near[:3]) + "?"
