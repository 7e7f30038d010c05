"""What people made of a library survives its export and its import, equal."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from hybrid_core.types.documents import Document
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import load_settings
from tests.indexers.formats.test_archives import mail

MILL = b"# The mill\n\nThe mill was sold to the town in 1987.\n"
LETTER = mail(("report.md", "text/markdown", b"# Report\n\nOf the bridge.\n"))


def opened(home: Path) -> Engine:
    return Engine(settings=load_settings(home, {"PAGEINDEX_WORKERS": "1"}))


def by_name(engine: Engine, library: str) -> dict[str, Document]:
    return {one.name: one for one in run(engine.documents.list(library=library))}


def library_id(engine: Engine, name: str) -> str:
    with engine._catalog().snapshot() as snapshot:
        return snapshot.library(name).id


@pytest.fixture
def packed(tmp_path: Path) -> tuple[Engine, Path]:
    engine = opened(tmp_path / "from")
    folder = tmp_path / "files"
    (folder / "deep").mkdir(parents=True)
    (folder / "mill.md").write_bytes(MILL)
    (folder / "deep" / "copy.md").write_bytes(MILL)
    (folder / "offer.eml").write_bytes(bytes(LETTER))
    run(engine.index(folder, library="mills"))
    run(engine.index(b"# Field\n\nOf wheat.\n", name="field.md", library="mills"))
    run(
        engine.documents.edit(
            "mill.md", set={"year": "2008", "title": "About a mill", "tags": "old; sold"}, library="mills"
        )
    )
    if by_name(engine, "mills")["copy.md"].corrections:
        run(engine.documents.edit("copy.md", unset=["year", "title", "tags"], library="mills"))
    run(engine.documents.edit("offer.eml!/report.md", set={"organisation": "Bridges"}, library="mills"))
    library = library_id(engine, "mills")
    there = by_name(engine, "mills")
    engine.notes.add(library, "ann", "Library", "of it all")
    engine.notes.add(library, "ann", "Page", "of a page", there["mill.md"].doc_id, 1)
    engine.notes.add(library, "bob", "Upload", "of what was sent", there["field.md"].doc_id, 0)
    engine.notes.add(library, "bob", "Member", "of what is inside", there["offer.eml!/report.md"].doc_id, 1)
    engine.feedback.add(library, "ann", "Who?", there["mill.md"].path, 1, right=True, answer="The town.")
    engine.feedback.add(library, "ann", "When?", "", 0, right=False)
    run(engine.libraries.export_to(tmp_path / "mills.zip", library="mills"))
    return engine, tmp_path / "mills.zip"


def test_what_people_made_survives(packed: tuple[Engine, Path]) -> None:
    before, file = packed
    after = opened(file.parent / "to")
    run(after.libraries.import_from(file, name="arrived"))
    run(after.jobs.work(enough=lambda: True))
    old, new = by_name(before, "mills"), by_name(after, "arrived")
    assert {name: dict(one.corrections) for name, one in old.items()} == {
        name: dict(one.corrections) for name, one in new.items()
    }
    assert new["mill.md"].title == "About a mill" and new["mill.md"].card.years == (2008,)
    assert not new["copy.md"].corrections
    assert all(one.published and not one.error for one in new.values())
    same_place = {one.doc_id: new[name].doc_id for name, one in old.items()} | {"": ""}
    library, arrived = library_id(before, "mills"), library_id(after, "arrived")
    notes = [replace(one, library=arrived, id="", doc_id=same_place[one.doc_id]) for one in before.notes.all(library)]
    assert sorted(notes, key=repr) == sorted((replace(one, id="") for one in after.notes.all(arrived)), key=repr)
    paths = {one.path: new[name].path for name, one in old.items()} | {"": ""}
    feedback = [
        replace(one, library=arrived, id="", document=paths[one.document]) for one in before.feedback.all(library)
    ]
    assert sorted(feedback, key=repr) == sorted((replace(one, id="") for one in after.feedback.all(arrived)), key=repr)
    for engine in (before, after):
        engine.close()


def test_a_file_of_an_older_version_gives_places_as_well(packed: tuple[Engine, Path]) -> None:
    before, file = packed
    before.close()
    older = file.with_name("older.zip")
    with zipfile.ZipFile(file) as whole, zipfile.ZipFile(older, "w") as target:
        for name in whole.namelist():
            data = whole.read(name)
            if name == "library.json":
                manifest = json.loads(data)
                del manifest["corrections"]
                for one in (*manifest["notes"], *manifest["feedback"]):
                    del one["place"]
                data = json.dumps(manifest).encode()
            target.writestr(name, data)
    after = opened(file.parent / "to")
    run(after.libraries.import_from(older, name="arrived"))
    run(after.jobs.work(enough=lambda: True))
    new = by_name(after, "arrived")
    notes = {one.title: (one.doc_id, one.page) for one in after.notes.all(library_id(after, "arrived"))}
    assert notes == {
        "Library": ("", 0), "Page": (new["mill.md"].doc_id, 1), "Upload": (new["field.md"].doc_id, 0), "Member": ("", 0)
    }  # fmt: skip
    after.close()
