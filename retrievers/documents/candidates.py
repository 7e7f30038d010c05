"""The documents that a question is looked for in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hybrid_core.store.catalog.contents import Contents
from hybrid_core.types.documents import Document, Hit
from hybrid_core.types.scoring import DocumentScoring
from retrievers.documents.content import Content, ContentCache
from retrievers.documents.doc_score import doc_scores
from retrievers.documents.fusion import normalised, ranked, weighted
from retrievers.documents.library import LibraryView
from retrievers.documents.route import Routing

Mask = npt.NDArray[np.bool_]

_NAMED = 3  # documents in a note


@dataclass(frozen=True, slots=True)
class CandidateDocument:
    """``score`` is ``doc_score`` (best 1) + weight · ``routing`` (at most 1).

    ``only``, bool (pages,), says which pages are scored, None where all are.
    """

    document: Document
    content: Content
    score: float
    doc_score: float
    routing: float
    reason: str
    only: Mask | None = None


def choose(
    hits: Sequence[Hit],
    routing: Routing,
    view: LibraryView,
    scope: frozenset[str] | None,
    contents: Contents,
    cache: ContentCache,
    scoring: DocumentScoring,
    named: float,
    hits_within: Callable[[Document], Sequence[Hit]],
) -> tuple[list[CandidateDocument], tuple[str, ...]]:
    """The documents to look into, best first: DocScore and routing added, never one filtering the other.

    Where no card score reaches ``named`` more documents are looked into. Together they have ``scoring.pages`` pages to
    score at most. A document that has more by itself is scored around its best hits, which ``hits_within`` gives, on
    half of that number. The second value are notes on documents with hits that a bound left out: one of the best ones
    that has too many pages, and one of more than may be looked into whose score is close to the best.
    """
    found = normalised(doc_scores(hits))
    routed = routing.scores if scope is None else {d: s for d, s in routing.scores.items() if d in scope}
    most = scoring.most if max(routed.values(), default=0.0) >= named else max(scoring.most, scoring.most_unnamed)
    few = dict.fromkeys(scope, 0.0) if scope is not None and len(scope) <= most else {}
    scores = weighted([(1.0, found), (scoring.cards, routed), (1.0, few)])
    fitting, pages = list[tuple[Document, int]](), 0
    best_first = ranked(scores, most)
    too_many_pages: list[str] = []
    for doc_id in best_first:
        document = view.documents[doc_id]
        large = document.pages > scoring.pages
        room = min(scoring.pages - pages, scoring.pages // 2 if large else document.pages)
        if room < document.pages and not (large and room > 0):
            too_many_pages.append(doc_id)
            continue
        pages += room
        fitting.append((document, room))
    read = cache.get_all(contents, [document.content_id for document, _ in fitting])
    chosen: list[CandidateDocument] = []
    for document, room in fitting:
        content, doc_id, large = read.get(document.content_id), document.doc_id, room < document.pages
        if content is None:
            continue
        only = around([hit.page for hit in hits_within(document)], document.pages, room) if large else None
        reason = routing.reasons.get(doc_id, "")
        share, route = found.get(doc_id, 0.0), routed.get(doc_id, 0.0)
        chosen.append(CandidateDocument(document, content, scores[doc_id], share, route, reason, only))
    best = max(scores.values(), default=0.0)

    def close(doc_ids: Sequence[str], least: float) -> list[str]:
        return [view.documents[doc_id].name for doc_id in doc_ids if doc_id in found and scores[doc_id] > least]

    others = ranked({doc_id: scores[doc_id] for doc_id in found if doc_id not in best_first})
    left_out = (
        (close(too_many_pages, best / 2), f"{scoring.pages} pages in all"),
        (close(others, best - scoring.close), f"{most} documents"),
    )
    return chosen, tuple(_left_out(names, bound) for names, bound in left_out if names)


def _left_out(names: Sequence[str], bound: str) -> str:
    others = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    what = "1 more document that fits" if len(names) == 1 else f"{len(names)} more documents that fit"
    was = "was" if len(names) == 1 else "were"
    return f"{what} {was} not looked into (at most {bound} are): {', '.join(names[:_NAMED])}{others}"


def around(hits: Sequence[int], pages: int, most: int) -> Mask:
    """At most ``most`` pages: the hits (1-based, best first), each with the pages beside it. bool (pages,)."""
    chosen: dict[int, None] = {}
    for hit in hits:
        chosen |= dict.fromkeys(page for page in (hit, hit - 1, hit + 1) if 1 <= page <= pages)
        if len(chosen) >= most:
            break
    mask = np.zeros(pages, np.bool_)
    mask[[page - 1 for page in list(chosen)[:most]]] = True
    return mask
