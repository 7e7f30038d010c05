"""A stage: a callable with a name. It is given a state and gives the next one."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile

from hybrid_core.errors import UsageError
from retrievers.pipeline.state import SearchState


@dataclass(frozen=True, slots=True)
class Stage:
    """``name`` is what its time is told under, and what it adds to pages."""

    name: str
    work: Callable[[SearchState], SearchState]

    def __call__(self, state: SearchState) -> SearchState:
        return self.work(state)


Stages = Sequence[Stage]


def stage(name: str) -> Callable[[Callable[[SearchState], SearchState]], Stage]:
    """Makes a function a stage."""
    return lambda work: Stage(name, work)


def run_stages(stages: Stages, state: SearchState) -> tuple[SearchState, dict[str, float]]:
    """One after the other, and the milliseconds of each by its name, with their ``total``. One that leaves the state
    as it is is not told of."""
    laps: dict[str, float] = {}
    began = last = time.perf_counter()
    for one in stages:
        after = one(state)
        now = time.perf_counter()
        if after is not state:
            laps[one.name] = (now - last) * 1000
        state, last = after, now
    laps["total"] = (last - began) * 1000
    return state, laps


def before(name: str, stages: Stages) -> Stages:
    """The stages before one."""
    return list(takewhile(lambda one: one.name != name, stages))


def without(name: str, stages: Stages) -> Stages:
    """A row without a stage. Raises UsageError where it has none of that name."""
    place = _place(name, stages)
    return (*stages[:place], *stages[place + 1 :])


def inserted(new: Stage, after: str, stages: Stages) -> Stages:
    """A row with one more stage. Raises UsageError where there is none to stand after."""
    place = _place(after, stages) + 1
    return (*stages[:place], new, *stages[place:])


def _place(name: str, stages: Stages) -> int:
    names = [one.name for one in stages]
    if name not in names:
        raise UsageError(f"There is no stage '{name}'.", f"There are {', '.join(names)}.")
    return names.index(name)
