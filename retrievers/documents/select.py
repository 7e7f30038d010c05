"""Which documents a search may look at: what ``--doc`` and ``--where`` name."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import PurePath

from hybrid_core.errors import Advice, NotFoundError, UsageError
from hybrid_core.text.tokens import fold
from hybrid_core.types.documents import Document
from hybrid_core.types.requests import SearchRequest

_ALIKE = 0.7  # difflib's ratio from which one name may be meant by another
_SHORTEST = 3  # characters of a part of a name that is taken for one


def scope(documents: Mapping[str, Document], request: SearchRequest) -> frozenset[str] | None:
    """The doc_ids that a request's filters leave, None without a filter. Raises as ``by_name`` and ``where`` do."""
    if not request.documents and not request.where:
        return None
    kept = list(documents.values())
    if request.documents:
        kept = by_name(kept, request.documents)
    return frozenset(document.doc_id for document in where(kept, request.where))


def by_name(documents: Sequence[Document], wanted: Sequence[str]) -> list[Document]:
    """The documents that ids, names, stems, paths or their ends name; a relative path begins at the working directory.

    Raises NotFoundError with the nearest names where one names none.
    """
    found: dict[str, Document] = {}
    for name in wanted:
        path = os.path.abspath(os.path.expanduser(name)) if os.sep in name else name  # noqa: PTH100, PTH111 - see discover
        matching = (
            [d for d in documents if name in (d.doc_id, d.name, d.path) or d.path == path]
            or [d for d in documents if fold(name) in (fold(d.name), *_last(d.name))]
            or [d for d in documents if os.sep in name and d.path.endswith(os.sep + name)]
        )  # as results show it
        if not matching:
            raise NotFoundError(f"No document '{name}' in this library.", _nearest(name, documents))
        found |= {d.doc_id: d for d in matching}
    return list(found.values())


def where(documents: Sequence[Document], conditions: Sequence[str]) -> list[Document]:
    """The documents that meet every ``key=value``; case does not matter, ``*`` and ``?`` are wild.

    Raises UsageError for a condition without ``=`` and for a key that no document has.
    """
    fields = {document.doc_id: _fields(document) for document in documents}
    known = sorted({key for values in fields.values() for key in values})
    kept = list(documents)
    for condition in conditions:
        key, equals, value = condition.partition("=")
        key, value = key.strip().casefold(), fold(value.strip())
        if not equals or not key or not value:
            raise UsageError(
                f"'{condition}' is no condition.",
                Advice("Write key=value, for example year=2023.", "Write --where key=value, for example year=2023."),
            )
        if documents and key not in known:
            raise UsageError(f"No document has a field '{key}'.", f"Known fields: {', '.join(known)}.")
        kept = [d for d in kept if any(fnmatchcase(fold(held), value) for held in fields[d.doc_id].get(key, ()))]
    return kept


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
    """What a member of an archive is called there («all.zip!/a/notes.md»: notes.md), and the stem of any name."""
    path = PurePath(name)
    return fold(path.name), fold(path.stem)


def _nearest(name: str, documents: Sequence[Document]) -> str:
    known = {fold(PurePath(d.name).stem): d.name for d in documents}  # alike by more than their endings
    asked = fold(PurePath(name).stem)
    near = difflib.get_close_matches(asked, known, n=3, cutoff=_ALIKE)
    near += [key for key in known if asked in key and key not in near and len(asked) >= _SHORTEST]
    if not known:
        return "The library is empty."
    if not near:
        return "See what there is with the list command."
    return "Did you mean " + " or ".join(f"'{known[key]}'" for key in near[:3]) + "?"
