"""The open indexes of one home: each library's by itself."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_pageindex.engine.search import indexes
from hybrid_pageindex.engine.search.indexes import Indexes

_SECONDS = 60


def test_a_library_that_is_being_opened_keeps_no_other_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = Catalog(tmp_path / "catalog.sqlite")
    for library in ("large", "small"):
        catalog.ensure_library(library)
    opening, go, real = threading.Event(), threading.Event(), indexes.open_edge

    def open_slowly(folder: Path, *args: object, **named: object) -> object:
        if "large" in str(folder):
            opening.set()
            assert go.wait(_SECONDS)
        return real(folder, *args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(indexes, "open_edge", open_slowly)
    served = Indexes(catalog, tmp_path)
    thread = threading.Thread(target=served.ready, args=("large",))
    thread.start()
    assert opening.wait(_SECONDS)
    assert served.ready("small").count() == 0
    go.set()
    thread.join()
    assert served.ready("large") is served.ready("large")
    served.close()
    catalog.close()
