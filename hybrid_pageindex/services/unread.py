"""What a search says of pages without text, which it cannot find: how many documents hold some, and what reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from hybrid_core.types.documents import Document
from hybrid_core.types.results import SearchResult, UnreadDocument

_SHOWN = 3


def unread_documents(
    found: SearchResult, searched: Mapping[str, Document] | None, unread: Sequence[UnreadDocument]
) -> tuple[UnreadDocument, ...]:
    """Those that matter to a question of the library's ``unread``, which hold pages without text; named ones first.

    ``searched`` are the documents that filters leave, None for all. Where the evidence is strong, only documents that
    it names and that are mostly pages without text.
    """
    routed = {ranked.doc_id: ranked.routing for ranked in found.documents if ranked.routing > 0}
    named = [one for one in unread if one.doc_id in routed and _mostly(one)] if routed else []
    named.sort(key=lambda one: -routed[one.doc_id])
    if found.evidence.level == "strong":
        return tuple(named)
    first = {one.doc_id for one in named}
    others = (one for one in unread if one.doc_id not in first)
    return tuple(one for one in chain(named, others) if searched is None or one.doc_id in searched)


def unread_note(unread: tuple[UnreadDocument, ...], searched: int, advice: Callable[[], str]) -> str:
    """One sentence, "" where there are none; ``advice`` says what would read them."""
    if not unread:
        return ""
    which = ", ".join(f"{one.doc_name}: {one.unread} of {one.pages}" for one in unread[:_SHOWN])
    more = ", …" if len(unread) > _SHOWN else ""
    holds = "documents hold" if len(unread) > 1 else "document holds"
    of = f"{len(unread)} of {searched}" if searched > 1 else str(len(unread))
    return f"{of} {holds} pages without text, which no search finds ({which}{more}); {advice()}"


def _mostly(document: UnreadDocument) -> bool:
    return 2 * document.unread >= max(1, document.pages)
