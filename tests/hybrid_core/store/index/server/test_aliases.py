"""Under which names people see the collections of their libraries on a server."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hybrid_core.errors import StoreError
from hybrid_core.store.index.index import VectorIndex
from hybrid_core.store.index.server.connection import Server, connect
from hybrid_core.store.index.server.placement import Places
from hybrid_core.types.documents import Change
from hybrid_pageindex import Engine, run
from tests import pdfs, qdrant_real, qdrant_stub
from tests.contract.vectors.library import Library
from tests.homes import settings_of
from tests.hybrid_core.store.index.server.opening import MANIFEST
from tests.qdrant_local import client_of, local_server

pytestmark = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact:UserWarning", "ignore:Payload indexes have no effect:UserWarning"
)
BEGINNING = "pageindex-0123456789ab-"


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, str]]:
    """Of servers over REST."""
    with qdrant_stub.running() as stub:
        found = {"stub": stub.url}
        if qdrant_real.program() is None:
            yield found
            return
        with qdrant_real.node() as url:
            yield found | {"real": url}


@pytest.fixture(params=["local", "stub", "real"])
def server(request: pytest.FixtureRequest, urls: dict[str, str]) -> Iterator[Server]:
    kind = request.param
    if kind == "real" and kind not in urls:
        pytest.skip(qdrant_real.REASON)
    server = local_server() if kind == "local" else connect(urls[kind])
    yield server
    for name in server.collections():
        server.call(lambda client, name=name: client.delete_collection(name), writes=True)  # type: ignore[misc]
    server.close()


def places(server: Server, library: str, alias: str = "") -> Places:
    log = Library()
    log.log.append(Change(100, "a", None))  # it knows every change of these tests
    return Places(server, BEGINNING, library, log, alias)


def opened(at: Places, source: Library, embedder: str = "", shared: bool = False) -> VectorIndex:
    return replace(at, source=source).open(shared, MANIFEST | {"embedder": embedder}, 0, False)


def name_of(index: VectorIndex) -> str:
    name: str = index.store.name  # type: ignore[attr-defined]
    return name


def test_a_collection_is_seen_under_the_librarys_alias_and_goes_with_it(server: Server, library: Library) -> None:
    index = opened(places(server, "contracts", "合同库"), library)
    assert server.aliases() == {f"{BEGINNING}合同库": name_of(index)}
    plain = opened(places(server, "reports"), library)
    assert server.aliases()[f"{BEGINNING}reports"] == name_of(plain)
    places(server, "contracts").drop()
    assert server.aliases() == {f"{BEGINNING}reports": name_of(plain)}


def test_another_embedders_collection_takes_it_over(server: Server, library: Library) -> None:
    first = opened(places(server, "contracts", "合同库"), library)
    second = opened(places(server, "contracts", "合同库"), library, "another")
    assert name_of(first) != name_of(second) and len(server.collections()) == 2
    assert server.aliases() == {f"{BEGINNING}合同库": name_of(second)}


def test_it_changes_when_the_library_is_renamed_or_opened_after(server: Server, library: Library) -> None:
    places(server, "contracts", "new").rename()  # of a library that has no collection
    assert server.aliases() == {}
    index = opened(places(server, "contracts", "old"), library)
    places(server, "contracts", "new").rename()
    assert server.aliases() == {f"{BEGINNING}new": name_of(index)}
    opened(places(server, "contracts", "newer"), library)
    assert server.aliases() == {f"{BEGINNING}newer": name_of(index)}


def test_two_libraries_of_one_name_have_one_each(server: Server, library: Library) -> None:
    first, second = places(server, "contracts", "a/b"), places(server, "contracts~2", "a:b")
    held = {f"{BEGINNING}a-b": name_of(opened(first, library))}
    held[f"{BEGINNING}a-b-contracts~2"] = name_of(opened(second, library))
    assert server.aliases() == held
    for one in (first, second, first):
        opened(one, library)
        one.rename()
        assert server.aliases() == held
    first.drop()
    index = opened(second, library)
    assert server.aliases() == {f"{BEGINNING}a-b": name_of(index)}, "it is free now"


@pytest.mark.parametrize("server", ["local", "real"], indirect=True)
def test_libraries_that_share_a_collection_have_none(server: Server, library: Library) -> None:
    opened(places(server, "small", "小"), library, shared=True)
    places(server, "small", "小小").rename()
    assert server.aliases() == {}


@pytest.mark.parametrize("server", ["real"], indirect=True)
def test_people_can_count_by_it(server: Server, library: Library) -> None:
    opened(places(server, "contracts", "of <2024> 合同库/1?"), library)
    assert client_of(server).count(f"{BEGINNING}of -2024- 合同库-1-").count == 6, (
        "its pages, the record and the announcement"
    )


def test_it_outlives_a_collection_that_is_made_anew(server: Server, library: Library) -> None:
    index = opened(places(server, "contracts", "合同库"), library)
    held = server.aliases()
    index.store.refill((), 0)  # of a catalog that was put back
    assert server.aliases() == held != {}


def test_where_it_cannot_be_set_that_is_told_and_searches_go_on(
    library: Library, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(call: str) -> None:
        if call == "update_collection_aliases":
            raise StoreError("No.")

    server = local_server(before=refuse)
    with caplog.at_level(logging.WARNING):
        index = opened(places(server, "contracts", "合同库"), library)
    assert index.count() == 4 and server.aliases() == {}
    assert f"the alias of {name_of(index)} was not set: No." in caplog.text
    server.close()


def test_renaming_a_library_renames_what_the_server_shows(tmp_path: Path, urls: dict[str, str]) -> None:
    engine = Engine(settings=settings_of(tmp_path / "home", qdrant_url=urls.get("real", urls["stub"])))
    run(engine.index([pdfs.numbered(tmp_path / "a.pdf", 2, "shoals")], library="contracts"))
    server = connect(urls.get("real", urls["stub"]))
    shown = lambda: [name.split("-", 2)[2] for name in server.aliases()]  # noqa: E731
    assert shown() == ["contracts"]
    run(engine.libraries.name("contracts", alias="合同库"))
    assert shown() == ["合同库"]
    run(engine.libraries.name("合同库", alias="", name="Agreements"))
    assert shown() == ["Agreements"]
    run(engine.libraries.clear(library="Agreements", for_good=True))
    assert shown() == []
    engine.close()
    server.close()
