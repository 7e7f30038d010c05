"""Placement of a library's points on a Qdrant server: in its own collections, or in shared ones.

A collection's name ends in a hash of its index settings. Another tokeniser or embedder uses another collection, so
building it does not affect searches. A collection that was not used for a day is deleted. In a shared collection only
the library's points are deleted, and the collection itself when it is empty.

The name begins with the catalog's id and epoch. A copy of a catalog has the same id. When original and copy have
different changes, the one that finds its collections used by the other chooses a new epoch, and so new collections.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hybrid_core.errors import UnreachableError
from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.points import PointSource, holds, vectors_manifest
from hybrid_core.store.index.server.collection import LAYOUT, CollectionStore
from hybrid_core.store.index.server.connection import EXTRA, CollectionAlias, Server
from hybrid_core.store.index.server.requests import Tenant
from hybrid_core.system import require

_UNUSED_SECONDS = 24 * 3600.0
_PAUSE = 0.2
_ADVICE = "Start more nodes, then try again."


def library_collection(beginning: str, library: str) -> str:
    """Return the prefix of the names of a library's own collections. A hash of the index settings follows it."""
    words = re.sub(r"[^a-z0-9]+", "-", library.lower()).strip("-")[:24] or "library"
    return f"{beginning}{words}-{hashlib.sha256(library.encode()).hexdigest()[:10]}"


def shared_collection(beginning: str) -> str:
    """Return the prefix of the names of collections that libraries share."""
    return f"{beginning}shared"


def catalog_collections(server: Server, beginning: str) -> list[str]:
    """Return the sorted names of all collections of a catalog: those that begin with its prefix ``beginning``."""
    return sorted(name for name in server.collections() if name.startswith(beginning))


def other_epochs(server: Server, prefix: str, catalog_id: str, beginning: str) -> list[str]:
    """Return the sorted names of the collections of a catalog, or of copies of it, that belong to other epochs.

    ``beginning`` is the prefix of the current epoch.
    """
    same = (of_catalog(prefix, catalog_id), f"{prefix}{catalog_id[:12]}.")
    return sorted(name for name in server.collections() if name.startswith(same) and not name.startswith(beginning))


def of_catalog(prefix: str, catalog_id: str, epoch: str = "") -> str:
    """Return the prefix with which the names of a catalog's collections and aliases begin, in the given epoch."""
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
    """Open a library's index on a server and bring it up to date. Create or repair it as needed.

    Without ``follow`` the index stays at its recorded position, or is empty if it is new. ``collection`` is a prefix
    from ``library_collection``, or from ``shared_collection`` with the library as ``tenant``. ``manifest`` describes
    how the vectors were computed. ``dimension`` is the dimension of the dense vectors, 0 without them; ``learned`` says
    whether there are learned sparse vectors. Raise ``StoreError`` if the server refuses a request, ``UnreachableError``
    if it does not answer, and ``OtherHistoryError`` if a copy of the catalog writes the collection.
    """
    how = {**manifest, **vectors_manifest(dimension, learned), "layout": LAYOUT}
    record = json.dumps(how, sort_keys=True, ensure_ascii=False)
    name = f"{collection}-{hashlib.sha256(record.encode()).hexdigest()[:10]}"
    store = CollectionStore(server, name, dimension, learned, Tenant(tenant))
    index = VectorIndex(store)
    if not follow:
        store.begin()
    if follow or not index.resume(source):
        index.catch_up(source)
    drop_collections(server, collection, source, lambda other: other.name == name or not unused(other), tenant)
    return index


def made_of(collection: str) -> Callable[[str], bool]:
    """Return a function that checks whether a name is the prefix ``collection`` with any hash of index settings."""
    named = re.compile(re.escape(collection) + "-[0-9a-f]{10}")
    return lambda name: named.fullmatch(name) is not None


def drop_collections(
    server: Server,
    collection: str,
    source: PointSource,
    unless: Callable[[CollectionStore], bool] = lambda _: False,
    tenant: str = "",
) -> list[str]:
    """Delete a library's collections of any index settings, or with ``tenant`` its points in shared collections.

    Return the names of these collections. Those for which ``unless`` returns True, and those that a copy of the catalog
    writes, are left unchanged.
    """
    own = made_of(collection)
    dropped = []
    for name in server.collections():
        store = CollectionStore(server, name, 0, tenant=Tenant(tenant))
        if not own(name) or (tenant and store.used() is None) or unless(store):
            continue
        head = store.head()  # read before the source, since other processes may change both
        if head is not None and not holds(source, head):
            continue
        store.drop()
        dropped.append(name)
        if tenant and store.empty():
            CollectionStore(server, name, 0).drop()
    return dropped


def unused(collection: CollectionStore) -> bool:
    """Return whether the collection was not used for a day."""
    used = collection.used()
    return used is not None and used < time.time() - _UNUSED_SECONDS


@dataclass(frozen=True, slots=True)
class Places:
    server: Server
    beginning: str  # prefix of the catalog's collections, from ``of_catalog``
    library: str
    source: PointSource
    alias: str = ""  # the library's name

    def open(
        self,
        shared: bool,
        manifest: Mapping[str, str | int],
        dimension: int,
        learned: bool,
        *,
        follow: bool = True,
    ) -> VectorIndex:
        """Open the library's index with ``open_server``, in a collection of its own or in a shared one.

        A library that has a collection of its own keeps it, even if ``shared``. Points that the library has in the
        other kind of collection are deleted if they were not used for a day.
        """
        shared = shared and not any(name.startswith(f"{self._own}-") for name in self.server.collections())
        place, tenant = (self._shared, self.library) if shared else (self._own, "")
        index = open_server(self.server, place, self.source, manifest, dimension, learned, follow=follow, tenant=tenant)
        if not shared and isinstance(index.store, CollectionStore):
            self._named.give(self.server, index.store.name, made_of(self._own))
        self._drop(not shared, in_use=False)
        return index

    def rename(self) -> None:
        """Change the alias of the library's own collection to the library's current name."""
        self._named.change(self.server, made_of(self._own))

    def drop(self) -> list[str]:
        """Delete the library's points in all collections. Return the names of these collections."""
        return [*self._drop(True), *self._drop(False)]

    def _drop(self, shared: bool, *, in_use: bool = True) -> list[str]:
        place, tenant = (self._shared, self.library) if shared else (self._own, "")
        return drop_collections(self.server, place, self.source, lambda one: not in_use and not unused(one), tenant)

    @property
    def _named(self) -> CollectionAlias:
        return CollectionAlias(self.beginning, self.alias or self.library, self.library)

    @property
    def _own(self) -> str:
        return library_collection(self.beginning, self.library)

    @property
    def _shared(self) -> str:
        return shared_collection(self.beginning)


def complete(server: Server, collection: str, seconds: float = 3600) -> int:
    """Copy each shard of a collection to more nodes, until it has the collection's number of replicas.

    Searches continue meanwhile. Return the number of copies, when all of them are active. Raise ``UnreachableError`` if
    there are too few nodes, or copies take longer than ``seconds``.
    """
    replicas = int(server.call(lambda client: client.get_collection(collection)).config.params.replication_factor or 1)
    copies = 0
    for shard, holders in sorted(_shard_nodes(server, collection).items()):
        whole = [node for node, active in sorted(holders.items()) if active]
        for _ in range(replicas - len(holders)):
            to = _emptiest(server, collection, shard)
            if to is None or not whole:
                few = f"{server.url}: shard {shard} of {collection} is on {len(holders)} of {replicas} nodes"
                lacking = "no other node can take a copy" if whole else "none of them is active"
                raise UnreachableError(f"{few}, and {lacking}.", _ADVICE)
            _copy(server, collection, shard, whole[0], to)
            copies += 1
    _wait(server, collection, seconds)
    return copies


def _shard_nodes(server: Server, collection: str) -> dict[int, dict[int, bool]]:
    info = server.call(lambda client: client.collection_cluster_info(collection))
    shards: dict[int, dict[int, bool]] = {}
    for local in info.local_shards:
        shards.setdefault(local.shard_id, {})[info.peer_id] = local.state.value == "Active"
    for other in info.remote_shards:
        shards.setdefault(other.shard_id, {})[other.peer_id] = other.state.value == "Active"
    return shards


def _emptiest(server: Server, collection: str, shard: int) -> int | None:
    """Return the node with the fewest shards of the collection, among nodes without this shard, None if all have it."""
    shards = _shard_nodes(server, collection)
    status: Any = server.call(lambda client: client.cluster_status())
    free = [int(node) for node in status.peers if int(node) not in shards[shard]]
    return min(free, key=lambda node: (sum(node in nodes for nodes in shards.values()), node), default=None)


def _copy(server: Server, collection: str, shard: int, source: int, target: int) -> None:
    models = require("qdrant_client.models", EXTRA)
    way = models.ReplicateShard(shard_id=shard, from_peer_id=source, to_peer_id=target)
    order = models.ReplicateShardOperation(replicate_shard=way)
    server.call(lambda client: client.cluster_collection_update(collection, order), writes=True)


def _wait(server: Server, collection: str, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not all(active for nodes in _shard_nodes(server, collection).values() for active in nodes.values()):
        if time.monotonic() > until:
            slow = f"{server.url}: {collection} is not completely copied after {seconds:.0f} s."
            raise UnreachableError(slow, "Check the logs of the cluster's nodes.")
        time.sleep(_PAUSE)
