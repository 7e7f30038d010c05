"""What a conversation is about, as names are given, and as it is searched."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_core.errors import NotFoundError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.text.plural import counted
from hybrid_core.types.conversations import ConversationScope
from hybrid_core.types.requests import SearchFields, SearchRequest, search_request
from hybrid_pageindex.services.reading import known
from retrievers.documents import select


def scope_of(
    catalog: Catalog, libraries: Sequence[str], documents: Sequence[str], *, everything: bool
) -> ConversationScope:
    """Libraries by names or aliases, documents by ids, names or paths. Raises NotFoundError for what is unknown."""
    with catalog.snapshot() as snapshot:
        named = list(dict.fromkeys(snapshot.library(name).id for name in libraries))
        if not documents:
            return ConversationScope(() if everything else tuple(named))
        searched = [one.name for one in snapshot.named_libraries() if everything or one.id in named]
        held = [document for name in searched for document in known(snapshot, name)]
    return ConversationScope(
        () if everything else tuple(named), tuple(one.doc_id for one in select.by_name(held, documents))
    )


def request_in(
    catalog: Catalog, scope: ConversationScope, question: str, fields: SearchFields
) -> tuple[SearchRequest, str]:
    """The search that a question is within a scope, and a note on documents of it that are gone.

    Raises NotFoundError where nothing of it is left.
    """
    with catalog.snapshot() as snapshot:
        names = {one.id: one.name for one in snapshot.named_libraries()}
        left = [one for one in scope.documents if (found := snapshot.document(one)) is not None and found.published]
    libraries = [names[one] for one in scope.libraries if one in names]
    if (scope.libraries and not libraries) or (scope.documents and not left):
        what = "libraries" if not libraries and scope.libraries else "documents"
        raise NotFoundError(f"None of the {what} that this conversation is about is there.", "Begin another one.")
    gone = len(scope.documents) - len(left)
    note = f"{counted(gone, 'document')} of this conversation cannot be searched any more" if gone else ""
    asked: SearchFields = {**fields, "all_libraries": not libraries}
    if libraries:
        asked["libraries"] = libraries
    if left:
        asked["documents"] = left
    return search_request(question, asked), note
