"""What lies in archives and mails is indexed as documents of their own, and goes with what it lies in."""

from __future__ import annotations

import asyncio
import sqlite3
import zipfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from hybrid_core.types.jobs import BEHIND, WANTED, WATCHED
from hybrid_pageindex import Engine, run
from tests.indexers.formats.packages import packed
from tests.indexers.formats.test_archives import mail

OFFER = mail(("report.md", "text/markdown", b"# Harvest\n\nElephants remember the harvest.\n"))


def paths(engine: Engine, root: Path) -> list[str]:
    return [document.path.removeprefix(f"{root}/") for document in run(engine.documents.list()) if document.published]


def kept(engine: Engine) -> list[Path]:
    return [file for file in (engine.home / "originals").rglob("*") if file.is_file()]


def statuses(engine: Engine, *given: Path) -> dict[str, str]:
    return {Path(file.path).name: file.status for file in run(engine.index(given)).files}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "offer.eml").write_bytes(bytes(OFFER))
    return folder


def zipped(path: Path, files: Mapping[str, str | bytes]) -> Path:
    return packed(path, files)


def test_each_member_is_a_document_with_an_address(engine: Engine, docs: Path) -> None:
    zipped(docs / "all.zip", {"mails/offer.eml": bytes(OFFER), "a/notes.md": "# Lighthouse\n\nKeepers sleep by day.\n"})
    report = run(engine.index(docs))
    assert not [file for file in report.files if file.status == "failed"]
    assert paths(engine, docs) == [
        "all.zip", "all.zip!/a/notes.md", "all.zip!/mails/offer.eml", "all.zip!/mails/offer.eml!/report.md",
        "offer.eml", "offer.eml!/report.md",
    ]  # fmt: skip
    assert len(kept(engine)) == 3  # a mail, its report and the notes: the same bytes are kept once
    best = run(engine.search("elephants remember the harvest")).results[0]
    assert best.doc_name in ("offer.eml!/report.md", "all.zip!/mails/offer.eml!/report.md")
    assert run(engine.documents.get("notes.md")).name == "all.zip!/a/notes.md"
    assert run(engine.search("keepers", documents=["all.zip!/a/notes.md"])).results[0].page == 1
    assert {file.status for file in run(engine.index(docs)).files} == {"unchanged"}


def test_members_go_with_what_they_lie_in(engine: Engine, docs: Path) -> None:
    zipped(docs / "all.zip", {"offer.eml": bytes(OFFER), "notes.md": "# Notes\n"})
    run(engine.index(docs))
    gone = run(engine.documents.remove(["all.zip"], for_good=True))
    assert [document.name for document in gone] == [
        "all.zip", "all.zip!/notes.md", "all.zip!/offer.eml", "all.zip!/offer.eml!/report.md",
    ]  # fmt: skip
    assert paths(engine, docs) == ["offer.eml", "offer.eml!/report.md"]
    assert len(kept(engine)) == 1
    (docs / "offer.eml").unlink()
    (docs / "all.zip").unlink()
    (docs / "other.md").write_text("# Other\n")
    report = run(engine.index(docs, prune=True))
    assert [Path(path).name for path in report.removed] == ["offer.eml", "report.md"]
    assert paths(engine, docs) == ["other.md"]
    run(engine.libraries.clear())
    assert not kept(engine)


def test_a_changed_archive_loses_what_is_gone_and_keeps_the_rest(engine: Engine, docs: Path) -> None:
    archive = zipped(docs / "all.zip", {"one.md": "# One\n", "two.md": "# Two\n"})
    run(engine.index(docs))
    two = run(engine.documents.get("two.md")).doc_id
    zipped(archive, {"two.md": "# Two\n", "three.md": "# Three\n"})
    told = statuses(engine, archive)
    assert told == {"all.zip": "indexed", "two.md": "unchanged", "three.md": "indexed"}
    assert [path for path in paths(engine, docs) if "!/" in path and "all" in path] == [
        "all.zip!/three.md", "all.zip!/two.md",
    ]  # fmt: skip
    assert run(engine.documents.get("two.md")).doc_id == two
    assert len(kept(engine)) == 3


def test_a_damaged_archive_loses_nothing(engine: Engine, docs: Path) -> None:
    archive = zipped(docs / "all.zip", {"one.md": "# One\n"})
    run(engine.index(docs))
    archive.write_bytes(archive.read_bytes()[:30])
    assert statuses(engine, archive) == {"all.zip": "failed", "one.md": "unchanged"}
    assert "all.zip!/one.md" in paths(engine, docs)


def test_a_moved_archive_takes_its_members_along(engine: Engine, docs: Path) -> None:
    run(engine.index(docs))
    before = {document.name: document.doc_id for document in run(engine.documents.list())}
    (docs / "offer.eml").rename(docs / "may.eml")
    run(engine.index(docs))
    after = {document.name: document.doc_id for document in run(engine.documents.list())}
    assert sorted(after) == ["may.eml", "may.eml!/report.md"]
    assert sorted(after.values()) == sorted(before.values())
    assert len(kept(engine)) == 1


def test_archives_in_archives_end_somewhere(engine: Engine, docs: Path) -> None:
    (docs / "offer.eml").unlink()
    inner = docs / "0.zip"
    zipped(inner, {"deep.md": "# Deep\n"})
    for level in range(1, 7):
        outer = docs / f"{level}.zip"
        with zipfile.ZipFile(outer, "w") as archive:
            archive.write(inner, inner.name)
        inner.unlink()
        inner = outer
    report = run(engine.index(docs))
    (told,) = [file.note for file in report.files if file.note]
    assert "3.zip inside it could not be read: the archive was not opened, because it is nested 3 levels deep" in told
    assert "max_nesting" in told
    assert len(paths(engine, docs)) == 4


def test_no_more_archives_are_opened_once_the_outermost_is_full(
    tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGEINDEX_MAX_ENTRIES", "5")
    inner = zipped(docs / "in.zip", {"deep.md": "# Deep\n"}).read_bytes()
    (docs / "in.zip").unlink()
    archive = zipped(docs / "all.zip", {f"{at}.zip": inner for at in range(4)})
    engine = Engine(tmp_path / "home")
    report = run(engine.index(archive))
    engine.close()
    told = next(file.note for file in report.files if file.path.endswith("all.zip"))
    assert "its outermost archive contains more files than the limit allows" in told
    assert sum("deep.md" in file.path for file in report.files) == 1


@pytest.mark.usefixtures("in_a_file")
def test_members_wait_behind_what_was_asked_for(engine: Engine, docs: Path) -> None:
    archive = zipped(docs / "all.zip", {f"{at}.md": f"# Number {at}\n" for at in range(3)})
    run(engine.index(archive))
    engine.close()
    with closing(sqlite3.connect(engine.home / "catalog.sqlite")) as catalog:
        rows = catalog.execute("SELECT subject, priority FROM jobs WHERE kind = 'index'").fetchall()
    urgency = {Path(subject).name: priority for subject, priority in rows}
    assert {urgency[f"{at}.md"] for at in range(3)} == {WANTED - BEHIND}
    assert urgency["all.zip"] == WANTED and WATCHED < WANTED - BEHIND


def test_what_cannot_be_read_inside_is_told(tmp_path: Path, docs: Path) -> None:
    archive = zipped(docs / "all.zip", {"one.md": "# One\n", "broken.pdf": b"%PDF-1.4 no", "tool.exe": b"MZ"})
    engine = Engine(tmp_path / "home")
    report = run(engine.index(archive))
    told = {Path(file.path).name: file for file in report.files}
    assert told["one.md"].status == "indexed" and told["broken.pdf"].status == "failed"
    assert "1 file was left out" in told["all.zip"].note and "1 .exe" in told["all.zip"].note
    engine.close()


def test_pages_of_members_are_drawn_and_checked(engine: Engine, docs: Path) -> None:
    from tests import pdfs

    source = pdfs.numbered(docs / "kelp.pdf", 2, "kelp")
    zipped(docs / "all.zip", {"kelp inside.pdf": source.read_bytes()})
    source.unlink()
    run(engine.index(docs))
    assert run(engine.pictures.page("kelp inside.pdf", 2)).startswith(b"\x89PNG")
    checks = run(engine.admin.doctor(deep=True)).checks
    assert all(check.ok for check in checks if "content" in check.name)


def test_an_update_looks_at_archives_and_leaves_out_what_was_removed(engine: Engine, docs: Path) -> None:
    archive = zipped(docs / "all.zip", {"one.md": "# One\n", "two.md": "# Two\n"})
    run(engine.index(docs))
    (told,) = run(engine.update())
    assert not (told.new or told.changed or told.gone)
    run(engine.documents.remove(["one.md"]))
    zipped(archive, {"one.md": "# One\n", "two.md": "# Two\n", "three.md": "# Three\n"})
    (told,) = run(engine.update())
    assert "all.zip!/one.md" not in paths(engine, docs) and "all.zip!/three.md" in paths(engine, docs)
    archive.unlink()
    (told,) = run(engine.update(prune=True))
    assert paths(engine, docs) == ["offer.eml", "offer.eml!/report.md"]


@pytest.mark.slow  # in the fast tier it would wait for a process that may not start
def test_a_worker_goes_on_with_what_lies_in_a_file(engine: Engine, docs: Path) -> None:
    assert run(engine.index(docs, detach=True)).files == ()

    async def worked() -> None:
        work = asyncio.create_task(engine.jobs.work())
        while len([document for document in await engine.documents.list() if document.published]) < 2:
            await asyncio.sleep(0.05)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)

    run(asyncio.wait_for(worked(), 240))
    assert paths(engine, docs) == ["offer.eml", "offer.eml!/report.md"]
