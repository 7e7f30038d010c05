"""What searches go by, from one publication to the next."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import Publication
from hybrid_core.store.catalog.embeddings import Embeddings, drop_embedder
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.types.documents import Card, StoredEmbedder
from hybrid_core.types.files import ContentVersion, FileStamp
from hybrid_core.types.scoring import ScoringConfig
from hybrid_pageindex.engine.models.embedders import VectorsOf
from hybrid_pageindex.engine.search.views import LibraryViews, ViewFiles
from retrievers.candidates.library import LibraryView
from retrievers.query.expert import Expert
from retrievers.trees.contents import ContentCache
from tests.hybrid_core.store.test_catalog import content

HASHED = StoredEmbedder("f1", "hashed:2", 2)
OTHER = StoredEmbedder("f2", "hashed:2", 2)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    made = Catalog(tmp_path / "catalog.sqlite")
    made.ensure_library("default")
    for name in "abc":
        publish(made, name)
    yield made
    made.close()


def version(name: str) -> ContentVersion:
    return ContentVersion(name, "pdf", "pdf-1", "chunks-1", "tree-1")


def publish(catalog: Catalog, name: str, number: int = 1, library: str = "default") -> None:
    catalog.publish(
        Publication(
            library=library,
            doc_id=name,
            path=f"/{name}.pdf",
            version=version(f"{name}{number}"),
            content=content(2, f"{name}{number}"),
            card=Card(names=(f"Harbor {name}",)),
            stamp=FileStamp(1, 1.0, 1.0, "1", 9.0),
        )
    )


def embed(catalog: Catalog, *names: str, by: StoredEmbedder = HASHED) -> None:
    target = Embeddings(catalog, "default", by)
    target.begin()
    target.put({name: np.ones(2, np.float32) for name in names})
    for name in names:
        target.complete(version(name).new_id(), 1, chunks=False)
    target.finish()


def published(views: LibraryViews) -> tuple[LibraryView, VectorsOf | None]:
    return views.published("default", "none", Expert(), ScoringConfig())


def test_only_what_changed_is_read_again(catalog: Catalog) -> None:
    views = LibraryViews(catalog, ContentCache(), ViewFiles(catalog.path.parent))
    first, _ = published(views)
    assert list(first.documents) == ["a", "b", "c"]
    assert published(views)[0] is first
    publish(catalog, "b", 2)
    publish(catalog, "aa")
    catalog.remove(["c"])
    second, _ = published(views)
    assert list(second.documents) == ["a", "aa", "b"]
    assert second.documents["a"] is first.documents["a"]
    assert second.documents["b"].content_id == version("b2").new_id()
    assert list(first.documents) == ["a", "b", "c"], "a search under way keeps its own"


def test_the_documents_with_vectors_are_those_of_the_catalog(catalog: Catalog) -> None:
    views = LibraryViews(catalog, ContentCache(), ViewFiles(catalog.path.parent))
    assert published(views)[1] is None
    embed(catalog, "a1", "b1")
    assert published(views)[1] == VectorsOf(HASHED, {"c"})
    publish(catalog, "b", 2)
    assert published(views)[1] == VectorsOf(HASHED, {"b", "c"})
    embed(catalog, "b2", "c1")
    catalog.remove(["a"])
    assert published(views)[1] == VectorsOf(HASHED, set())
    embed(catalog, "b2", "c1", by=OTHER)  # complete at once, so it serves without a line in the log
    assert published(views)[1] == VectorsOf(OTHER, set())
    drop_embedder(catalog, "default")
    assert published(views)[1] is None


def test_who_has_vectors_is_read_once_for_each_state(catalog: Catalog) -> None:
    embed(catalog, "a1", "b1", "c1")
    read: list[str] = []

    def note(_c: Any, _k: Any, statement: str, *_: Any) -> None:
        if statement.startswith("SELECT") and "FROM embedded" in statement:
            read.append(statement)

    views = LibraryViews(catalog, ContentCache(), ViewFiles(catalog.path.parent))
    event.listen(catalog._database.engine, "before_cursor_execute", note)
    for _ in range(3):
        published(views)
    assert len(read) == 1
    publish(catalog, "b", 2)
    for _ in range(3):
        published(views)
    assert len(read) == 2 and "embedded.content_id IN" in read[1], "of what changed only"


def test_a_library_whose_view_is_being_made_keeps_no_other_waiting(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog.ensure_library("small")
    publish(catalog, "s", library="small")
    views, making, go = (
        LibraryViews(catalog, ContentCache(), ViewFiles(catalog.path.parent)),
        threading.Event(),
        threading.Event(),
    )
    real = VectorsOf.next

    def slowly(before: Any, snapshot: Any, library: str, *rest: Any) -> Any:
        if library == "default":
            making.set()
            assert go.wait(600)
        return real(before, snapshot, library, *rest)

    monkeypatch.setattr(VectorsOf, "next", slowly)
    thread = threading.Thread(target=published, args=(views,))
    thread.start()
    assert making.wait(600)
    view, _ = views.published("small", "none", Expert(), ScoringConfig())
    assert list(view.documents) == ["s"]
    go.set()
    thread.join()


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three documents are a large library, two of them in memory much."""
    monkeypatch.setattr("hybrid_pageindex.engine.search.views._KEPT_FROM", 3)
    monkeypatch.setattr("hybrid_pageindex.engine.search.views._MOST_ABOVE", 1)


def opened(catalog: Catalog) -> LibraryViews:
    return LibraryViews(catalog, ContentCache(), ViewFiles(catalog.path.parent))


@pytest.mark.usefixtures("large")
def test_a_process_that_begins_reads_what_changed_only(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    embed(catalog, "a1", "b1")
    before, vectors = published(opened(catalog))
    read: list[int] = []
    real = Snapshot.documents
    monkeypatch.setattr(Snapshot, "documents", lambda *asked: (found := real(*asked), read.append(len(found)))[0])
    again, vectors_again = published(opened(catalog))
    assert read == [0] and vectors_again == vectors == VectorsOf(HASHED, {"c"})
    assert dict(again.documents) == dict(before.documents) and again.pages == 6
    publish(catalog, "b", 2)
    catalog.remove(["c"])
    views = opened(catalog)
    changed, _ = published(views)
    assert read == [0, 1] and list(changed.documents) == ["a", "b"]
    assert changed.documents["b"].content_id == version("b2").new_id()
    assert list(again.documents) == ["a", "b", "c"], "a search under way keeps its own"


@pytest.mark.usefixtures("large")
def test_a_view_is_written_again_when_much_has_changed(catalog: Catalog) -> None:
    views = opened(catalog)
    published(views)
    folder = catalog.path.parent / "libraries" / "default" / "views"
    [first] = folder.iterdir()
    for name in "def":
        publish(catalog, name)
        view, _ = published(views)
    views.close()
    [second] = folder.iterdir()
    assert first != second and list(view.documents) == [*"abcdef"]
    assert list(published(opened(catalog))[0].documents) == [*"abcdef"]


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("kept", ["in the file", "in memory"])
def test_a_view_of_a_lost_history_is_not_used_for_the_one_after(catalog: Catalog, tmp_path: Path, kept: str) -> None:
    """A backup is restored, and the catalog goes on to the number of changes that the view knows."""
    views, backup = opened(catalog), tmp_path / "backup.sqlite"
    with closing(sqlite3.connect(catalog.path)) as live:
        live.execute("VACUUM INTO ?", [str(backup)])
    publish(catalog, "x")
    assert list(published(views)[0].documents) == [*"abcx"]
    views.close()
    with closing(sqlite3.connect(backup)) as source, closing(sqlite3.connect(catalog.path)) as live:
        source.backup(live)
    publish(catalog, "y")
    publish(catalog, "z")
    after = views if kept == "in memory" else opened(catalog)
    assert list(published(after)[0].documents) == [*"abcyz"]
    after.close()


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("how", ["cut", "other catalog", "ahead"])
def test_a_view_that_does_not_fit_is_made_again(catalog: Catalog, how: str) -> None:
    published(opened(catalog))
    [file] = (catalog.path.parent / "libraries" / "default" / "views").iterdir()
    if how == "cut":
        file.write_bytes(file.read_bytes()[:-9])
    elif how == "ahead":
        written = file.read_bytes().replace(b'"position":3', b'"position":9')
        file.with_name(file.name.replace("-3.", "-9.")).write_bytes(written)
    else:
        catalog.clear()
        catalog.ensure_library("default")
        for name in "xyz":
            publish(catalog, name)
    view, _ = published(opened(catalog))
    assert list(view.documents) == (list("xyz") if how == "other catalog" else list("abc"))


@pytest.mark.usefixtures("large")
def test_where_views_cannot_be_written_searches_go_on(catalog: Catalog, caplog: pytest.LogCaptureFixture) -> None:
    (catalog.path.parent / "libraries").write_text("in the way")
    assert list(published(opened(catalog))[0].documents) == ["a", "b", "c"]
    assert "could not be saved" in caplog.text
