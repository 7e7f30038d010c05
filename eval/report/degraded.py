"""The report's first table: how many records say less than they seem to."""

from __future__ import annotations

from collections.abc import Sequence

from eval.report.summary import Summary
from eval.report.table import Table, number, text


def degradation(summaries: Sequence[Summary]) -> Table:
    """Degraded records by what they lack; no rows where no run has any."""
    rows = [
        (
            text(one.run), number(one.questions), number(len(found)), number(sum(bool(d.error) for d in found)),
            number(sum(bool(d.search) for d in found)), number(sum(bool(d.answer) for d in found)),
            number(sum(bool(d.judge) for d in found)),
        )
        for one in summaries
        if (found := one.degraded)
    ]  # fmt: skip
    columns = ("run", "questions", "degraded", "failed", "search without its model", "answer failed", "not judged")
    note = (
        "Degraded records count as they are: their figures are of less than was asked for. The same command asks again."
    )
    return Table("Degraded records", columns, tuple(rows), note if rows else "")
