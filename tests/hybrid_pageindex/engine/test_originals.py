"""A copy of an original serves the next pages too, and never stays where it must not."""

from __future__ import annotations

from pathlib import Path

import pymupdf
import pytest

from hybrid_core.errors import DocumentError
from hybrid_pageindex import Engine, run
from hybrid_pageindex.engine.documents import originals


def copies(engine: Engine) -> list[Path]:
    return [path for path in (engine.home / "tmp").rglob("*.pdf") if path.is_file()]


@pytest.fixture
def report(engine: Engine, tmp_path: Path) -> Path:
    file = tmp_path / "report.pdf"
    with pymupdf.open() as made:
        for number in (1, 2):
            made.new_page().insert_text((50, 60), f"Soundings of bay {number}")
        made.save(file)
    run(engine.index(file))
    return file


def test_one_copy_serves_several_pages_and_goes_with_its_document(engine: Engine, report: Path) -> None:
    first, second = (run(engine.pictures.page("report.pdf", page)) for page in (1, 2))
    assert first != second
    [copy] = copies(engine)
    assert copy.read_bytes() == report.read_bytes()
    run(engine.documents.remove(["report.pdf"]))
    assert copies(engine) == []


def test_a_copy_goes_when_nobody_asks_for_a_while(
    engine: Engine, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(originals, "_KEPT_SECONDS", 0.0)
    run(engine.pictures.page("report.pdf", 1))
    assert copies(engine) == []


def test_a_changed_file_is_not_shown_for_what_was_indexed(engine: Engine, report: Path) -> None:
    run(engine.pictures.page("report.pdf", 1))
    report.write_bytes(report.read_bytes() + b"\n% more\n")
    with pytest.raises(DocumentError, match="the file has changed since it was indexed"):
        run(engine.pictures.page("report.pdf", 2))
