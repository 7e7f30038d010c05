"""Where expert knowledge expands a question: document by document, in documents of the types that an entry speaks of,
and where the question names documents, in those alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from hybrid_core.types.documents import Document
from hybrid_core.types.scoring import ExpansionScoring
from retrievers.documents.library import LibraryView
from retrievers.query.expert import NO_EXPANSION, Expansion, Expert


@dataclass(frozen=True, slots=True)
class ExpansionScope:
    """``by_type`` is by document type; ``named`` are the documents it is restricted to, None for no restriction."""

    by_type: Mapping[str, Expansion] = field(default_factory=dict)
    named: frozenset[str] | None = None

    def of(self, document: Document) -> Expansion:
        """What applies to a document."""
        if self.named is not None and document.doc_id not in self.named:
            return NO_EXPANSION
        return self.by_type.get(document.card.type, NO_EXPANSION)

    def groups(self, view: LibraryView, scope: Collection[str] | None) -> list[tuple[Expansion, frozenset[str] | None]]:
        """Each expansion with the documents of a scope that it applies to; None for all of the scope."""
        if self.named is None and len(view.types(scope) - self.by_type.keys()) == 0 and len(self._different()) == 1:
            return [(expansion, None) for expansion in self._different()]
        searched = self.named if self.named is not None else scope
        found: list[tuple[Expansion, frozenset[str] | None]] = []
        for expansion in self._different():
            types = [kind for kind, said in self.by_type.items() if said is expansion]
            ids = view.of_types(types, searched)
            if ids:
                found.append((expansion, ids))
        return found

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
    """``names`` are those in the question that documents are linked by; ``scores`` says how surely it names each, 0
    to 1, and counts as named from ``scoring.named`` on."""
    by_type = expert.expand(question, view.types(scope), names, scoring.full_terms)
    if not by_type:
        return ExpansionScope()
    named = frozenset(d for d, score in scores.items() if score >= scoring.named and (scope is None or d in scope))
    everything = len(named) == len(view.documents if scope is None else scope)
    return ExpansionScope(by_type, None if everything or not named else named)
