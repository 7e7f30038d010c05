"""Collections whose vectors lie on the disk, and are compared in a short form first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from hybrid_core.store.index.server.connection import Layout, Quantization, connect
from tests import qdrant_real
from tests.contract.vectors.library import Library, agree, agree_dense
from tests.hybrid_core.store.index.server.opening import opened
from tests.qdrant_real import Node

DIMENSION = 64


@pytest.fixture(scope="module")
def node() -> Iterator[Node]:
    if qdrant_real.program() is None:
        pytest.skip(qdrant_real.REASON)
    with qdrant_real.cluster() as [node]:
        yield node


@pytest.mark.parametrize("kind", ["none", "scalar", "binary"])
def test_what_is_on_the_disk_in_a_short_form_is_found_by_its_own_vector(node: Node, kind: Quantization) -> None:
    library = Library()
    rows = np.random.default_rng(0).normal(size=(200, DIMENSION))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    library.publish("a", "a1", *[{1: 1.0 + page} for page in range(200)])
    library.embed("a", {(page, 0): unit[page - 1] for page in range(1, 201)})
    server = connect(node.url, layout=Layout(on_disk=True, quantization=kind))
    index = opened(server, library, {"kind": kind}, dimension=DIMENSION)
    agree_dense(index, library, unit[7].tolist())
    agree(index, library, {1: 1.0})
    [name] = server.collections()
    made = node.asked(f"/collections/{name}")["result"]["config"]["params"]
    assert made["vectors"]["dense"]["on_disk"] and made["sparse_vectors"]["bm25"]["index"]["on_disk"]
    assert list(made["vectors"]["dense"].get("quantization_config") or ["none"]) == [kind]
    index.close()
    server.call(lambda client: client.delete_collection(name), writes=True)
    server.close()
