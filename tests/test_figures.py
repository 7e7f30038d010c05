"""What the figures of the code hold, and that they see what they count."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.figures import paths, source

pytestmark = pytest.mark.slow


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions and for types count: they tie files together all the same."""
    assert source.circles() == []


def test_a_warm_search_runs_through_retrievers_and_not_through_indexers() -> None:
    touched = paths.warm_search()
    rooms = {Path(file).relative_to(source.ROOT).parts[0] for file, _, _ in touched}
    assert rooms == {"hybrid_core", "retrievers", "hybrid_pageindex"}
    assert all(first > 0 and not name.endswith(("<module>", "<listcomp>")) for _, first, name in touched)


def test_indexing_is_told_by_both_sides() -> None:
    asking, working = paths.indexing()
    assert any(name == "Engine.index" for _, _, name in asking)
    assert any(file.endswith("formats/pdf/read.py") for file, _, _ in working)


@pytest.mark.parametrize(
    ("written", "counted"),
    [
        ("def f(mmr): g(mmr)", 1),
        ("class C:\n    mmr: float = 1.0", 1),
        ("def f(o): g(mmr=o)\ndef h(p): p.add('--mmr')", 2),
        ("def f(request): return request.mmr * 2", 0),
    ],
)
def test_an_option_is_counted_where_it_is_written_out(
    written: str, counted: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hybrid_core").mkdir()
    (tmp_path / "hybrid_core" / "a.py").write_text(written)
    monkeypatch.setattr(source, "ROOT", tmp_path)
    assert len(source.places("mmr")) == counted
