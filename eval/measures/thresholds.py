"""Floors for measures, so that a build fails where quality falls: ``--fail-under hit@5=0.6``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hybrid_core.errors import UsageError

Floor = tuple[str, float]


def parse(text: str) -> Floor:
    """("hit@5", 0.6) of "hit@5=0.6". Raises UsageError where it is not MEASURE=NUMBER."""
    name, _, number = text.rpartition("=")
    try:
        floor = float(number)
    except ValueError:
        floor = math.nan
    if not name.strip() or not math.isfinite(floor):
        raise UsageError(f"--fail-under {text!r} is not MEASURE=NUMBER.", "Write it like --fail-under hit@5=0.6.")
    return name.strip(), floor


def shortfalls(run: str, measures: Mapping[str, float], floors: Sequence[Floor]) -> list[str]:
    """A sentence for each floor that the run does not reach. Raises UsageError for a measure the run does not have."""
    short = []
    for name, floor in floors:
        if name not in measures:
            known = ", ".join(sorted(measures)) or "none at all"
            raise UsageError(f"{run} has no measure {name!r}.", f"It has {known}.")
        if measures[name] < floor:
            short.append(f"{run}: {name} is {measures[name]:.3f}, under {floor:g}.")
    return short
