"""Going on with a run that was stopped."""

from __future__ import annotations

from pathlib import Path

from eval.records.runs import RUN_FILE, RunHead, drop_torn_line, read_head
from eval.runs.machine import engine_code
from eval.runs.plan import Plan
from hybrid_core.errors import UsageError


def resumed(folder: Path, plan: Plan) -> RunHead | None:
    """The head of the run that the folder holds. Raises UsageError where it was made with other options or code."""
    if not (folder / RUN_FILE).exists():
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(f"{folder} is not empty and holds no run.", "Name a new folder with --out.")
        return None
    head, wanted = read_head(folder), plan.options
    differ = sorted(name for name in {*head.options, *wanted} if head.options.get(name) != wanted.get(name))
    if differ:
        said = "; ".join(f"{name} was {head.options.get(name)!r}, not {wanted.get(name)!r}" for name in differ)
        raise UsageError(f"{folder} holds a run with other options: {said}.", "Name a new folder with --out.")
    if not head.finished and head.engine != engine_code():
        raise UsageError(
            f"{folder} was begun with another state of the engine ({head.engine}).", "Name a new folder with --out."
        )
    drop_torn_line(folder)
    return head
