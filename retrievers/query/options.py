"""What a search is given: the caller's wishes, the weights of the parts, the library as it stands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hybrid_core.text.short_paths import short_paths
from hybrid_core.types.documents import Document, Effort, Fusion, Route
from retrievers.documents.route import Router
from retrievers.pages.page_score import PageScoring


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What one search asks for. ``documents`` and ``where`` are filters; everything else is soft."""

    library: str = "default"
    documents: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    top_k: int = 5
    effort: Effort = "auto"
    mmr: float = 1.0  # lambda: 1 is by value alone, less adds variety
    trace: bool = False  # say where the search looked
    route: Route = "auto"  # how documents are chosen; "metadata" restricts the search as a filter does


@dataclass(frozen=True, slots=True)
class Weights:
    """How the parts of a score add up; chosen with `eval run` (docs/benchmarks.md)."""

    coarse_hits: int = 200
    documents: int = 8  # looked into per question
    pages: int = 2000  # scored per question at most
    routing: float = 3.0  # beside a document's DocScore / best DocScore
    close: float = 0.3  # documents whose scores differ by less are close: a model may be asked which is meant
    lead: float = 0.5  # by which one that it picks then leads
    coarse: float = 0.5  # a page's coarse score, beside its score in its document / best page's
    coarse_unnamed: float = 2.0  # the same where the question names no document
    document: float = 4.0  # a document's score / that of one that leads the hits and is named for sure
    document_unnamed: float = 2.0  # the same where the question names no document
    structure: float = 0.1
    dense_coarse: float = 0.5  # beside BM25 in the coarse pass, both divided by their best
    dense: float = 0.4  # beside a page's score / best page's
    learned_sparse: float = 0.3  # of learned term weights beside dense similarity, within what those two add
    worded: int = 10  # pages that are read for phrases of expert knowledge
    wording: float = 0.2  # what these add where all begin lines of the page
    reranked: int = 20  # pages compared token by token where that is asked for
    multi_vector: float = 0.15  # what that adds to the score of the best of them
    neighbours: float = 0.1  # of the better neighbour's score, added to a page's that has one
    fusion: Fusion = "weighted"  # "rrf": words and meaning add up by rank, whatever their weights
    inside: PageScoring = field(default_factory=PageScoring)


@dataclass(frozen=True)
class LibraryView:
    """One library at one log position: derived once, used by every search until the log moves."""

    position: int
    documents: Mapping[str, Document]  # published ones, by doc_id
    router: Router

    @cached_property
    def short_paths(self) -> Mapping[str, str]:
        """Path -> what tells it from the others."""
        return short_paths(document.path for document in self.documents.values())

    @cached_property
    def unread(self) -> Sequence[Document]:
        """The documents that hold pages without text."""
        return [document for document in self.documents.values() if document.unread]

    def types(self, scope: Collection[str] | None) -> frozenset[str]:
        """The types of the documents in a scope, None for all."""
        return self._all_types if scope is None else self._types(scope)

    @cached_property
    def _all_types(self) -> frozenset[str]:
        return self._types(self.documents)

    def of_types(self, types: Collection[str], among: Collection[str] | None) -> frozenset[str]:
        """The documents of these types, of all or of those ``among``."""
        if among is None:
            return frozenset().union(*(self._by_type.get(kind, ()) for kind in types))
        return frozenset(doc_id for doc_id in among if self.documents[doc_id].card.type in types)

    @cached_property
    def _by_type(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for doc_id, document in self.documents.items():
            found.setdefault(document.card.type, []).append(doc_id)
        return found

    def _types(self, doc_ids: Collection[str]) -> frozenset[str]:
        return frozenset(self.documents[doc_id].card.type for doc_id in doc_ids)


@dataclass(frozen=True, slots=True, eq=False)
class Meaning:
    """What an embedder makes of a question. ``vector`` is float32 (dim,) of unit length, None where it does not count.

    ``learned`` are term weights by token, from an embedder that gives them. ``share`` is the share of the searched
    pages that are embedded; ``note`` says why meaning does not count although the library has an embedder.
    ``compare`` is there where the best pages are to be compared token by token: it gives texts scores as float32
    (n,), higher is better, and raises what an embedder raises.
    """

    share: float = 0.0
    vector: npt.NDArray[np.float32] | None = None
    note: str = ""
    learned: Mapping[int, float] = field(default_factory=dict)
    compare: Callable[[Sequence[str]], npt.NDArray[np.float32]] | None = None
