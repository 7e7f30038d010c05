"""The documents of a library: filtered and sorted lists, versions, and corrections by hand."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from hybrid_core.cards.corrections import FIELDS, correction
from hybrid_core.errors import Advice, ChangedError, NotFoundError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import correct
from hybrid_core.types.documents import Document
from hybrid_core.types.files import ContentVersion
from hybrid_core.types.libraries import folded
from hybrid_core.types.requests import one_of
from hybrid_pageindex.engine.documents import reading

DocumentSort = Literal["path", "name", "title", "pages", "size", "indexed_at"]
DocumentState = Literal["all", "published", "failed", "warned"]
MOST = 1000

_STATES: dict[str, Callable[[Document], bool]] = {
    "all": lambda _: True,
    "published": lambda document: document.published,
    "failed": lambda document: bool(document.error),
    "warned": lambda document: bool(document.warnings),
}


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A batch of a list of documents. ``total`` counts all matching documents.

    ``cursor`` requests the next batch; it is "" after the last one.
    """

    documents: tuple[Document, ...]
    total: int
    cursor: str


def list_documents(
    catalog: Catalog,
    library: str,
    where: Sequence[str] = (),
    *,
    find: str = "",
    state: DocumentState = "all",
    sort: str = "path",
    limit: int = 100,
    cursor: str = "",
) -> DocumentPage:
    """Return documents that match the filters, one batch at a time.

    ``where`` contains metadata conditions such as year=2023. ``find`` must occur in the name or title, ignoring case.
    ``sort`` is a DocumentSort, with "-" before it for descending order. A cursor works only with the same sort. Raise
    UsageError for an invalid argument, NotFoundError for an unknown library.
    """
    by, down = sort.removeprefix("-"), sort.startswith("-")
    one_of("sort", by, *get_args(DocumentSort))
    one_of("state", state, *get_args(DocumentState))
    if not 1 <= limit <= MOST:
        raise UsageError(f"{limit} documents were requested.", f"Choose 1 to {MOST} documents.")
    documents = [row for row in reading.documents(catalog, library, where) if _STATES[state](row)]
    if find:
        documents = [row for row in documents if folded(find) in folded(row.name) or folded(find) in folded(row.title)]
    total = len(documents)

    def place(document: Document) -> tuple[Any, str]:
        value = getattr(document, by)
        return (folded(value) if isinstance(value, str) else value, document.doc_id)

    documents.sort(key=place, reverse=down)
    if cursor:
        after = _after(cursor, sort)
        documents = [row for row in documents if _behind(place(row), after, down)]
    shown = documents[:limit]
    more = _cursor(sort, place(shown[-1])) if len(documents) > limit else ""
    return DocumentPage(tuple(shown), total, more)


def _behind(position: tuple[Any, str], after: tuple[Any, str], down: bool) -> bool:
    try:
        return position < after if down else position > after
    except TypeError as error:
        raise _unfit() from error


def _cursor(sort: str, last: tuple[Any, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps([sort, *last]).encode()).decode().rstrip("=")


def _after(cursor: str, sort: str) -> tuple[Any, str]:
    try:
        read = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError, RecursionError) as error:
        raise _unfit() from error
    if not isinstance(read, list) or len(read) != 3 or read[0] != sort or not isinstance(read[2], str):
        raise _unfit()
    return read[1], read[2]


def _unfit() -> UsageError:
    return UsageError(
        "The cursor comes from another list of documents or another sort order.",
        "Use the cursor that the previous reply returned, and the same sort order.",
    )


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """A published version of a document.

    ``number`` is its position in the library's change log; higher is later. ``made`` says from which bytes and with
    which rules and models it was made. It is None if the content was replaced and deleted.
    """

    number: int
    content_id: str
    current: bool
    made: ContentVersion | None


def versions(catalog: Catalog, library: str, name: str) -> list[DocumentVersion]:
    """Return the published versions of a document, newest first. Raise NotFoundError if it does not exist."""
    with catalog.snapshot() as snapshot:
        document = reading.find_document(snapshot, library, name, published=False)
        listed: list[DocumentVersion] = []
        before = None
        for change in snapshot.changes_of(snapshot.library(library).id, document.doc_id):
            if change.content_id is not None and change.content_id != before:
                version = snapshot.version(change.content_id)
                current = change.content_id == document.content_id
                listed.append(
                    DocumentVersion(change.seq, change.content_id, current, version.version if version else None)
                )
            before = change.content_id
        return listed[::-1]


def edit(
    catalog: Catalog,
    library: str,
    name: str,
    changes: Mapping[str, str],
    undone: Sequence[str] = (),
    seen: Document | None = None,
) -> Document:
    """Change or undo a user's corrections of a document's metadata, and return the changed document.

    Raise NotFoundError for an unknown document, UsageError for an invalid field or value. Raise ChangedError if the
    document has changed since the caller read it as ``seen``.
    """
    new = {field.strip().casefold(): value for field, value in changes.items()}
    back = [field.strip().casefold() for field in undone]
    if not new and not back:
        raise UsageError(
            "The correction does not say which field to change.",
            Advice("Set a field, or unset one.", "Add --set year=2022, or --unset year."),
        )
    if unknown := [field for field in back if field not in FIELDS]:
        raise UsageError(
            f"The field '{unknown[0]}' cannot be corrected.",
            f"The fields that can be corrected are: {', '.join(FIELDS)}.",
        )
    if both := [field for field in back if field in new]:
        raise UsageError(
            f"The correction both sets and unsets the field {both[0]}.", "Set the field or unset it, but not both."
        )
    corrections = {field: correction(field, value) for field, value in new.items()}
    document = reading.document(catalog, library, name)
    done = correct(catalog, document.doc_id, corrections, back, seen)
    if done == "changed":
        raise ChangedError(
            f"{document.name} has changed since you read it, so it was not corrected.",
            "Read the document again, and repeat the correction.",
        )
    if done == "gone":
        raise NotFoundError(f"{document.name} has been removed since you read it.", "Index the file again.")
    return reading.document(catalog, library, document.doc_id)
