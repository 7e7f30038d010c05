"""The tool that shows what is being indexed, and decides about it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastmcp import FastMCP

from hybrid_core.errors import UsageError
from hybrid_pageindex.doors.mcp import budget
from hybrid_pageindex.doors.mcp.door import Door, short, told
from hybrid_pageindex.doors.mcp.shapes import schema, without_empty
from hybrid_pageindex.services.jobs import JobView

Action = Literal["list", "show", "pause", "resume", "cancel", "retry", "forget", "rebuild"]
_MOST = 50
_MOST_JOBS = 100
_EVENTS = 20  # of a job, the newest


def register(server: FastMCP, door: Door) -> None:
    usual = door.engine.settings.library

    @server.tool(
        annotations={"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
        output_schema=schema(jobs="a", said="s?"),
    )
    @told
    async def jobs(
        action: Action = "list",
        jobs: Annotated[tuple[int, ...], "Else all of library"] = (),
        documents: tuple[str, ...] = (),
        library: str = "",
    ) -> dict[str, Any]:
        """What is indexed and what waits; decide about it. rebuild makes documents anew."""
        if len(jobs) > _MOST_JOBS:
            raise UsageError(f"{len(jobs)} jobs are named.", f"Name at most {_MOST_JOBS}.")
        if action == "list":
            found = await door.engine.jobs(library=short("library", library) or None, most=_MOST)
            paused = f"paused: {', '.join(found.paused)}" if found.paused else ""
            return {"jobs": budget.fitting(map(_job, found.jobs), door.budget)} | without_empty({"said": paused})
        if action == "show":
            each = [await door.engine.job(number) for number in jobs]
            shown = (_job(one.view) | {"events": _events(one.to_dict())} for one in each)
            return {"jobs": budget.fitting(shown, door.budget)}
        door.access.check_writing()
        if action == "rebuild":
            names = [short("document", name) for name in documents]
            report = await door.engine.rebuild(names, library=library or (None if names else usual), detach=True)
            return {"jobs": [], "said": "; ".join(report.notes)}
        meant = {"library": library or usual} if not jobs else {}
        decided = await getattr(door.engine, action)(*jobs, **meant)
        return {"jobs": list(decided.jobs), "said": decided.said}


def _job(view: JobView) -> dict[str, Any]:
    job = view.job
    return {"job": job.id, "library": view.library, "kind": job.kind, "subject": job.subject, "state": view.state}


def _events(history: dict[str, Any]) -> list[str]:
    return [f"{event['at']} {event['kind']} {event.get('cause', '')}".strip() for event in history["events"][-_EVENTS:]]
