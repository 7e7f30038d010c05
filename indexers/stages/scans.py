"""Pages without readable text, read from their pictures by the workers: some at a time, none twice."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass, field
from time import monotonic
from typing import cast

from hybrid_core.errors import Cancelled, DocumentError
from hybrid_core.store.shared_cache import SharedCache
from indexers.files.private_copy import PrivateCopy
from indexers.formats.limits import ParseLimits
from indexers.ocr.find import NoOcr, Ocr
from indexers.ocr.pages import cache_key
from indexers.stages.turn import Turn
from indexers.workers.pool import Allowance, WorkerPool
from indexers.workers.protocol import ScanTask

_SAID = 5  # pages of a file whose OCR failed that are named


@dataclass(frozen=True, slots=True)
class ScanOptions:
    """``ocr`` is called when a page needs it."""

    password: str | None
    limits: ParseLimits
    ocr: Callable[[], Ocr | NoOcr]


@dataclass(frozen=True, slots=True)
class ReadScans:
    """Packed pages in order. ``tried`` counts those that could not be read too, and ``left`` those still to be read.

    ``stopped``: the file has had all its time. ``said``: what the user should know.
    """

    pages: tuple[bytes, ...] = ()
    said: tuple[str, ...] = ()
    tried: int = 0
    left: int = 0
    stopped: bool = False


@dataclass(slots=True)
class _File:
    """What is remembered of a file between its turns: its time, pages under way, and why some could not be read."""

    allowance: Allowance
    running: dict[int, Future[object]] = field(default_factory=dict)
    failed: dict[int, str] = field(default_factory=dict)
    stopped: str = ""  # why no more of its pages are read
    asked: bool = False  # whether other machines were, for what they have read of it
    shown: tuple[int, int] = (0, 0)  # pages that are done and all that need it, as counted in the progress


class ScanReader:
    def __init__(self, cache: SharedCache, pool: WorkerPool, options: ScanOptions, at_once: int) -> None:
        self._cache, self._pool, self._options, self._at_once = cache, pool, options, at_once
        self._files: dict[int, _File] = {}  # by job
        self._lock = threading.Lock()

    def read(
        self,
        turn: Turn,
        copy: PrivateCopy,
        numbers: Sequence[int],
        seconds: float,
    ) -> ReadScans:
        """Read the pages (1-based) that need it, for ``seconds`` at most.

        Each page is a task with its own limits, and together they have the time of a file besides that of
        parsing. What was read before comes from the cache; what other machines have read is asked for once.
        """
        if not numbers:
            return ReadScans()
        if isinstance(ocr := self._options.ocr(), NoOcr):
            return ReadScans()
        sha256 = copy.sha256
        with self._lock:
            of_file = self._files.setdefault(turn.job.id, _File(self._pool.allowance()))
            of_file.allowance.stop = turn.stop
        keys = {number: cache_key(sha256, ocr.tag, number) for number in numbers}
        kept, of_file.asked = self._cache.near if of_file.asked else self._cache, True
        read = {number: page for number, key in keys.items() if (page := kept.get(key)) is not None}
        waiting = [number for number in numbers if number not in read and number not in of_file.failed]
        self._show(turn, of_file, len(read), len(numbers))
        for number, page in self._new(copy, ocr, waiting, of_file, seconds):
            self._cache.put({keys[number]: page})
            read[number] = page
            self._show(turn, of_file, len(read), len(numbers))
        left = len(numbers) - len(read) - len(of_file.failed)
        return ReadScans(
            pages=tuple(read[number] for number in numbers if number in read),
            said=_said(of_file, left),
            tried=len(numbers) - left,
            left=left,
            stopped=bool(of_file.stopped),
        )

    def forget(self, job: int) -> None:
        """What is remembered of a file whose turns are over."""
        with self._lock:
            self._files.pop(job, None)

    def _show(self, turn: Turn, of_file: _File, read: int, pages: int) -> None:
        """Bring the progress of all files up to what this one's is."""
        done = read + len(of_file.failed)
        shown, of_file.shown = of_file.shown, (done, pages)
        turn.tally.add(scans=done - shown[0], unread=pages - shown[1], at=turn.at("ocr", done, pages))

    def _new(
        self, copy: PrivateCopy, ocr: Ocr, numbers: Sequence[int], of_file: _File, seconds: float
    ) -> Iterator[tuple[int, bytes]]:
        """Pages as they are read, a few begun at a time: a long file leaves room for others."""
        until, running, stop = monotonic() + seconds, of_file.running, of_file.allowance.stop
        waiting = deque(number for number in numbers if number not in running)
        try:
            while not of_file.stopped:
                while waiting and len(running) <= self._at_once and monotonic() < until:
                    task = ScanTask(copy.path, self._options.password, waiting[0], self._options.limits, ocr)
                    running[waiting.popleft()] = begun = self._pool.submit(task, of_file.allowance)
                    copy.lend(begun)
                if not running:
                    break
                number = next(iter(running))
                try:
                    page = cast(bytes, running[number].result(max(0.0, until - monotonic())))
                except TimeoutError:  # the next turn takes it
                    break
                except (Cancelled, CancelledError):
                    del running[number]
                    if stop.asked.is_set():
                        raise Cancelled("Indexing was stopped.") from None
                    waiting.append(number)  # it was stopped with the turn before
                    continue
                except DocumentError as error:
                    if of_file.allowance.left() <= 0:
                        of_file.stopped = str(error)
                    else:
                        of_file.failed[number] = str(error)
                    del running[number]
                    continue
                del running[number]
                yield number, page
        finally:
            for number in [number for number, future in running.items() if future.cancel()]:
                del running[number]


def _said(of_file: _File, left: int) -> tuple[str, ...]:
    failed = [
        f"page {number} could not be read by OCR: {reason.removesuffix('.')}"
        for number, reason in sorted(of_file.failed.items())
    ]
    if len(failed) > _SAID:
        failed[_SAID:] = [f"{len(failed) - _SAID} more pages could not be read by OCR"]
    if left:
        failed.append(f"{left} pages are still to be read by OCR: index goes on with them")
    if of_file.stopped:
        failed.append(of_file.stopped.removesuffix("."))
    return tuple(failed)
