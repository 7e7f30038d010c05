"""What the doctor says of an index that is not what the catalog has, and how that is mended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import qdrant_edge

from hybrid_core.errors import StoreError
from hybrid_core.store.index.catalog_source import UNNAMED, differences
from hybrid_core.store.index.edge.folders import checksum, read_state, write_state
from hybrid_core.store.index.edge.shard import Shard
from hybrid_core.store.index.points import Point, naming_id
from hybrid_core.store.index.server.collection import CollectionStore
from hybrid_pageindex import Engine, run
from hybrid_pageindex.cli.main import main
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.engine import health_checks
from hybrid_pageindex.engine.health_checks import Check, DocumentList
from hybrid_pageindex.engine.search.handles import index_folder
from tests import homes, pdfs, qdrant_real

STRANGER = "ffffffffffff"


@pytest.fixture(scope="module")
def qdrant() -> Iterator[str]:
    if qdrant_real.program() is None:
        pytest.skip(qdrant_real.REASON)
    with qdrant_real.node() as url:
        yield url


@pytest.fixture(params=["embedded", "server", "shared collection"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Of a home with three documents of 2, 2 and 3 pages, embedded with chunks."""
    url = "" if request.param == "embedded" else request.getfixturevalue("qdrant")
    own_from = 100 if request.param == "shared collection" else 0
    settings = homes.settings_of(tmp_path / "home", qdrant_url=url, qdrant_own_from=own_from)
    with closing(Engine(settings=settings)) as engine:
        for name, pages in (("alder", 2), ("birch", 2), ("cedar", 3)):
            run(engine.index(pdfs.numbered(tmp_path / f"{name}.pdf", pages, name)))
        run(engine.models.embed("hashed:32"))
        assert checked(engine).ok
    return settings


def checked(engine: Engine) -> Check:
    return next(check for check in run(engine.admin.doctor()).checks if check.name == "library 'default'")


def swap(settings: Settings, remove: tuple[str, int], add: str) -> None:
    """Take points of a document out of the index behind the catalog's back, and put as many of another one in."""
    with closing(Engine(settings=settings)) as engine:
        documents = {document.name: document for document in run(engine.documents.list())}
        index = engine._indexes().ready("default")
        name, number = remove
        gone = [id for id in index.store.ids() if id[:8] + id[9:13] == documents[f"{name}.pdf"].doc_id][:number]
        dense = np.full(32, 32**-0.5, np.float32)
        none = np.zeros(0, np.uint32), np.zeros(0, np.float32)
        made = [Point(add, "content", page + 1, *none, dense=dense) for page in range(len(gone))] if add else []
        if isinstance(index.store, CollectionStore):
            store = index.store
            store.server.call(lambda client: client.delete(store.name, list(gone), wait=True))
            store._write(made, index.position)
            return
    folder = index_folder(settings.storage_path, "default")
    shard = Shard.load(folder / "shard", 32)
    shard._update(qdrant_edge.UpdateOperation.delete_points(gone))
    for batch in shard.prepared(made):
        shard.upsert(batch)
    shard.flush()
    state, count = read_state(folder / "state.json"), shard.count()
    shard.close()
    assert state is not None
    files = checksum(folder / "shard")  # as if Edge had lost them
    write_state(folder / "state.json", replace(state, count=count, files=files))


@pytest.mark.parametrize(
    ("removed", "added", "expected"),
    [
        (("alder", 99), "", {"missing": ("alder.pdf",)}),
        (("birch", 99), STRANGER, {"missing": ("birch.pdf",), "extra": (STRANGER,)}),
        (("cedar", 1), "", {"incomplete": ("cedar.pdf",)}),
        (("cedar", 1), STRANGER, {"incomplete": ("cedar.pdf",), "extra": (STRANGER,)}),
    ],
)
def test_it_names_the_documents_and_the_index_is_rebuilt(
    settings: Settings, removed: tuple[str, int], added: str, expected: dict[str, tuple[str, ...]],
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    swap(settings, removed, added)
    with closing(Engine(settings=settings)) as engine:
        check = checked(engine)
        assert not check.ok and check.index == {kind: DocumentList(1, names) for kind, names in expected.items()}
        assert "To rebuild the index, run: hybrid-pageindex rebuild --index --library default" in check.detail
        assert all(f": {names[0]}" in check.detail for names in expected.values())
    monkeypatch.setenv("PAGEINDEX_QDRANT_URL", settings.qdrant_url)
    monkeypatch.setenv("PAGEINDEX_QDRANT_OWN_FROM", str(settings.qdrant_own_from))
    home = ["--home", str(settings.storage_path)]
    assert main([*home, "doctor", "--json"]) == 1
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    found = checks["library 'default'"]["index"]
    assert found == {kind: {"count": 1, "names": list(names)} for kind, names in expected.items()}
    assert main([*home, "rebuild", "--index", "--library", "default"]) == 0
    capsys.readouterr()
    with closing(Engine(settings=settings)) as engine:
        assert checked(engine).ok and "vector index complete;" in checked(engine).detail
        assert [page.doc_name for page in engine.search_now(pdfs.landmark("birch", 2), top_k=1).results] == [
            "birch.pdf"
        ]


def test_an_index_that_is_behind_is_brought_up_and_compared(settings: Settings, tmp_path: Path) -> None:
    with closing(Engine(settings=settings)) as engine:
        progress: list[tuple[int, int]] = []
        engine._indexes().ready("default")
        parts = engine._parts()
        run(engine.index(pdfs.numbered(tmp_path / "elm.pdf", 2, "elm")))
        parts.catalog.remove([one.doc_id for one in run(engine.documents.list()) if one.name == "alder.pdf"])
        comparison = engine._indexes().compare("default", lambda: None)
        assert comparison.same and comparison.behind
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(health_checks, "_QUIET", -1.0)
            health = run(engine.admin.doctor(on_progress=lambda *done: progress.append(done)))
        assert next(check for check in health.checks if check.name == "library 'default'").ok
        assert progress[-1] == (3, 3)


@pytest.mark.parametrize("settings", ["embedded"], indirect=True)
def test_another_process_that_has_the_index_open_is_named(settings: Settings) -> None:
    with closing(Engine(settings=settings)) as first, closing(Engine(settings=settings)) as second:
        assert run(first.search("alder")).results
        with pytest.raises(StoreError, match="Another process has the search index open"):
            run(second.admin.rebuild_index())
        assert checked(second).ok


def ids(doc_id: str, *pages: int, tag: str = "0123456") -> list[str]:
    return [naming_id(doc_id, tag, page) for page in pages]


ONE, TWO, THREE = "000000000001", "000000000002", "00000000000a"


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ([*ids(ONE, 1, 2), *ids(THREE, 1)], []),
        ([], [(ONE, "missing"), (THREE, "missing")]),
        ([*ids(ONE, 1, 2), *ids(TWO, 1), *ids(THREE, 1), *ids(STRANGER, 1)], [(TWO, "extra"), (STRANGER, "extra")]),
        ([*ids(ONE, 1), *ids(THREE, 1, 2)], [(ONE, "incomplete"), (THREE, "incomplete")]),
        ([*ids(ONE, 1, 2, tag="abcdef0"), *ids(THREE, 1)], [(ONE, "incomplete")]),
        (["7", "0f1c2d3e-0000-5000-9000-000000000000", *ids(ONE, 1, 2), *ids(THREE, 1)], [(UNNAMED, "extra")]),
    ],
)
def test_both_are_read_in_the_order_of_ids(held: list[str], expected: list[tuple[str, str]]) -> None:
    documents = [(ONE, ids(ONE, 1, 2)), (TWO, []), (THREE, ids(THREE, 1))]
    assert list(differences(held, documents)) == expected


def test_ids_in_no_order_are_no_answer() -> None:
    with pytest.raises(StoreError, match="in the wrong order"):
        list(differences([*ids(TWO, 1), *ids(ONE, 1)], []))


def test_twenty_documents_are_named_and_the_others_counted() -> None:
    names = tuple(f"{number:02}.pdf" for number in range(25))
    lists = {"missing": DocumentList(25, names), "extra": DocumentList(0, ()), "incomplete": DocumentList(1, ("a b",))}
    detail = health_checks._differing(lists, "it's mine")  # type: ignore[arg-type]
    assert "25 documents missing from the search index: 00.pdf," in detail and "19.pdf and 5 more; 1 document" in detail
    assert detail.endswith("""run: hybrid-pageindex rebuild --index --library 'it'"'"'s mine'""")
