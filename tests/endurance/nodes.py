"""What a cluster of Qdrant nodes goes through besides kills: a disk that is lost, and too few nodes to agree."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
from collections.abc import Sequence

from tests.endurance.machines import Machines
from tests.qdrant_real import Node


def lose_disk(cluster: Machines, number: int, seconds: float) -> None:
    """A node loses all it held while the others hold it whole, and comes back as ``docs/qdrant-server.md`` says."""
    until = time.monotonic() + seconds
    lost, other = cluster.nodes[number], cluster.nodes[number - 1]
    while not _whole(other, len(cluster.nodes)):
        assert time.monotonic() < until, "the replicas are not whole again"
        time.sleep(0.2)
    peer = lost.asked("/cluster")["result"]["peer_id"]
    lost.wipe()
    while not _taken_out(other, peer):
        assert time.monotonic() < until, "the cluster does not let it go"
        time.sleep(0.2)
    lost.start(other)
    lost.wait_for(lambda: len(lost.asked("/cluster")["result"]["peers"]) == len(cluster.nodes))
    asked = [sys.executable, "-m", "hybrid_pageindex", "migrate", "--replicas"]
    while True:
        environment = {**os.environ, **cluster.variables}
        said = subprocess.run(asked, env=environment, capture_output=True, text=True, timeout=seconds)
        if said.returncode == 0:
            return
        assert time.monotonic() < until, said.stderr


def stop_nodes(nodes: Sequence[Node], seconds: float) -> None:
    """Kill them together, and start them so much later."""
    for node in nodes:
        node.kill()
    time.sleep(seconds)
    for node in nodes:
        node.start()
    for node in nodes:
        node.wait_for(node.answers)


def _whole(node: Node, nodes: int) -> bool:
    """Whether all nodes are there and each replica of each collection answers."""
    try:
        if len(node.asked("/cluster")["result"]["peers"]) != nodes:
            return False
        for collection in node.asked("/collections")["result"]["collections"]:
            found = node.asked(f"/collections/{collection['name']}/cluster")["result"]
            replicas = found["local_shards"] + found["remote_shards"]
            if any(one["state"] != "Active" for one in replicas) or found["shard_transfers"]:
                return False
    except (urllib.error.URLError, OSError):
        return False
    return True


def _taken_out(node: Node, peer: int) -> bool:
    try:
        return bool(node.asked(f"/cluster/peer/{peer}?force=true", "DELETE")["result"])
    except (urllib.error.URLError, OSError):
        return False
