"""Two machines that share a catalog, a bucket and nothing else: two homes, each with paths of its own."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hybrid_core.errors import DocumentError, PageIndexError, UsageError
from hybrid_core.store.home import ORIGINALS
from hybrid_core.store.jobs.workers import Workers
from hybrid_core.types.jobs import Worker
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import load_settings
from hybrid_pageindex.services.taking_in import Upload
from tests import buckets, pdfs, postgres

pytestmark = pytest.mark.slow
Machines = tuple[Engine, Engine]


@pytest.fixture
def machines(tmp_path: Path, postgres_url: str) -> Iterator[Machines]:
    """One that is asked, and one that works."""
    url = postgres.new_database(postgres_url)
    with buckets.bucket() as address:
        shared = buckets.variables(address) | {"PAGEINDEX_POSTGRES_URL": url, "PAGEINDEX_OBJECTS_LINKS": "signed"}
        made = [
            Engine(
                settings=load_settings(tmp_path / name, {**shared, "PAGEINDEX_MACHINE": name, "PAGEINDEX_WORKERS": "1"})
            )
            for name in ("alpha", "beta")
        ]
        yield made[0], made[1]
        for engine in made:
            engine.close()


def states(engine: Engine) -> list[str]:
    return [view.state for view in run(engine.jobs()).jobs]


def work(engine: Engine) -> None:
    run(engine.work(enough=lambda: True))


def found(engine: Engine, word: str) -> list[tuple[str, int]]:
    return [(page.doc_name, page.page) for page in run(engine.search(word)).results]


def test_what_is_uploaded_on_one_is_indexed_on_the_other_and_read_on_both(machines: Machines, tmp_path: Path) -> None:
    alpha, beta = machines
    data = pdfs.numbered(tmp_path / "made.pdf", 2, "albatross").read_bytes()
    run(alpha.upload([Upload("tides/albatross.pdf", data)]))
    assert not (beta.home / ORIGINALS).exists()
    work(beta)
    assert states(alpha) == ["done"]
    assert found(alpha, "albatross") == found(beta, "albatross") != []
    kept = f"{hashlib.sha256(data).hexdigest()}.pdf"
    assert [file.name for file in (beta.home / ORIGINALS).glob("*/*")] == [kept]

    first = run(alpha.page_image("albatross.pdf", 1))
    for file in (beta.home / ORIGINALS).glob("*/*"):
        file.unlink()
    assert run(beta.page_image("albatross.pdf", 1)) == first
    assert not list((beta.home / ORIGINALS).glob("*/*")), "the picture was in the bucket"
    assert run(beta.original("albatross.pdf")).read_bytes() == data
    link = run(beta.original_link("albatross.pdf"))
    assert link is not None and kept in link and "X-Amz-Signature" in link

    assert len(run(alpha.remove(["albatross.pdf"]))) == 1
    assert list(alpha._catalog().objects.names()) == []


def test_a_file_of_one_machine_is_read_there_and_nowhere_else(machines: Machines, tmp_path: Path) -> None:
    alpha, beta = machines
    folder = tmp_path / "documents"
    folder.mkdir()
    file = pdfs.numbered(folder / "curlew.pdf", 2, "curlew")
    run(alpha.index(folder, detach=True))
    work(beta)
    assert states(beta) == ["waiting for a worker: none runs (hybrid-pageindex worker)"]
    Workers(beta._catalog()).register(Worker("w", "there", 1, "worker", frozenset({"machine:beta"})))
    assert states(beta)[0].startswith("waiting for a worker that has machine:alpha")
    work(alpha)
    assert states(beta) == ["done"] and found(beta, "curlew")

    # the same path on the other machine is another file
    for path in (folder, file, tmp_path):
        with pytest.raises(UsageError, match="is known of the machine alpha"):
            run(beta.index(path))
    with pytest.raises(PageIndexError, match="remembers no folder or file"):
        run(beta.update())
    assert [(one.path, one.machine) for one in run(beta.sources())] == [(str(folder), "alpha")]
    # the same bytes elsewhere on it have not moved there: alpha has its file
    file.rename(tmp_path / "aside.pdf")
    copy = tmp_path / "copy.pdf"
    copy.write_bytes((tmp_path / "aside.pdf").read_bytes())
    assert [one.status for one in run(beta.index(copy)).files] == ["indexed"]
    assert {one.path for one in run(alpha.documents())} == {str(file), str(copy)}
    # where both see the same files they have one name
    beta.settings = replace(beta.settings, machine="alpha")
    (tmp_path / "aside.pdf").rename(file)
    assert [one.status for one in run(beta.index(folder)).files] == ["unchanged"]


def test_a_folder_is_uploaded_by_its_name(machines: Machines, tmp_path: Path) -> None:
    alpha, beta = machines
    folder = tmp_path / "reports" / "2024"
    folder.mkdir(parents=True)
    pdfs.numbered(folder / "dunlin.pdf", 1, "dunlin")
    run(alpha.index(folder.parent, upload=True, detach=True))
    work(beta)
    assert states(alpha) == ["done"] and run(alpha.sources()) == []
    (document,) = run(beta.documents())
    assert document.path == "upload:/reports/2024/dunlin.pdf" and (folder / "dunlin.pdf").exists()


def test_originals_that_are_gone_from_the_bucket_are_said(machines: Machines, tmp_path: Path) -> None:
    alpha, beta = machines
    data = pdfs.numbered(tmp_path / "made.pdf", 1, "albatross").read_bytes()
    run(alpha.upload([Upload("albatross.pdf", data), Upload("second.pdf", data + b"\n")]))
    objects = alpha._catalog().objects
    objects.delete(f"{hashlib.sha256(data).hexdigest()}.pdf")
    work(beta)
    assert sorted(states(beta)) == ["done", "failed: its bytes are not kept any more."]
    failed = next(view.job for view in run(beta.jobs()).jobs if view.job.status == "failed")
    assert failed.subject.endswith("albatross.pdf")


def test_originals_of_a_home_are_brought_to_the_bucket(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alpha, beta = machines
    monkeypatch.setenv("PAGEINDEX_POSTGRES_URL", alpha.settings.postgres_url)
    before = Engine(tmp_path / "alpha")
    data = pdfs.numbered(tmp_path / "made.pdf", 1, "albatross").read_bytes()
    run(before.index(data, name="albatross.pdf"))
    before.close()
    with pytest.raises(DocumentError, match="is gone"):
        run(beta.original("albatross.pdf"))
    assert [run(alpha.upload_originals()) for _ in range(2)] == [1, 1]
    assert run(beta.original("albatross.pdf")).read_bytes() == data
    again = Engine(tmp_path / "alpha")  # without the bucket
    with pytest.raises(UsageError, match="Set PAGEINDEX_OBJECTS_URL"):
        run(again.index(data, name="curlew.pdf"))
    again.close()
