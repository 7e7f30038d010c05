"""What models took, as it is shown."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from rich.table import Table

from hybrid_pageindex.doors.cli import show
from hybrid_pageindex.doors.cli.output import dump
from hybrid_pageindex.engine import Engine
from hybrid_pageindex.services.spending import UsageReport


async def usage(engine: Engine, options: argparse.Namespace) -> int:
    found = await engine.model_usage(options.since, options.until)
    if getattr(options, "json", False):
        dump(asdict(found))
        return 0
    names = {one.id: one.name for one in await engine.named_libraries()}
    _show(found, names)
    return 0


def _show(found: UsageReport, names: dict[str, str]) -> None:
    if found.days:
        table = Table("day", "model", "library", "who", box=None, pad_edge=False)
        for title in ("calls", "in", "out", "cost"):
            table.add_column(title, justify="right")
        for one in found.days:
            said = (one.day, one.model, names.get(one.library, one.library), one.who)
            cost = "no price" if one.unpriced else f"{one.cost:.4f}"
            numbers = (f"{one.calls:,}", f"{one.input_tokens:,}", f"{one.output_tokens:,}", cost)
            table.add_row(*map(show.escape, said), *numbers)
        show.tables().print(table)
    else:
        show.console.print("No model was asked.")
    of = f" of {found.monthly_spending:g}" if found.monthly_spending else ""
    tokens = f" of {found.monthly_tokens:,}" if found.monthly_tokens else ""
    show.console.print(
        f"This month: {found.month_cost:.2f}{of} spent; {found.month_unpriced:,}{tokens} tokens without a price."
    )
    for note in found.notes:
        show.console.print(show.escape(f"Note: {note}."))
