"""What is no file of the user's is indexed as one: standard input, bytes, files of the web; and originals are shown."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pymupdf
import pytest

from hybrid_core.errors import DocumentError, LimitError, UsageError
from hybrid_core.store.jobs.queue import JobQueue
from hybrid_core.store.notes import Highlight
from hybrid_core.types.jobs import Enqueued, JobRequest
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import load_settings
from hybrid_pageindex.engine.index.uploads import Upload, fetch, is_public, uploads_of
from tests import pdfs
from tests.conftest import Cli
from tests.doubles.web_pages import Pages, web_pages
from tests.indexers.formats.test_archives import mail

_NOTES = b"# Harvest\n\nElephants remember the harvest of kelp.\n"


def kept(engine: Engine) -> list[Path]:
    return [file for file in (engine.home / "originals").rglob("*") if file.is_file()]


def test_bytes_are_a_document_until_it_is_removed(engine: Engine) -> None:
    (file,) = run(engine.index(_NOTES, name="notes.md")).files
    assert (file.status, file.path) == ("indexed", "upload:/notes.md")
    assert run(engine.search("elephants")).results[0].doc_name == "notes.md"
    run(engine.index(_NOTES, name="copy.md"))
    assert len(kept(engine)) == 1
    run(engine.index(b"# Other\n\nNothing of the kind.\n", name="notes.md"))
    assert len(kept(engine)) == 2 and len(run(engine.documents.list())) == 2
    assert "Nothing" in run(engine.pages("notes.md", 1))[0].text
    run(engine.documents.remove(["copy.md"], for_good=True))
    assert len(kept(engine)) == 1
    assert run(engine.documents.original("notes.md")).read_bytes().startswith(b"# Other")
    run(engine.libraries.clear())
    assert not kept(engine)


def test_uploads_survive_prune_and_are_opened_like_files(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n")
    run(engine.index(bytes(mail(("report.md", "text/markdown", _NOTES))), name="odd/offer.eml"))
    run(engine.index(tmp_path / "docs", prune=True))
    names = [document.name for document in run(engine.documents.list())]
    assert names == ["a.md", "offer.eml", "offer.eml!/report.md"]
    assert all(check.ok for check in run(engine.admin.doctor(deep=True)).checks if "content" in check.name)


def test_an_upload_names_its_job_though_a_worker_was_quicker(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without a job is one that the library has already."""
    enqueue = JobQueue.enqueue

    def enqueue_and_work(queue: JobQueue, requests: Sequence[JobRequest], **options: str) -> list[Enqueued]:
        enqueued = enqueue(queue, requests, **options)
        with monkeypatch.context() as other:
            other.setattr(JobQueue, "enqueue", enqueue)
            run(engine.jobs.work(concurrency=1, enough=lambda: True))
        return enqueued

    def upload(*files: Upload) -> list[str]:
        before = {view.job.id for view in run(engine.jobs.list()).jobs}
        made = run(engine.upload(files)).files
        statuses = {view.job.id: view.job.status for view in run(engine.jobs.list()).jobs if view.job.id not in before}
        return [statuses[file.job or 0] for file in made]

    monkeypatch.setattr(JobQueue, "enqueue", enqueue_and_work)
    assert upload(Upload("notes.md", _NOTES), Upload("torn.pdf", b"%PDF-1.7 torn")) == ["done", "failed"]
    assert upload(Upload("notes.md", b"# Another harvest"), Upload("new.md", b"# New")) == ["done", "done"]
    assert upload(Upload("torn.pdf", b"%PDF-1.7 torn again")) == ["failed"]


def test_no_file_of_a_call_replaces_another(engine: Engine, tmp_path: Path) -> None:
    for folder in ("this", "that"):
        (tmp_path / folder / "docs").mkdir(parents=True)
        (tmp_path / folder / "docs" / "a.md").write_bytes(b"# Of " + folder.encode())
    of_folders = uploads_of([tmp_path / "this" / "docs", tmp_path / "that" / "docs"])
    for files in ([Upload("notes.md", _NOTES), Upload("notes.md", b"# Another harvest")], of_folders):
        with pytest.raises(UsageError, match="would replace the first"):
            run(engine.upload(files))
    assert len(run(engine.upload([Upload("notes.md", _NOTES)] * 2)).files) == 1
    assert not run(engine.jobs.list()).counts.failed


def test_bytes_need_a_name_and_nothing_else_does(engine: Engine) -> None:
    with pytest.raises(UsageError, match="no file name"):
        run(engine.index(_NOTES))
    with pytest.raises(UsageError, match="only uploaded bytes need a name"):
        run(engine.index("notes.md", name="other.md"))
    (file,) = run(engine.index(b"\x00\x01\x02", name="data.bin")).files
    assert file.status == "failed" and "not supported" in (file.error or "")


def test_standard_input(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hybrid_pageindex", "--home", str(tmp_path / "home"), "index", "-", "--json"]
    done = subprocess.run([*command, "--name", "notes.md"], input=_NOTES, capture_output=True, check=True)
    assert json.loads(done.stdout)["files"][0]["path"] == "upload:/notes.md"
    refused = subprocess.run(command, input=_NOTES, capture_output=True, check=False)
    assert refused.returncode == 2 and b"--name" in refused.stdout + refused.stderr


_ANSWERS: Pages = {
    "/report.md": (200, {"Content-Type": "text/markdown"}, _NOTES),
    "/page?id=3": (200, {"Content-Type": "text/html; charset=utf-8"}, b"<h1>Kelp</h1><p>Gulls."),
    "/feed": (200, {"Content-Type": "application/rss+xml"}, b"<rss><channel><title>Kelp</title></channel></rss>"),
    "/data": (200, {"Content-Type": "application/xml; charset=utf-8"}, b"<a><b>kelp</b></a>"),
    "/moved": (302, {"Location": "/report.md"}, b""),
    "/inside": (302, {"Location": "http://10.0.0.1/secret.md"}, b""),
    "/file": (302, {"Location": "file:///etc/passwd"}, b""),
    "/round": (302, {"Location": "/round"}, b""),
    "/tool": (200, {"Content-Type": "application/x-msdownload"}, b"MZ"),
    "/big.txt": (200, {"Content-Type": "text/plain"}, b"kelp " * 1000),
}


@pytest.fixture
def web() -> Iterator[str]:
    with web_pages(_ANSWERS) as host:
        yield f"http://{host}"


def _local(ip: str) -> bool:
    return ip == "127.0.0.1"


def test_a_file_of_the_web(web: str) -> None:
    host = web.removeprefix("http://")
    found = fetch(f"{web}/report.md", 10_000, _local)
    assert (found.address, found.data) == (f"web:/{host}/report.md", _NOTES)
    assert fetch(f"{web}/moved", 10_000, _local).data == _NOTES
    assert fetch(f"{web}/page?id=3", 10_000, _local).address == f"web:/{host}/page?id=3.html"
    assert fetch(f"{web}/feed", 10_000, _local).address == f"web:/{host}/feed.rss"
    assert fetch(f"{web}/data", 10_000, _local).address == f"web:/{host}/data.xml"


@pytest.mark.parametrize(
    ("path", "error", "said"),
    [
        ("/inside", DocumentError, "10.0.0.1 is not a public address"),
        ("/file", DocumentError, "not a web address that can be fetched"),
        ("/round", DocumentError, "redirects more than"),
        ("/tool", DocumentError, "application/x-msdownload are not supported"),
        ("/big.txt", LimitError, "max_download_size"),
        ("/nothing", DocumentError, "answered 404"),
    ],
)
def test_what_is_not_fetched(web: str, path: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        fetch(f"{web}{path}", 1000, _local)


@pytest.mark.parametrize(
    "ip",
    ["127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1", "::1",
     "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1", "255.255.255.255"],
)  # fmt: skip
def test_addresses_that_are_not_public(ip: str) -> None:
    assert not is_public(ip)


def test_public_addresses() -> None:
    assert is_public("93.184.216.34") and is_public("2606:2800:220:1:248:1893:25c8:1946")


def test_the_web_is_closed_unless_a_setting_opens_it(tmp_path: Path, web: str) -> None:
    engine = Engine(tmp_path / "home")
    with pytest.raises(UsageError, match="fetch_web"):
        run(engine.index(f"{web}/report.md"))
    engine.close()
    opened = Engine(settings=load_settings(tmp_path / "home", {"PAGEINDEX_FETCH_WEB": "public"}))
    (tmp_path / "a.md").write_text("# A\n")
    report = run(opened.index([f"{web}/report.md", tmp_path / "a.md"]))
    told = {file.path: file for file in report.files}
    assert told[str(tmp_path / "a.md")].status == "indexed"
    assert "not a public address" in (told[f"{web}/report.md"].error or "")
    opened.close()


def test_open_shows_the_original_at_its_page(tmp_path: Path, program: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    viewer = tmp_path / "bin" / ("open" if sys.platform == "darwin" else "xdg-open")
    viewer.parent.mkdir()
    viewer.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/shown\n')
    viewer.chmod(0o755)
    monkeypatch.setenv("PATH", str(viewer.parent), prepend=":")
    file = pdfs.numbered(tmp_path / "kelp.pdf", 3, "kelp")
    program("index", file)
    done = program("open", "kelp.pdf", "--page", 2)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "shown").read_text() == f"{file.as_uri()}#page=2\n"
    assert program("open", "kelp.pdf", "--page", 9).returncode != 0
    file.unlink()
    assert "the original file is missing" in program("open", "kelp.pdf").stderr


def test_highlights_are_written_into_a_copy_of_the_original(tmp_path: Path, program: Cli, engine: Engine) -> None:
    file, copy = tmp_path / "tides.pdf", tmp_path / "copy.pdf"
    with pymupdf.open() as made:
        made.new_page().insert_text((72, 100), ["The ebb is low.", "The ebb is high.", "The ebb is over."])
        made.save(file)
    before = file.read_bytes()
    lease = tmp_path / "lease.md"
    lease.write_text("# Lease\n\nThe quay is let.\n")
    run(engine.index([file, lease]))
    document = run(engine.documents.get("tides.pdf"))
    for quote, occurrence, text in (("ebb", 1, "Which one?"), ("never here", 0, "Lost")):
        highlight = Highlight(quote, occurrence, document.content_id)
        engine.notes.add(document.library, "ann", "", text, document.doc_id, 1, highlight)
    done = program("original", "tides.pdf", copy, "--highlights")
    assert done.returncode == 0, done.stderr
    with pymupdf.open(copy) as marked:
        page = marked[0]
        shown = {one.type[1]: (one.info["content"], one.rect) for one in page.annots()}
        assert shown["Highlight"][0] == "Which one?"
        second = page.search_for("ebb")[1]
        assert abs(shown["Highlight"][1].y0 - second.y0) < 4, "the second of three places"
        assert shown["Text"][0] == "never here\n\nLost", "words that are not on the page are kept as a note"
    assert file.read_bytes() == before
    assert f"The file {copy} already exists" in " ".join(program("original", "tides.pdf", copy).stderr.split())
    refused = program("original", "lease.md", tmp_path / "lease-copy.md", "--highlights")
    assert "PDF files only" in refused.stderr and not (tmp_path / "lease-copy.md").exists()
    program("original", "lease.md", tmp_path / "lease-copy.md")
    assert (tmp_path / "lease-copy.md").read_bytes() == lease.read_bytes()


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("n" * 300 + "1.md", "n" * 300 + "2.md"),
        ("f" * 200 + "1/a.md", "f" * 200 + "2/a.md"),
        ("b.md", "../b.md"),
        ("a/b.md", "a/../b.md"),
        ("a/b.md", "a//b.md"),
        ("a/b.md", "a\\b.md"),
        ("a\u202eb.md", "a_b.md"),
    ],
)
def test_names_that_differ_never_replace_each_other(engine: Engine, first: str, second: str) -> None:
    run(engine.index(b"# First\n\nOf dunlins.\n", name=first))
    run(engine.index(b"# Second\n\nOf plovers.\n", name=second))
    assert len(run(engine.documents.list())) == 2
    assert run(engine.search("dunlins")).results and run(engine.search("plovers")).results
    run(engine.index(b"# First again\n\nOf godwits.\n", name=first))
    assert len(run(engine.documents.list())) == 2, "the same name still replaces"
    assert run(engine.search("godwits")).results
    for document in run(engine.documents.list()):
        name = document.path.removeprefix("upload:/")
        assert Upload(name, b"").address == document.path, "an exported name is kept where it is imported"
