"""Where a match stands in a file without pages of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from hybrid_core.errors import UsageError
from hybrid_core.types.documents import place_of
from hybrid_pageindex import Engine, run


@pytest.mark.parametrize(
    ("label", "places", "line", "place"),
    [
        ("slide 3", ((0, "slide 3 shape 1"), (4, "slide 3 shape 5")), 3, "slide 3 shape 1"),
        ("lines 81-120", (), 4, "line 85"), ("line 7", (), 0, "line 7"), ("iv", (), 4, ""), ("", (), 0, ""),
    ],
)  # fmt: skip
def test_the_place_of_a_line(label: str, places: tuple[tuple[int, str], ...], line: int, place: str) -> None:
    assert place_of(label, places, line) == place


def test_results_name_the_place_of_their_match(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "ships.csv").write_text("Ship,Berth\n" + "".join(f"Vessel {n},{n % 7}\n" for n in range(140)))
    (tmp_path / "guide.md").write_text("# Guide\n\nWords.\n\nThe lamp of the weir is trimmed at nine.\n")
    run(engine.index(tmp_path))
    [lamp, *_] = run(engine.search("weir lamp trimmed")).to_dict()["results"]
    assert (lamp["doc_name"], lamp["place"]) == ("guide.md", "line 5")
    [ship, *_] = run(engine.search("vessel 133")).to_dict()["results"]
    assert ship["label"] == ship["place"] or ship["place"].startswith("ships")
    for place in (ship["label"], ship["place"]):
        assert [page.page for page in run(engine.pages("ships.csv", place))] == [ship["page"]]
    assert [page.page for page in run(engine.pages("guide.md", "line 5"))] == [1]
    assert run(engine.documents.find_place("guide.md", "line 5", "The lamp of")).moved is False
    with pytest.raises(UsageError, match="is not a list of page numbers"):
        run(engine.pages("guide.md", "line 500"))
