"""A page found that says «see Note 7» leads on to it."""

from __future__ import annotations

from pathlib import Path

from hybrid_pageindex import Engine, run

_FILLER = "Nothing of interest stands in this long paragraph about weather and gulls. " * 60


def test_a_snippet_that_sends_on_says_where_to(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "accounts.md"
    file.write_text(
        "# Accounts of the harbour\n\n## Debt\n\nLong-term debt rose to 31 million (see Note 7 and Table 3). "
        f"See Appendix Q, which nobody wrote.\n\n{_FILLER}\n\n# Notes\n\n## Note 6: Leases\n\nLeases.\n\n{_FILLER}\n\n"
        f"## Note 7: Borrowings\n\nBorrowings are due in 2031.\n\n{_FILLER}\n\n## Tables\n\nTable 3: Ships\n\n"
    )
    run(engine.index(file))
    best = run(engine.search("How much did long-term debt rise to?")).results[0]
    assert best.page == 1
    seen = {one.written: one.page for one in best.see}
    notes = run(engine.search("Note 7")).results[0].page
    assert seen["Note 7"] == notes > 1
    assert set(seen) <= {"Note 7", "Table 3"}
    assert "see" not in run(engine.search("gulls")).to_dict()["results"][0]
