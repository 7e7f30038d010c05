"""A home that lies among the documents: what is its own is never indexed."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_pageindex import Engine, run


@pytest.mark.parametrize("place", ["", "home", "work/index/home"])
def test_a_home_among_the_documents_is_not_indexed(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "papers"
    (folder / "data").mkdir(parents=True)
    (folder / "mill.md").write_text("# The mill\n\nIt was sold in 1987.\n")
    (folder / "data" / "rates.json").write_text('{"rate": 4.5, "year": 1987}')
    engine = Engine(folder / place)
    run(engine.index(b"# Upload\n\nKept in the home.\n", name="upload.md"))
    run(engine.search("mill"))
    for _ in range(2):
        report = run(engine.index(folder))
        assert sorted(Path(file.path).name for file in report.files) == ["mill.md", "rates.json"]
    engine.close()
    assert {document.name for document in run(engine.documents.list())} == {"mill.md", "rates.json", "upload.md"}
    engine.close()


def test_folders_with_the_names_of_a_home_elsewhere_are_read(tmp_path: Path) -> None:
    for name in ("libraries", "originals", "words"):
        (tmp_path / "papers" / name).mkdir(parents=True)
        (tmp_path / "papers" / name / f"{name}.md").write_text(f"# {name}\n")
    engine = Engine(tmp_path / "home")
    report = run(engine.index(tmp_path / "papers"))
    engine.close()
    assert len(report.files) == 3
