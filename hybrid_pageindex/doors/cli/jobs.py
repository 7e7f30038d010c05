"""What is being indexed and what waits, as it is shown, and what is decided about it."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from hybrid_pageindex.doors.cli import show
from hybrid_pageindex.doors.cli.output import dump
from hybrid_pageindex.engine import Engine

if TYPE_CHECKING:
    from hybrid_pageindex.services.jobs import JobHistory, JobList

_COLOURS = {"failed": "red", "running": "green", "cancelled": "yellow"}
_LONGEST = 100  # characters of a detail
_QUIET = ("at", "kind")


async def jobs(engine: Engine, options: argparse.Namespace) -> int:
    json, library = getattr(options, "json", False), getattr(options, "library", None)
    if options.action in (None, "list"):
        found = await engine.jobs(
            library=library, status=getattr(options, "status", ()), most=getattr(options, "most", 50)
        )
        dump(found.to_dict()) if json else _show_list(found)
    elif options.action == "show":
        history = await engine.job(options.job)
        dump(history.to_dict()) if json else _show_history(history)
    else:
        decide = getattr(engine, options.action)
        decided = await decide(*options.jobs, library=library, everything=options.all)
        dump(asdict(decided)) if json else show.console.print(show.escape(decided.said))
    return 0


def _show_list(found: JobList) -> None:
    if found.jobs:
        table = Table(box=None, pad_edge=False)
        table.add_column("job", justify="right")
        for column in ("library", "what", "state"):
            table.add_column(column, overflow="fold")
        for view in found.jobs:
            colour = _COLOURS.get(view.job.status)
            state = show.escape(view.state)
            table.add_row(
                str(view.job.id), show.escape(view.library), show.escape(_named(view.job.kind, view.job.subject)),
                f"[{colour}]{state}[/]" if colour else state,
            )  # fmt: skip
        show.tables().print(table)
    counts = found.counts
    said = [f"{getattr(counts, name)} {name}" for name in ("running", "waiting", "failed") if getattr(counts, name)]
    show.console.print(", ".join(said) or "Nothing runs or waits.")
    if found.paused:
        show.console.print(f"[yellow]paused[/] {show.escape(', '.join(found.paused))}: jobs resume")


def _show_history(history: JobHistory) -> None:
    view = history.view
    show.console.print(f"[bold]job {view.job.id}[/] {show.escape(view.job.kind)} {show.escape(view.job.subject)}")
    show.console.print(f"library {show.escape(view.library)}\nstate   {show.escape(view.state)}")
    for event in history.to_dict()["events"]:
        detail = ", ".join(f"{name} {value}" for name, value in event.items() if name not in _QUIET)
        said = detail if len(detail) <= _LONGEST else detail[: _LONGEST - 1] + "…"
        show.console.print(f"  {event['at']}  {event['kind']:<9} {show.escape(said)}")


def _named(kind: str, subject: str) -> str:
    return Path(subject).name if kind == "index" else f"{kind} {subject}"
