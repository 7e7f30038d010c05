"""Documents made anew from their files: one, a library, everything."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from sqlalchemy import text

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.types.documents import Document
from hybrid_pageindex import Engine, run
from tests.conftest import Cli


def contents(engine: Engine, library: str | None = None) -> dict[str, str]:
    return {document.name: document.content_id for document in run(engine.documents.list(library=library))}


def spoil(engine: Engine, document: Document) -> None:
    """Let its stored text be another than its file's."""
    with engine._catalog().writing() as direct:
        statement = text("UPDATE pages SET text = 'nothing' WHERE content_id = :content")
        direct.execute(statement, {"content": document.content_id})


def test_what_is_stored_of_a_document_is_made_anew_and_serves_until_then(engine: Engine, filings: list[Path]) -> None:
    run(engine.index(filings[:2], workers=1))
    before, first = contents(engine), run(engine.documents.list())[0]
    text = run(engine.pages(first.doc_id, 1))[0].text
    spoil(engine, first)
    assert run(engine.index(filings[:2], check_hashes=True, workers=1)).files[0].status == "unchanged"
    assert run(engine.pages(first.doc_id, 1))[0].text == "nothing"
    report = run(engine.documents.rebuild(first.name, workers=1))
    assert [(file.path, file.status) for file in report.files] == [(first.path, "indexed")]
    after = contents(engine)
    assert after[first.name] != before[first.name], "readers know a content by its id as one that does not change"
    assert {name: id for name, id in after.items() if name != first.name} == {
        name: id for name, id in before.items() if name != first.name
    }
    assert run(engine.pages(first.doc_id, 1))[0].text == text
    assert run(engine.search("net sales")).results and run(engine.admin.doctor()).ok


def test_the_same_bytes_in_two_libraries_are_made_anew_for_both(engine: Engine, filings: list[Path]) -> None:
    run(engine.index(filings[0], library="a", workers=1))
    run(engine.index(filings[0], library="b", workers=1))
    assert contents(engine, "a") == contents(engine, "b")
    run(engine.search("net sales", library="b"))
    run(engine.documents.rebuild(library="a", workers=1))
    assert contents(engine, "a") == contents(engine, "b")
    for name in ("a", "b"):
        assert run(engine.search("net sales", library=name)).results
    assert run(engine.admin.doctor()).ok


def test_a_file_that_is_gone_keeps_what_is_published(engine: Engine, filings: list[Path], tmp_path: Path) -> None:
    file = Path(shutil.copy(filings[0], tmp_path / "gone.pdf"))
    run(engine.index(file, workers=1))
    file.unlink()
    report = run(engine.documents.rebuild(everything=True, workers=1))
    assert [(file.status, file.error) for file in report.files] == [("failed", "no such file or folder.")]
    assert run(engine.search("net sales")).results


def test_what_is_meant_has_to_be_said(engine: Engine, filings: list[Path]) -> None:
    run(engine.index(filings[0], workers=1))
    for call in (
        engine.documents.rebuild(),
        engine.documents.rebuild("x", everything=True),
        engine.documents.rebuild(library="l", everything=True),
    ):
        with pytest.raises(UsageError, match="does not say what to rebuild"):
            run(call)
    with pytest.raises(NotFoundError):
        run(engine.documents.rebuild("no such document"))
    with pytest.raises(NotFoundError):
        run(engine.documents.rebuild(library="nowhere"))


def test_it_can_be_left_to_workers_from_the_command_line(engine: Engine, filings: list[Path], program: Cli) -> None:
    run(engine.index(filings[:2], library="reports", workers=1))
    before = contents(engine, "reports")
    left = program("rebuild", "--library", "reports", "--detach", "--json")
    assert left.returncode == 0 and "2 files left to workers" in json.loads(left.stdout)["notes"][0]
    assert [view.job.options["anew"] for view in run(engine.jobs.list(status=["waiting"])).jobs] == [True, True]
    run(engine.jobs.work(concurrency=1, enough=lambda: True))
    after = contents(engine, "reports")
    assert after.keys() == before.keys() and not set(after.values()) & set(before.values())
    assert program("rebuild").returncode == 2
