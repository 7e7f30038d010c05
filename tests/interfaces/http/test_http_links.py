"""What lies below a root may be a link by now: nothing outside of the roots is read, nor given, through it."""

from __future__ import annotations

import io
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from hybrid_pageindex import Engine, run
from tests.interfaces.http.conftest import serving, until

SECRET = "# Payroll\n\nThe outsidesecretword is known to the accountant.\n"
PAGE = "# The mill\n\nThe mill was sold to the town in 1987.\n"


@dataclass
class Place:
    """A library «mills» of the folder ``shared``, which lies below the root; ``outside`` does not."""

    shared: Path
    outside: Path
    client: httpx.Client

    def names(self) -> set[str]:
        documents = self.client.get("/libraries/mills/documents").json()["documents"]
        return {one["name"] for one in documents if one["published"]}

    def leaked(self) -> bool:
        """Whether a search gives anything of the secret."""
        question = {"question": "outsidesecretword accountant payroll", "libraries": ["mills"]}
        found = self.client.post("/search", json=question)
        assert found.status_code == 200, found.text
        return any("accountant" in str(one) for one in found.json()["results"])

    def original(self, name: str) -> httpx.Response:
        documents = self.client.get("/libraries/mills/documents").json()["documents"]
        [doc_id] = [one["doc_id"] for one in documents if one["name"] == name]
        return self.client.get(f"/libraries/mills/documents/{doc_id}/original")

    def idle(self) -> bool:
        jobs = self.client.get("/jobs").json()["jobs"]
        return all(one["status"] in ("done", "failed", "cancelled") for one in jobs)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    shared, outside = tmp_path / "root" / "shared", tmp_path / "outside"
    (shared / "sub").mkdir(parents=True)
    outside.mkdir()
    (shared / "a.md").write_text(PAGE)
    (shared / "sub" / "b.md").write_text(PAGE + "\nIt was a windmill.\n")
    for name in ("a.md", "b.md", "s.md"):
        (outside / name).write_text(SECRET)
    with serving(tmp_path / "home", "--root", str(tmp_path / "root")) as served, served.client() as client:
        client.post("/libraries", json={"name": "mills"})
        asked = client.post("/libraries/mills/index", json={"paths": [str(shared)]})
        assert asked.status_code == 202, asked.text
        made = Place(shared, outside, client)
        until(lambda: made.names() == {"a.md", "b.md"})
        yield made


def swap_file(place: Place) -> None:
    (place.shared / "a.md").unlink()
    (place.shared / "a.md").symlink_to(place.outside / "a.md")


def swap_folder(place: Place) -> None:
    shutil.rmtree(place.shared / "sub")
    (place.shared / "sub").symlink_to(place.outside)


def test_an_original_is_given_only_as_it_was_indexed(place: Place) -> None:
    assert place.original("a.md").text == PAGE
    swap_file(place)
    swap_folder(place)
    for name in ("a.md", "b.md"):
        refused = place.original(name)
        assert refused.status_code == 422 and "outsidesecretword" not in refused.text
        assert "has changed since it was indexed" in refused.json()["error"]["message"]


def test_an_original_of_the_same_size_is_compared_too(place: Place) -> None:
    (place.outside / "a.md").write_text("x" * len(PAGE))
    swap_file(place)
    assert place.original("a.md").status_code == 422


def test_an_export_packs_only_what_was_indexed(place: Place) -> None:
    swap_file(place)
    swap_folder(place)
    (place.shared / "a.md").unlink()
    (place.shared / "a.md").write_text(PAGE)
    bundle = zipfile.ZipFile(io.BytesIO(place.client.get("/libraries/mills/export").content))
    packed = {name: bundle.read(name).decode() for name in bundle.namelist()}
    assert [text for name, text in packed.items() if name.startswith("files/")] == [PAGE]
    assert "outsidesecretword" not in "".join(packed.values())
    assert "has changed since it was indexed" in packed["library.json"]


def test_an_update_follows_no_link_out_of_the_root(place: Place) -> None:
    swap_file(place)
    swap_folder(place)
    (place.shared / "link.md").symlink_to(place.outside / "s.md")
    (place.shared / "more").symlink_to(place.outside)
    (place.shared / "new.md").write_text("# A new page\n\nThe newword is here.\n")
    updated = place.client.post("/libraries/mills/update", json={})
    assert updated.status_code == 202 and "outside the folders" in updated.text
    until(lambda: "new.md" in place.names() and place.idle())
    assert place.names() == {"a.md", "b.md", "new.md"} and not place.leaked()


def test_a_rebuild_follows_no_link_out_of_the_root(place: Place) -> None:
    swap_file(place)
    swap_folder(place)
    assert place.client.post("/libraries/mills/rebuild").status_code == 202
    until(place.idle)
    assert not place.leaked()


def test_a_rebuild_follows_no_link_out_of_a_source_outside_the_roots(tmp_path: Path) -> None:
    shared, outside = tmp_path / "shared", tmp_path / "outside"
    for folder in (shared, outside, tmp_path / "root"):
        folder.mkdir()
    (outside / "a.md").write_text(SECRET)
    (outside / "named.md").write_text(PAGE + "\nA link that was named is the owner's own choice.\n")
    for name in ("a.md", "b.md"):
        (shared / name).write_text(PAGE + name)
    (shared / "kept.md").symlink_to(shared / "b.md")
    (tmp_path / "named.md").symlink_to(outside / "named.md")
    engine = Engine(tmp_path / "home")
    run(engine.index([shared, tmp_path / "named.md"], library="mills"))
    engine.close()
    with serving(tmp_path / "home", "--root", str(tmp_path / "root")) as served, served.client() as client:
        place = Place(shared, outside, client)
        swap_file(place)
        (outside / "named.md").write_text(PAGE + "\nThe laterword is here.\n")
        client.post("/libraries/mills/rebuild").raise_for_status()
        until(place.idle)
        assert not place.leaked()
        failed = {Path(one["subject"]).name for one in client.get("/jobs").json()["jobs"] if one["status"] == "failed"}
        assert failed == {"a.md"}
        assert "laterword" in client.post("/search", json={"question": "laterword", "libraries": ["mills"]}).text


def test_a_retry_of_a_job_of_the_command_line_follows_no_link_out_of_the_root(tmp_path: Path) -> None:
    shared, outside = tmp_path / "root" / "shared", tmp_path / "outside"
    shared.mkdir(parents=True)
    outside.mkdir()
    (outside / "a.md").write_text(SECRET)
    (shared / "a.md").write_bytes(b"\0\1\2" * 50)
    engine = Engine(tmp_path / "home")
    assert [file.status for file in run(engine.index([shared], library="mills")).files] == ["failed"]
    engine.close()
    with serving(tmp_path / "home", "--root", str(tmp_path / "root")) as served, served.client() as client:
        place = Place(shared, outside, client)
        swap_file(place)
        [job] = client.get("/jobs").json()["jobs"]
        assert client.post(f"/jobs/{job['id']}/retry").json()["jobs"] == [job["id"]]
        until(place.idle)
        [job] = client.get("/jobs").json()["jobs"]
        assert job["status"] == "failed" and not place.leaked()


def test_a_folder_that_became_a_link_itself_is_not_looked_at(place: Place) -> None:
    shutil.rmtree(place.shared)
    place.shared.symlink_to(place.outside)
    updated = place.client.post("/libraries/mills/update", json={})
    assert "outside the folders" in updated.text and "s.md" not in updated.text
    until(place.idle)
    assert place.names() == {"a.md", "b.md"} and not place.leaked()


def test_a_watched_folder_gives_nothing_from_outside(place: Place) -> None:
    assert place.client.post("/libraries/mills/sources", json={"folder": str(place.shared)}).status_code == 201
    swap_file(place)
    (place.shared / "link.md").symlink_to(place.outside / "s.md")
    (place.shared / "new.md").write_text("# A new page\n\nThe newword is here.\n")
    until(lambda: "new.md" in place.names() and place.idle())
    assert place.names() == {"a.md", "b.md", "new.md"} and not place.leaked()
