"""An index compared with its source document by document, by the ids of its points, which name document, version and
page. Both come in the order of ids, so that no more than one document is held in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Literal, Protocol

from hybrid_core.errors import StoreError
from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.points import named_page

Difference = Literal["missing", "extra", "incomplete"]
"""Of a document that is published and has no point, has points and is not published, or has other points than these."""
KINDS: tuple[Difference, ...] = ("missing", "extra", "incomplete")
UNNAMED = ""
_LISTED = 1000  # documents of each kind that are listed
_LAST = "~"  # after all ids


class IdSource(Protocol):
    def point_ids(self) -> Iterable[tuple[str, list[str]]]:
        """Yield the published documents by ascending doc_id, each with the sorted ids of its points."""
        ...

    def changed(self, after: int) -> frozenset[str]:
        """The documents whose changes are later."""
        ...


@dataclass(frozen=True, slots=True)
class Comparison:
    """``counts`` says how many documents differ in which way, and ``doc_ids`` names up to 1,000 of each.

    ``behind`` says whether documents were left out, because the index does not hold their last changes.
    """

    counts: dict[Difference, int]
    doc_ids: dict[Difference, list[str]]
    behind: bool

    @property
    def same(self) -> bool:
        return not any(self.counts.values())


def compare(index: VectorIndex, source: IdSource, on_document: Callable[[], object]) -> Comparison:
    """Compare an index as it stands, which may be behind its source, and may be written meanwhile.

    ``on_document`` is called for each published document. Raises what searching the index raises.
    """
    stand = index.stand.seq
    changed = source.changed(stand)
    counts: dict[Difference, int] = dict.fromkeys(KINDS, 0)
    doc_ids: dict[Difference, list[str]] = {kind: [] for kind in KINDS}
    for doc_id, kind in differences(index.store.ids(), _counting(source.point_ids(), on_document)):
        if doc_id not in changed:
            counts[kind] += 1
            doc_ids[kind] += [doc_id] if len(doc_ids[kind]) < _LISTED else []
    later = source.changed(stand) - changed
    for kind, listed in doc_ids.items():
        unchanged = [doc_id for doc_id in listed if doc_id not in later]
        counts[kind] -= len(listed) - len(unchanged)
        doc_ids[kind] = unchanged
    return Comparison(counts, doc_ids, bool(changed))


def _counting(
    documents: Iterable[tuple[str, list[str]]], on_document: Callable[[], object]
) -> Iterator[tuple[str, list[str]]]:
    for document in documents:
        yield document
        on_document()


def differences(ids: Iterable[str], documents: Iterable[tuple[str, list[str]]]) -> Iterator[tuple[str, Difference]]:
    """Yield the documents of which an index holds other points than a source has, each with how they differ.

    ``ids`` are those of the index's points in ascending order. ``documents`` are the published ones by ascending
    doc_id, twelve hexadecimal digits, each with the sorted ids of its points. Points that name no document come last,
    under UNNAMED. Raises ``StoreError`` where ``ids`` are in no order.
    """
    unnamed = list[str]()
    groups = groupby(_named(ids, unnamed), key=lambda id: id[:8] + id[9:13])
    indexed, indexed_ids = _next(groups)
    for doc_id, expected in documents:
        while indexed < doc_id:
            yield indexed, "extra"
            indexed, indexed_ids = _next(groups)
        if indexed == doc_id:
            if indexed_ids != expected:
                yield doc_id, "incomplete" if expected else "extra"
            indexed, indexed_ids = _next(groups)
        elif expected:
            yield doc_id, "missing"
    while indexed != _LAST:
        yield indexed, "extra"
        indexed, indexed_ids = _next(groups)
    if unnamed:
        yield UNNAMED, "extra"


def _next(groups: Iterator[tuple[str, Iterator[str]]]) -> tuple[str, list[str]]:
    doc_id, ids = next(groups, (_LAST, iter(())))
    return doc_id, list(ids)


def _named(ids: Iterable[str], unnamed: list[str]) -> Iterator[str]:
    """Yield the ids that name a page, and put one of the others into ``unnamed``."""
    last = ""
    for id in ids:
        if named_page(id) is None:
            unnamed[:] = [id]
            continue
        if id <= last:
            raise StoreError(f"The search index lists its points in no order ({id} after {last}).", "Try again.")
        yield id
        last = id
