"""Opening and deleting a library's collections on a Qdrant server.

A collection's name ends in a hash of how its points are made. Another tokeniser or embedder is another
collection, so that building it disturbs nobody; one that nobody has used for a day is deleted. Libraries may share
one: then it is their points that are deleted, and the collection once nobody has any in it.

It begins with the catalog's id and epoch. A copy of a catalog has the same id. Once the two differ, whichever finds the
collections taken by the other chooses a new epoch, and so has collections of its own.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping

from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.points import PointSource, holds, vectors_manifest
from hybrid_core.store.index.server.collection import LAYOUT, CollectionStore
from hybrid_core.store.index.server.connection import Server
from hybrid_core.store.index.server.tenant import Tenant

_UNUSED_SECONDS = 24 * 3600.0


def library_collection(beginning: str, library: str) -> str:
    """What the collections of a library are called, up to the hash of how their points are made."""
    words = re.sub(r"[^a-z0-9]+", "-", library.lower()).strip("-")[:24] or "library"
    return f"{beginning}{words}-{hashlib.sha256(library.encode()).hexdigest()[:10]}"


def shared_collection(beginning: str) -> str:
    """The same of those that libraries share."""
    return f"{beginning}shared"


def catalog_collections(server: Server, beginning: str) -> list[str]:
    """All collections that hold points of a catalog, by name."""
    return sorted(name for name in server.collections() if name.startswith(beginning))


def other_epochs(server: Server, prefix: str, catalog_id: str, beginning: str) -> list[str]:
    """The collections that catalogs of the same id made in other epochs, by name."""
    same = (of_catalog(prefix, catalog_id), f"{prefix}{catalog_id[:12]}.")
    return sorted(name for name in server.collections() if name.startswith(same) and not name.startswith(beginning))


def of_catalog(prefix: str, catalog_id: str, epoch: str = "") -> str:
    """Return how the names of all collections of a catalog's epoch, and their aliases, begin; "" is the first."""
    return f"{prefix}{catalog_id[:12]}{f'.{epoch}' if epoch else ''}-"


def open_server(
    server: Server,
    collection: str,
    source: PointSource,
    manifest: Mapping[str, str | int],
    dimension: int = 0,
    learned: bool = False,
    *,
    follow: bool = True,
    tenant: str = "",
) -> VectorIndex:
    """Open a library's index on a server and bring it up to date, making or repairing it as needed.

    Without ``follow`` it is left where its record says that it stands, empty where it was not there.
    ``collection`` is from ``library_collection``, or from ``shared_collection`` with the library as ``tenant``.
    ``manifest`` says how the vectors were made, ``dimension`` is that of the dense vectors, 0 without; ``learned`` says
    whether there are learned sparse ones. Raises ``StoreError`` where the server refuses, ``UnreachableError`` where
    it does not answer, ``OtherHistoryError`` where a copy of the source writes into the collection.
    """
    how = {**manifest, **vectors_manifest(dimension, learned), "layout": LAYOUT}
    made = json.dumps(how, sort_keys=True, ensure_ascii=False)
    name = f"{collection}-{hashlib.sha256(made.encode()).hexdigest()[:10]}"
    store = CollectionStore(server, name, dimension, learned, Tenant(tenant))
    index = VectorIndex(store)
    if not follow:
        store.begin()
    if follow or not index.resume(source):
        index.catch_up(source)
    drop_collections(server, collection, source, lambda other: other.name == name or not unused(other), tenant)
    return index


def made_of(collection: str) -> Callable[[str], bool]:
    """Whether a name is that of one of a library's collections, whatever made with."""
    named = re.compile(re.escape(collection) + "-[0-9a-f]{10}")
    return lambda name: named.fullmatch(name) is not None


def drop_collections(
    server: Server,
    collection: str,
    source: PointSource,
    unless: Callable[[CollectionStore], bool] = lambda _: False,
    tenant: str = "",
) -> list[str]:
    """Delete a library's collections, whatever made with, or its points in shared ones; the names of these.

    One into which a copy of the source writes is left.
    """
    own = made_of(collection)
    dropped = []
    for name in server.collections():
        found = CollectionStore(server, name, 0, tenant=Tenant(tenant))
        if not own(name) or (tenant and found.used() is None) or unless(found):
            continue
        head = found.head()  # before the source is asked: others may move both
        if head is not None and not holds(source, head):
            continue
        found.drop()
        dropped.append(name)
        if tenant and found.empty():
            CollectionStore(server, name, 0).drop()
    return dropped


def unused(collection: CollectionStore) -> bool:
    """Whether nobody has used it for a day."""
    used = collection.used()
    return used is not None and used < time.time() - _UNUSED_SECONDS
