"""What a search says of pages without text, which it cannot find: how many documents hold some, and what reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hybrid_core.types.documents import Document
from hybrid_core.types.results import SearchResult, UnreadDocument
from hybrid_core.types.unread import unread_pages

_SHOWN = 3


def unread_documents(
    found: SearchResult, searched: Mapping[str, Document], unread: Sequence[Document]
) -> tuple[UnreadDocument, ...]:
    """Those that matter to a question of the library's ``unread``, which hold pages without text; named ones first.

    Where the evidence is strong, only documents that it names and that are mostly pages without text.
    """
    named = {ranked.doc_id: ranked.routing for ranked in found.documents if ranked.routing > 0}
    if found.evidence.level == "strong":
        holding = [document for doc_id in named if _mostly(document := searched[doc_id])]
    else:
        holding = [document for document in unread if document.doc_id in searched]
    holding.sort(key=lambda d: (-_mostly(d) * named.get(d.doc_id, 0.0), -d.unread, d.name, d.doc_id))
    return tuple(UnreadDocument(d.doc_id, d.name, d.unread, d.pages, unread_pages(d.warnings)[1]) for d in holding)


def unread_note(unread: tuple[UnreadDocument, ...], searched: int, advice: Callable[[], str]) -> str:
    """One sentence, "" where there are none; ``advice`` says what would read them."""
    if not unread:
        return ""
    which = ", ".join(f"{one.doc_name}: {one.unread} of {one.pages}" for one in unread[:_SHOWN])
    more = ", …" if len(unread) > _SHOWN else ""
    holds = "documents hold" if len(unread) > 1 else "document holds"
    of = f"{len(unread)} of {searched}" if searched > 1 else str(len(unread))
    return f"{of} {holds} pages without text, which no search finds ({which}{more}); {advice()}"


def _mostly(document: Document) -> bool:
    return 2 * document.unread >= max(1, document.pages)
