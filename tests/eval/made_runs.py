"""Run folders for the tests of comparison and report, written by the harness's own functions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eval.records.questions import RankedPage
from eval.records.runs import GoldPlace, QuestionRecord, RunHead, append, write_head

GOLD = "acme.pdf"


def record(id: str, rank: int | None, **others: Any) -> QuestionRecord:
    """A question whose gold page 7 of acme.pdf came at ``rank``, from 1, or not at all, among twenty results."""
    pages = [RankedPage("other.pdf", 100 + place, 20.0 - place, "0003", (90, 130), "words") for place in range(20)]
    if rank is not None:
        pages[rank - 1] = RankedPage(GOLD, 7, 21.0 - rank, "0001", (5, 9), "capital expenditure was 12")
    given: dict[str, Any] = {
        "question": f"What of {id}?", "gold": (GoldPlace(GOLD, 7, "0001"),), "pages": tuple(pages),
        "documents": tuple(dict.fromkeys(page.document for page in pages)),
        "stage": "hit" if rank is not None and rank <= 5 else "not ranked" if rank else "wrong document",
        "timings_ms": {"total": 10.0 + len(id), "coarse": 2.0},
    }  # fmt: skip
    return QuestionRecord(id=id, **given | others)


def run_folder(folder: Path, records: list[QuestionRecord], **head: Any) -> Path:
    """A finished run that asked these."""
    facts: Mapping[str, Any] = {
        "dataset": "custom", "setting": "library", "ranker": "engine", "options": {"depth": 20},
        "engine": {"version": "0.1.0"}, "settings": {"effort": "low"}, "machine": {"cpus": 2},
        "index": {"seconds": 3.5, "pages": 120, "reused": False}, "started": "2026-01-01T00:00:00+00:00",
        "finished": "2026-01-01T00:01:00+00:00",
    }  # fmt: skip
    write_head(folder, RunHead(**facts | head))
    for each in records:
        append(folder, each)
    return folder
