"""A Qdrant cluster that lost everything is filled again from the catalog, while searches go on."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hybrid_pageindex import Engine, run
from hybrid_pageindex.engine.search import indexes
from tests import pdfs, qdrant_real, qdrant_stub
from tests.conftest import Cli
from tests.homes import settings_of

pytestmark = pytest.mark.slow
QUESTIONS = [pdfs.landmark("shoals", 2), pdfs.landmark("fjords", 7), "harbour"]


def answers(engine: Engine) -> list[list[tuple[str, int]]]:
    found = [run(engine.search(question, effort="fast", top_k=5)) for question in QUESTIONS]
    return [[(page.doc_name, page.page) for page in one.results] for one in found]


def behind(engine: Engine) -> bool:
    return any("the search index lacks" in note for note in run(engine.search(QUESTIONS[0], effort="fast")).notes)


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is missing is too much for a search to wait for."""
    monkeypatch.setattr(indexes, "_AT_ONCE", 0)


@pytest.fixture
def documents(tmp_path: Path) -> list[Path]:
    return [pdfs.numbered(tmp_path / "a.pdf", 5, "shoals"), pdfs.numbered(tmp_path / "b.pdf", 9, "fjords")]


def filled(engine: Engine) -> None:
    until = time.monotonic() + 600
    while behind(engine):
        assert time.monotonic() < until
        time.sleep(0.1)


@pytest.fixture(params=[1, 3])
def nodes(request: pytest.FixtureRequest) -> Iterator[list[qdrant_real.Node]]:
    if qdrant_real.program() is None:
        pytest.skip(qdrant_real.REASON)
    with qdrant_real.cluster(request.param) as running:
        yield running


def test_a_wiped_cluster_is_filled_while_searches_go_on(
    tmp_path: Path, documents: list[Path], nodes: list[qdrant_real.Node], many: None
) -> None:
    urls = ",".join(node.url for node in nodes)
    replicas = min(2, len(nodes))
    settings = settings_of(tmp_path / "home", qdrant_url=urls, qdrant_shards=4, qdrant_replicas=replicas)
    engine = Engine(settings=settings)
    run(engine.index(documents))
    filled(engine)
    before = answers(engine)
    for node in nodes:
        node.wipe()
    for node in nodes:
        node.start()
        node.wait_for(node.answers)
    nodes[-1].wait_for(lambda: len(nodes) == 1 or len(nodes[-1].asked("/cluster")["result"]["peers"]) == len(nodes))
    began = run(engine.search(QUESTIONS[0], effort="fast"))
    assert any("lacks 14 pages: searches find them by their words" in note for note in began.notes)
    assert answers(engine) == before
    filled(engine)
    assert answers(engine) == before
    engine.close()
    again = Engine(settings=settings)
    assert answers(again) == before and not behind(again)
    again.close()


def test_what_a_node_no_longer_holds_is_copied_to_it(
    documents: list[Path], nodes: list[qdrant_real.Node], cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = cli("migrate", "--replicas")
    assert refused.returncode == 2 and "No Qdrant server is configured" in refused.stderr
    monkeypatch.setenv("PAGEINDEX_QDRANT_URL", ",".join(node.url for node in nodes))
    monkeypatch.setenv("PAGEINDEX_QDRANT_REPLICAS", str(min(2, len(nodes))))
    assert cli("index", *documents).returncode == 0
    (name,) = [one["name"] for one in nodes[0].asked("/collections")["result"]["collections"]]
    copies = {name: 0}
    if len(nodes) > 1:
        shards = nodes[0].asked(f"/collections/{name}/cluster")["result"]
        dropped = {"drop_replica": {"shard_id": 0, "peer_id": shards["remote_shards"][0]["peer_id"]}}
        assert nodes[0].asked(f"/collections/{name}/cluster", "POST", dropped)["result"]
        copies = {name: 1}
    said = cli("migrate", "--replicas", "--json")
    assert json.loads(said.stdout) == {"replicas": copies}
    assert "0 copies were made; all shards of 1 collections" in cli("migrate", "--replicas").stdout


def test_the_first_search_of_a_new_server_waits_for_nothing(tmp_path: Path, documents: list[Path], many: None) -> None:
    engine = Engine(tmp_path / "home")
    run(engine.index(documents))
    before = answers(engine)
    engine.close()
    with qdrant_stub.running() as stub:
        moved = Engine(settings=settings_of(tmp_path / "home", qdrant_url=stub.url))
        assert behind(moved) and answers(moved) == before
        filled(moved)
        assert answers(moved) == before
        moved.close()
