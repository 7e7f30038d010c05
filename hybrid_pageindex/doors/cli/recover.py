"""What a recovery kept and what is gone, as it is shown."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from rich.table import Table

from hybrid_core.text.plural import counted
from hybrid_pageindex.doors.cli import show
from hybrid_pageindex.doors.cli.index_progress import index_progress
from hybrid_pageindex.doors.cli.output import dump
from hybrid_pageindex.engine import Engine
from hybrid_pageindex.services.recovering import Kept, RecoveryReport

_CATALOG = {
    "whole": "The catalog is whole: it stays as it is.",
    "missing": "There was no catalog: a new one was made.",
    "damaged": "The catalog was damaged: a new one with all that could be read is in its place.",
}


async def recover(engine: Engine, options: argparse.Namespace) -> int:
    """Exit code 0: nothing is gone, 1: something is, or may be."""
    json = getattr(options, "json", False)
    with index_progress(json=json) as on_progress:
        report = await engine.recover(on_progress=on_progress)
    if json:
        dump(asdict(report) | {"complete": report.complete})
    else:
        _show(report)
    return 0 if report.complete else 1


def _show(report: RecoveryReport) -> None:
    print_line = show.console.print
    print_line(_CATALOG[report.catalog])
    if report.damaged:
        print_line(show.escape(f"The damaged one is kept: {report.damaged}"))
    shown = [kind for kind in report.kinds if kind.kept or kind.gone or not kind.complete]
    if shown:
        table = Table("", box=None, pad_edge=False)
        for title in ("kept", "partly", "gone"):
            table.add_column(title, justify="right")
        for kind in shown:
            table.add_row(kind.kind, f"{kind.kept:,}", f"{kind.partly:,}" if kind.partly else "", _gone(kind))
        show.tables().print(table)
    if report.indexed:
        print_line(f"{counted(report.indexed, 'document')} indexed again.")
    for path, why in report.failed:
        print_line(show.escape(f"Not indexed: {path} ({why})"))
    for note in report.notes:
        print_line(show.escape(f"Note: {note}."))
    print_line("Nothing is gone." if report.complete else "Something is gone, or may be.")


def _gone(kind: Kept) -> str:
    if kind.complete:
        return f"{kind.gone:,}"
    return f"{kind.gone:,} or more"
