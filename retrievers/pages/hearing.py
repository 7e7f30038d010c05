"""Where expert knowledge is heard in one search, and what it may change there.

It is heard document by document: where an entry speaks of documents of that type, and where the question names
documents, in those alone. What it adds orders pages; it never lifts a document that the question does not name above
one that it does name. Where no document is named, the documents that it is heard in are ordered among each other, and
the best of their pages is worth as much as the question's own words make it: those of other types keep their places.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hybrid_core.store.index.index import VectorIndex
from hybrid_core.text import tokens
from hybrid_core.types.documents import Document, Fusion, Hit
from hybrid_core.types.requests import SearchRequest
from hybrid_core.types.scoring import ExpansionScoring, FirstStageScoring, ScoringConfig
from retrievers.documents.candidates import Candidate, Valued, Wanted, score_pages, value_pages
from retrievers.pages.coarse import Key, by_meaning, by_words, coarse_pass, joined
from retrievers.query.expert import SILENT, Advice, Expert
from retrievers.query.options import LibraryView, Meaning


@dataclass(frozen=True, slots=True)
class Hearing:
    """``advice`` is by document type; ``named`` are the documents it is restricted to, None for no restriction."""

    advice: Mapping[str, Advice] = field(default_factory=dict)
    named: frozenset[str] | None = None

    def of(self, document: Document) -> Advice:
        """What is heard in a document."""
        if self.named is not None and document.doc_id not in self.named:
            return SILENT
        return self.advice.get(document.card.type, SILENT)

    def groups(self, view: LibraryView, scope: Collection[str] | None) -> list[tuple[Advice, frozenset[str] | None]]:
        """Each advice with the documents of a scope that hear it; None for all of the scope."""
        if self.named is None and len(view.types(scope) - self.advice.keys()) == 0 and len(self._different()) == 1:
            return [(advice, None) for advice in self._different()]
        searched = self.named if self.named is not None else scope
        found: list[tuple[Advice, frozenset[str] | None]] = []
        for advice in self._different():
            types = [kind for kind, said in self.advice.items() if said is advice]
            ids = view.of_types(types, searched)
            if ids:
                found.append((advice, ids))
        return found

    def _different(self) -> list[Advice]:
        return list({id(advice): advice for advice in self.advice.values()}.values())


def hear(
    expert: Expert,
    question: str,
    names: Collection[str],
    scores: Mapping[str, float],
    view: LibraryView,
    scope: frozenset[str] | None,
    scoring: ExpansionScoring,
) -> Hearing:
    """``names`` are those in the question that documents are linked by; ``scores`` says how surely it names each, 0
    to 1, and counts as named from ``scoring.named`` on."""
    advice = expert.advise(question, view.types(scope), names, scoring.full_terms)
    if not advice:
        return Hearing()
    named = frozenset(d for d, score in scores.items() if score >= scoring.named and (scope is None or d in scope))
    everything = len(named) == len(view.documents if scope is None else scope)
    return Hearing(advice, None if everything or not named else named)


@dataclass(frozen=True, slots=True)
class CoarsePass:
    """The coarse pass of one question, ``terms`` being its own words, with what is heard where."""

    index: VectorIndex
    terms: Mapping[str, float]
    hearing: Hearing
    meaning: Meaning
    view: LibraryView
    request: SearchRequest

    def hits(self, scope: frozenset[str] | None) -> tuple[list[Hit], list[Hit]]:
        """The hits that compare documents, and those that compare their pages; the same unless documents are named."""
        groups = self.hearing.groups(self.view, scope)
        if not groups or groups[0][1] is None:
            found = self._pass(groups[0][0] if groups else SILENT, scope)
            return found, found
        scoring, fusion = self.request.scoring.first_stage, self.request.fusion
        near = by_meaning(self.index, self.meaning, self.view.documents, scope, scoring, scoring.hits)
        own = heard = self._by_words(SILENT, scope)
        for advice, documents in groups:
            if documents is not None:
                added = self._by_words(advice, documents)
                heard = heard_hits(heard, added, documents, scoring.hits)
        if self.meaning.vector is not None:
            own, heard = joined(own, near, scoring, fusion), joined(heard, near, scoring, fusion)
        return (own if self.hearing.named is not None else heard), heard

    def within(self, document: Document) -> list[Hit]:
        """The best of one document's pages, as many as are scored of a very large one at most."""
        scoring = self.request.scoring
        many = replace(scoring.first_stage, hits=scoring.documents.pages // 2)
        return self._pass(self.hearing.of(document), frozenset((document.doc_id,)), many)

    def _pass(
        self, advice: Advice, scope: frozenset[str] | None, scoring: FirstStageScoring | None = None
    ) -> list[Hit]:
        query = _hashed({**advice.terms, **self.terms})
        scoring = scoring or self.request.scoring.first_stage
        return coarse_pass(self.index, query, self.meaning, self.view.documents, scope, scoring, self.request.fusion)

    def _by_words(self, advice: Advice, scope: Collection[str] | None) -> list[Hit]:
        query = _hashed({**advice.terms, **self.terms})
        return by_words(self.index, query, self.view.documents, scope, self.request.scoring.first_stage)


def _hashed(terms: Mapping[str, float]) -> dict[int, float]:
    return {tokens.cached_hash(term): weight for term, weight in terms.items()}


def value_heard(
    candidates: Sequence[Candidate],
    asked: Mapping[str, float],
    hearing: Hearing,
    coarse: Mapping[Key, float],
    similar: Mapping[Key, float],
    scoring: ScoringConfig,
    fusion: Fusion,
) -> tuple[list[Wanted], list[Valued]]:
    """Every page of the candidates valued with what is heard in its document, within the bounds; and by what."""
    advice = [hearing.of(candidate.document) for candidate in candidates]
    wanted = [Wanted({**one.terms, **asked}, one.headings) for one in advice]
    raw = [score_pages(c, want, scoring.pages) for c, want in zip(candidates, wanted, strict=True)]
    valued = value_pages(candidates, coarse, raw, similar, scoring, fusion)
    if all(one is advice[0] for one in advice):
        return wanted, valued
    own_raw = [
        scores if one is SILENT else score_pages(c, Wanted(asked), scoring.pages)
        for c, one, scores in zip(candidates, advice, raw, strict=True)
    ]
    return wanted, bounded(valued, value_pages(candidates, coarse, own_raw, similar, scoring, fusion), hearing)


def heard_hits(own: Sequence[Hit], added: Sequence[Hit], heard: Collection[str], limit: int) -> list[Hit]:
    """Hits of the question's own words, with those of the documents that hear more replaced by ``added``, best first.

    The added hits are scaled so that the best of them stands where the best of these documents stood.
    """
    others = [hit for hit in own if hit.doc_id not in heard]
    if not added:
        return others
    stood = max((hit.score for hit in own if hit.doc_id in heard), default=own[-1].score if own else added[0].score)
    scale = stood / added[0].score if added[0].score > 0 else 1.0
    least = own[-1].score if len(own) >= limit else 0.0  # of many pages, only the best of the library are hits
    scaled = [replace(hit, score=hit.score * scale) for hit in added if hit.score * scale >= least]
    return sorted([*others, *scaled], key=lambda hit: (-hit.score, hit.doc_id, hit.page))[:limit]


def bounded(valued: Sequence[Valued], own: Sequence[Valued], hearing: Hearing) -> list[Valued]:
    """Values with expert knowledge, held to what ``own``, those of the question's own words, allow.

    A named document's best page keeps at least its own value. Where none is named, the best page of those
    that hear something keeps just that.
    """
    if hearing.named is None:
        heard = [at for at, one in enumerate(valued) if hearing.of(one.candidate.document) is not SILENT]
        share = _share([own[at] for at in heard], [valued[at] for at in heard])
        return [_scaled(one, share) if at in heard else one for at, one in enumerate(valued)]
    return [
        _scaled(one, max(1.0, _share([before], [one]))) if one.candidate.document.doc_id in hearing.named else one
        for one, before in zip(valued, own, strict=True)
    ]


def _share(own: Sequence[Valued], with_advice: Sequence[Valued]) -> float:
    """What values must be multiplied by for their best to be the best of the question's own words."""
    before = max((float(one.values.max(initial=0.0)) for one in own), default=0.0)
    after = max((float(one.values.max(initial=0.0)) for one in with_advice), default=0.0)
    return before / after if before > 0 and after > 0 else 1.0


def _scaled(one: Valued, share: float) -> Valued:
    if share == 1.0:
        return one
    return replace(
        one,
        values=one.values * share,
        from_page=one.from_page * share,
        from_document=one.from_document * share,
        from_structure=one.from_structure * share,
    )
