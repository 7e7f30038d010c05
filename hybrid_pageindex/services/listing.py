"""The documents of a library, a part at a time: filtered, sorted, and gone on with from a cursor."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from hybrid_core.errors import UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.documents import Document
from hybrid_core.types.libraries import folded
from hybrid_core.types.requests import one_of
from hybrid_pageindex.services import reading

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
    """``total`` are all that fit; ``cursor`` goes on behind these, "" at the end."""

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
    most: int = 100,
    cursor: str = "",
) -> DocumentPage:
    """``find`` must stand in the name or title, whatever its case; ``sort`` is a DocumentSort, with "-" before it
    downwards. A cursor is of the same sort.

    Raises UsageError for what none of these can be, NotFoundError for an unknown library.
    """
    by, down = sort.removeprefix("-"), sort.startswith("-")
    one_of("sort", by, *get_args(DocumentSort))
    one_of("state", state, *get_args(DocumentState))
    if not 1 <= most <= MOST:
        raise UsageError(f"{most} documents are asked for.", f"Choose 1 to {MOST}.")
    found = [one for one in reading.documents(catalog, library, where) if _STATES[state](one)]
    if find:
        found = [one for one in found if folded(find) in folded(one.name) or folded(find) in folded(one.title)]
    total = len(found)

    def place(document: Document) -> tuple[Any, str]:
        value = getattr(document, by)
        return (folded(value) if isinstance(value, str) else value, document.doc_id)

    found.sort(key=place, reverse=down)
    if cursor:
        after = _after(cursor, sort)
        found = [one for one in found if _behind(place(one), after, down)]
    shown = found[:most]
    more = _cursor(sort, place(shown[-1])) if len(found) > most else ""
    return DocumentPage(tuple(shown), total, more)


def _behind(here: tuple[Any, str], after: tuple[Any, str], down: bool) -> bool:
    try:
        return here < after if down else here > after
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
    return UsageError("This is no cursor of this list.", "Use the one that the answer before gave, with the same sort.")
