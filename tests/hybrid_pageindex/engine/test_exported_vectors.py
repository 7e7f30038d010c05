"""A library as one file takes its vectors along, and they count where the same embedder is."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from hybrid_core.embed.hashed import HashedEmbedder
from hybrid_core.errors import DocumentError
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import load_settings
from hybrid_pageindex.engine.libraries.transfer import VECTORS

MILL = "# The mill\n\nThe mill was sold to the town in 1987.\n\n## Price\n\nIt cost 4,200 crowns.\n"


def opened(home: Path, embedder: str = "") -> Engine:
    return Engine(settings=load_settings(home, {"PAGEINDEX_EMBEDDING_MODEL": embedder, "PAGEINDEX_WORKERS": "1"}))


@pytest.fixture
def packed(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    model = getattr(request, "param", "hashed:64")
    engine = opened(tmp_path / "from", model)
    run(engine.index(MILL.encode(), name="mill.md", library="mills"))
    run(engine.models.embed(model, library="mills"))
    run(engine.libraries.export_to(tmp_path / "mills.zip", library="mills"))
    engine.close()
    return tmp_path / "mills.zip"


def vectors(engine: Engine) -> int:
    with engine._catalog().reading() as connection:
        return int(connection.exec_driver_sql("SELECT count(*) FROM embeddings").scalar_one())


@pytest.mark.parametrize("packed", ["hashed:64", "hashed-m3:64"], indirect=True)
def test_nothing_is_embedded_again(packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(packed) as bundle:
        model = json.loads(bundle.read("library.json"))["vectors"]["name"]
    engine = opened(packed.parent / "to", model)
    embedded: list[str] = []
    real = HashedEmbedder.embed
    monkeypatch.setattr(
        HashedEmbedder, "embed",
        lambda self, texts, kind: (embedded.extend(texts if kind == "document" else ()), real(self, texts, kind))[1],
    )  # fmt: skip
    made = run(engine.libraries.import_from(packed, name="arrived"))
    assert made.vectors == vectors(engine) >= 2 and made.note == ""
    run(engine.jobs.work(enough=lambda: True))
    found = run(engine.search("Who bought the mill?", library="arrived"))
    assert found.results[0].page == 1 and not [note for note in found.notes if "embedded" in note]
    assert not embedded and made.vectors == vectors(engine)
    engine.close()


@pytest.mark.parametrize(
    ("here", "why"),
    [("", "this home has no embedder"), ("hashed:32", "hashed:32 on this machine is a different one")],
)
def test_other_embedders_make_their_own(packed: Path, here: str, why: str) -> None:
    engine = opened(packed.parent / "to", here)
    made = run(engine.libraries.import_from(packed, name="arrived"))
    assert made.vectors == vectors(engine) == 0 and "hashed:64" in made.note and why in made.note
    assert made.documents == 1
    engine.close()


def test_vectors_that_are_none_spoil_the_file(packed: Path) -> None:
    spoilt = packed.with_name("spoilt.zip")
    with zipfile.ZipFile(packed) as whole, zipfile.ZipFile(spoilt, "w") as target:
        for name in whole.namelist():
            data = whole.read(name)
            target.writestr(name, data[:-7] if name == VECTORS else data)
    engine = opened(packed.parent / "to", "hashed:64")
    with pytest.raises(DocumentError, match="damaged"):
        run(engine.libraries.import_from(spoilt, name="arrived"))
    assert not run(engine.libraries.list())
    engine.close()
