"""Collections on as many nodes of a cluster as they shall be: what a node that lost its disk held is copied again."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from hybrid_core.errors import UnreachableError
from hybrid_core.store.index.server.connection import Server
from hybrid_core.store.index.server.nodes import EXTRA
from hybrid_core.system.extras import require

_PAUSE = 0.2
_Held = Mapping[int, Mapping[int, bool]]  # shard: node: whether it answers for it


def complete(server: Server, collection: str, seconds: float = 3600) -> int:
    """Copy each shard of a collection to more nodes, until as many hold it as the collection was made for.

    Searches go on meanwhile. Returns how many copies were made, after all of them answer. Raises ``UnreachableError``
    where there are too few nodes, or copies take longer than ``seconds``.
    """
    wanted = int(server.call(lambda client: client.get_collection(collection)).config.params.replication_factor or 1)
    copies = 0
    for shard, holders in sorted(_held(server, collection).items()):
        whole = [node for node, active in sorted(holders.items()) if active]
        for _ in range(wanted - len(holders)):
            to = _emptiest(server, collection, shard)
            if to is None or not whole:
                few = f"{server.url}: shard {shard} of {collection} is on {len(holders)} of {wanted} nodes"
                raise UnreachableError(f"{few}, and there is none to copy it {'to' if whole else 'from'}.", _ADVICE)
            _copy(server, collection, shard, whole[0], to)
            copies += 1
    _wait(server, collection, seconds)
    return copies


_ADVICE = "Start more nodes, then try again."


def _held(server: Server, collection: str) -> dict[int, dict[int, bool]]:
    found = server.call(lambda client: client.collection_cluster_info(collection))
    held: dict[int, dict[int, bool]] = {}
    for one in found.local_shards:
        held.setdefault(one.shard_id, {})[found.peer_id] = one.state.value == "Active"
    for other in found.remote_shards:
        held.setdefault(other.shard_id, {})[other.peer_id] = other.state.value == "Active"
    return held


def _emptiest(server: Server, collection: str, shard: int) -> int | None:
    """The node without this shard that holds the fewest others."""
    held = _held(server, collection)
    status: Any = server.call(lambda client: client.cluster_status())
    free = [int(node) for node in status.peers if int(node) not in held[shard]]
    return min(free, key=lambda node: (sum(node in nodes for nodes in held.values()), node), default=None)


def _copy(server: Server, collection: str, shard: int, source: int, target: int) -> None:
    models = require("qdrant_client.models", EXTRA)
    way = models.ReplicateShard(shard_id=shard, from_peer_id=source, to_peer_id=target)
    order = models.ReplicateShardOperation(replicate_shard=way)
    server.call(lambda client: client.cluster_collection_update(collection, order), writes=True)


def _wait(server: Server, collection: str, seconds: float) -> None:
    until = time.monotonic() + seconds
    while not all(active for nodes in _held(server, collection).values() for active in nodes.values()):
        if time.monotonic() > until:
            slow = f"{server.url}: {collection} is not copied after {seconds:.0f} s."
            raise UnreachableError(slow, "Look at the logs of its nodes.")
        time.sleep(_PAUSE)
