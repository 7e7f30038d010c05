"""The jobs that one call waits for: what came of each, whoever did it, told as it happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from pathlib import Path
from typing import Any

from hybrid_core.store.jobs.reading import JobReader
from hybrid_core.types.jobs import Advance, Job, JobEvent
from indexers.files.private_copy import size
from indexers.stages.report import FileResult, FileStage, Tally
from indexers.stages.turn import Turn

_LOOK = 0.5  # seconds between two looks at what others do
_CERTAIN = 10.0  # and between two counts of what is left, for rows that somebody deleted
_PAUSED = "paused: it goes on once the jobs are resumed"
_ENDS = ("done", "failed", "cancelled")
_EVENTS = 1_000
_ALL = 1_000_000  # jobs


class Batch:
    """``after`` is the newest event before the jobs were asked for. ``waiter`` is this process as a worker, ``here``
    tells which jobs it works at.
    """

    def __init__(
        self,
        reader: JobReader,
        waiter: str,
        here: Callable[[], Set[int]],
        jobs: Mapping[int, Path],
        after: int,
        tally: Tally,
    ) -> None:
        self._reader, self._waiter, self._here, self._tally, self._after = reader, waiter, here, tally, after
        self._left, self._known = dict(jobs), set(jobs)
        self._pages: dict[int, int] = {}  # of what others parse: how many have been shown
        self._shown: set[int] = set()  # of what others do: what was told as finished
        self._holders: dict[int, str] = {}  # who took a job last
        self._looked = time.monotonic()
        self._counted = self._looked - _CERTAIN + _LOOK  # soon, for the first time
        self.results: dict[Path, FileResult] = {}

    def over(self) -> bool:
        """Whether every job has ended. Looks at what others do, every half second."""
        now = time.monotonic()
        if not self._left:
            self._find_more()
        elif now >= self._looked + _LOOK:
            self._looked = now
            self._find_more()
            while len(new := self._reader.events(self._after, waiter=self._waiter, most=_EVENTS)) > 0:
                self._hear(new)
            if now >= self._counted + _CERTAIN:
                self._counted = now
                self._hear_of_rows()
        return not self._left

    def left(self) -> list[int]:
        return list(self._left)

    def ended(self, turn: Turn, advance: Advance) -> None:
        """A turn of one of them ended here, which has told its progress itself."""
        if turn.job.id not in self._known:
            self._add(turn.job)
        file = self._left.get(turn.job.id)
        if file is not None and advance.status in _ENDS and not self._goes_on(turn.job.id):
            self._close(turn.job.id, _result(file, advance.status, advance.result or turn.job.result, advance.cause))

    def _goes_on(self, number: int) -> bool:
        """Whether it was asked for again while it ran."""
        return any(not job.ended for job in self._reader.jobs([number]))

    def _find_more(self) -> None:
        """Jobs that came of those that are known: of what lies in archives and mails."""
        counts = self._reader.counts(waiter=self._waiter)
        if sum((counts.waiting, counts.running, counts.done, counts.failed, counts.cancelled)) <= len(self._known):
            return
        for job in self._reader.listed(waiter=self._waiter, most=_ALL):
            if job.id not in self._known:
                self._add(job)
                if job.ended:
                    self._move(job, Path(job.subject), job.status)

    def _add(self, job: Job) -> None:
        self._known.add(job.id)
        self._left[job.id] = Path(job.subject)
        self._tally.files += 1

    def _hear(self, events: list[JobEvent]) -> None:
        self._after = events[-1].number
        moved = {event.job for event in events if event.kind in (*_ENDS, "stage") and event.job in self._left}
        rows = {job.id: job for job in self._reader.jobs(moved)}
        for event in events:
            if event.kind == "claimed":
                self._holders[event.job] = event.detail["worker"]
            file = self._left.get(event.job)
            if file is None or self._holders.get(event.job) == self._waiter:
                continue
            if event.kind == "progress":
                self._show(event, file)
            elif (job := rows.get(event.job)) and (event.kind == "stage" or (event.kind in _ENDS and job.ended)):
                self._move(job, file, event.kind)  # one that was asked for again goes on

    def _hear_of_rows(self) -> None:
        here = self._here()  # they tell of themselves, a moment after their end was written
        there = {job.id: job for job in self._reader.jobs(list(self._left))}
        for number, file in list(self._left.items()):
            if number in here:
                continue
            job = there.get(number)
            if job is None:
                self._close(number, FileResult(str(file), "failed", "its job was removed from the queue."))
            elif job.ended:
                self._move(job, file, job.status)
        if any(job.paused for job in there.values()):
            self._tally.add(note=_PAUSED)

    def _show(self, event: JobEvent, file: Path) -> None:
        done, pages = int(event.detail["done"]), int(event.detail["total"])
        stage = event.detail["stage"]
        at = FileStage(str(file), "describe" if stage == "enrich" else stage, pages, done)
        more = max(0, done - self._pages.get(event.job, 0)) if stage == "parse" else 0
        self._pages[event.job] = self._pages.get(event.job, 0) + more
        self._tally.add(pages=more, size=more * size(file) / max(1, pages), at=at)

    def _move(self, job: Job, file: Path, kind: str) -> None:
        """Another process has ended a job, or one of its stages."""
        again = job.id in self._shown
        result = _result(file, kind, job.result, job.cause)
        pages, share = 0, 0.0
        if not again:
            shown = self._pages.pop(job.id, 0)
            pages = max(0, result.pages - shown) if result.status == "indexed" else 0
            share = size(file) * max(0.0, 1 - shown / max(1, result.pages))
        self._shown.add(job.id)
        self._tally.add(pages=pages, size=share, finished=result, again=again)
        if kind in _ENDS:
            self._close(job.id, result)

    def _close(self, job: int, result: FileResult) -> None:
        file = self._left.pop(job)
        self.results[file] = result
        self._tally.add(over=str(file))


def _result(file: Path, status: str, said: Mapping[str, Any] | None, cause: str) -> FileResult:
    """What is told of a file, by what is kept with its job."""
    if not said:
        return FileResult(str(file), "failed", cause or "its job ended without a result.")
    result = FileResult.from_json(said)
    if status == "failed" and result.status != "failed":
        return replace(result, status="failed", error=cause, unread=0)
    if status == "cancelled":
        note = "; ".join(filter(None, (result.note, "what was left to do for it was cancelled")))
        return replace(result, note=note, unread=0)
    return result
