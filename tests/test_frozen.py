"""What is frozen: nothing of a document's words is kept, and no change of a score, an order or a shape goes unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frozen import records

FOUND = {
    "results": [
        {"page": 18, "score": 0.75, "snippet": "Purchases of property"},
        {"page": 13, "score": 0.5, "snippet": "a b"},
    ],
    "timings_ms": {"total": 8.1},
    "path": "/somewhere/else/report.pdf",
}


def frozen() -> dict[str, object]:
    return {"q1": records.condensed(FOUND, {"/somewhere/else": "here"})}


def test_words_are_hashed_and_what_passes_is_left_out() -> None:
    kept = frozen()["q1"]
    assert isinstance(kept, dict)
    assert kept["path"] == "here/report.pdf" and "timings_ms" not in kept
    assert "Purchases" not in str(kept) and kept["results"][0]["snippet"].startswith("#")


def test_what_was_kept_is_what_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_HERE", tmp_path)
    made = records.write("set", frozen()).read_bytes()
    assert records.read("set") == frozen()
    assert records.write("set", frozen()).read_bytes() == made
    assert not list(records.differences(records.read("set"), frozen()))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda q: q["results"].reverse(), "[0]/page"),
        (lambda q: q["results"].pop(), "/results"),
        (lambda q: q["results"][1].update(score=0.5 + 1e-8), "[1]/score"),
        (lambda q: q["results"][0].update(snippet="#00000000"), "[0]/snippet"),
        (lambda q: q["results"][0].pop("page"), "[0]/page: gone"),
        (lambda q: q.update(notes=[]), "/notes: new"),
    ],
)
def test_every_change_is_seen(change, place: str) -> None:  # type: ignore[no-untyped-def]
    now = frozen()
    change(now["q1"])
    assert any(place in difference for difference in records.differences(frozen(), now))


def test_another_order_of_additions_is_no_change() -> None:
    assert not list(records.differences({"score": 0.3}, {"score": 0.1 + 0.2}))


def test_no_word_of_a_document_or_a_question_is_kept() -> None:
    record = {
        "terms": {"revenu": 1.5, "总则": 0.5},
        "title": "第一章总则",
        "document": "Annual.pdf",
        "effort": "deep",
        "page": 7,
    }
    kept = records.wordless(record)
    assert not any(word in str(kept) for word in ("revenu", "总则", "Annual"))
    assert kept["effort"] == "deep" and kept["page"] == 7 and sorted(kept["terms"].values()) == [0.5, 1.5]
    assert records.wordless(kept["title"]) == kept["title"]
