"""A name that no file can have is said to be none, wherever one can be typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_core.errors import DocumentError, NotFoundError, PageIndexError, UsageError
from hybrid_pageindex import Engine, run
from hybrid_pageindex.mcp.access import Access

LONG = "x" * 300


def test_the_other_files_are_indexed(engine: Engine, filings: list[Path]) -> None:
    report = run(engine.index([f"{LONG}.pdf", filings[0]], workers=1))
    assert {Path(file.path).name: file.status for file in report.files} == {
        f"{LONG}.pdf": "failed",
        filings[0].name: "indexed",
    }
    with pytest.raises(NotFoundError):
        run(engine.search("net sales", documents=[f"{LONG}.pdf"]))
    for expert in (LONG, f"{LONG}.yaml", ",".join(["finance"] * 50)):
        try:
            run(engine.search("net sales", expert=expert))
        except PageIndexError:
            continue


def test_a_home_and_a_file_for_agents(tmp_path: Path) -> None:
    with pytest.raises(PageIndexError):
        run(Engine(tmp_path / LONG).libraries.list())
    access = Access.of([str(tmp_path)], read_only=False)
    with pytest.raises((DocumentError, UsageError)):
        access.file(f"{LONG}.pdf")
