"""What searches go by, from one publication to the next."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.embeddings import Embeddings, drop_embedder
from hybrid_core.types.documents import Card, StoredEmbedder
from hybrid_core.types.files import FileStamp
from hybrid_core.types.scoring import ScoringConfig
from hybrid_core.types.versions import ContentVersion
from hybrid_pageindex.services.embedding import VectorsOf
from hybrid_pageindex.services.views import LibraryViews
from retrievers.documents.content import ContentCache
from retrievers.documents.library import LibraryView
from retrievers.query.expert import Expert
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
        library=library, doc_id=name, path=f"/{name}.pdf", version=version(f"{name}{number}"),
        content=content(2, f"{name}{number}"), card=Card(names=(f"Harbor {name}",)),
        stamp=FileStamp(1, 1.0, 1.0, "1", 9.0),
    )  # fmt: skip


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
    views = LibraryViews(catalog, ContentCache())
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
    views = LibraryViews(catalog, ContentCache())
    assert published(views)[1] is None
    embed(catalog, "a1", "b1")
    assert published(views)[1] == VectorsOf(HASHED, {"a", "b"})
    publish(catalog, "b", 2)
    assert published(views)[1] == VectorsOf(HASHED, {"a"})
    embed(catalog, "b2", "c1")
    catalog.remove(["a"])
    assert published(views)[1] == VectorsOf(HASHED, {"b", "c"})
    embed(catalog, "b2", "c1", by=OTHER)  # complete at once, so it serves without a line in the log
    assert published(views)[1] == VectorsOf(OTHER, {"b", "c"})
    drop_embedder(catalog, "default")
    assert published(views)[1] is None


def test_who_has_vectors_is_read_once_for_each_state(catalog: Catalog) -> None:
    embed(catalog, "a1", "b1", "c1")
    read: list[str] = []

    def note(_c: Any, _k: Any, statement: str, *_: Any) -> None:
        if statement.startswith("SELECT") and "FROM embedded" in statement:
            read.append(statement)

    views = LibraryViews(catalog, ContentCache())
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
    views, making, go = LibraryViews(catalog, ContentCache()), threading.Event(), threading.Event()
    real = VectorsOf.next

    def slowly(before: Any, snapshot: Any, library: str, *rest: Any) -> Any:
        if library == "default":
            making.set()
            assert go.wait(60)
        return real(before, snapshot, library, *rest)

    monkeypatch.setattr(VectorsOf, "next", slowly)
    thread = threading.Thread(target=published, args=(views,))
    thread.start()
    assert making.wait(60)
    view, _ = views.published("small", "none", Expert(), ScoringConfig())
    assert list(view.documents) == ["s"]
    go.set()
    thread.join()
