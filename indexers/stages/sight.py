"""A file's pages looked at and drawn by the workers, for models that see."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from typing import cast

from indexers.files.private_copy import PrivateCopy
from indexers.formats.drawing import Drawing, Picture
from indexers.formats.limits import ParseLimits
from indexers.formats.page_look import PageLook
from indexers.workers.pool import Allowance, WorkerPool
from indexers.workers.protocol import DrawTask, LookTask, PictureTask

_RANGE = 50  # pages that one task looks at
_SHEET_DPI, _SHEET_SIDE = 72, 1568  # of a contact sheet: models scale down what is larger


class WorkerSight:
    """A file's ``Sight``. Its tasks have the time of a file together, besides that of reading it."""

    def __init__(
        self,
        pool: WorkerPool,
        copy: PrivateCopy,
        password: str | None,
        pages: int,
        limits: ParseLimits,
        drawing: Drawing,
        allowance: Allowance,
    ) -> None:
        self._pool, self._copy, self._password, self._pages = pool, copy, password, pages
        self._limits, self._drawing, self._allowance = limits, drawing, allowance

    def looks(self) -> Sequence[PageLook]:
        tasks = [
            LookTask(self._copy.path, self._password, start, start + _RANGE, self._limits)
            for start in range(1, self._pages + 1, _RANGE)
        ]
        running = [self._pool.submit(task, self._allowance) for task in tasks]
        return [found for future in running for found in cast("list[PageLook]", future.result())]

    def drawn(self, number: int) -> Future[object]:
        task = DrawTask(self._copy.path, self._password, number, self._limits, self._drawing)
        begun = self._pool.submit(task, self._allowance)
        self._copy.lend(begun)
        return begun

    def sheet(self, numbers: Sequence[int]) -> Future[object]:
        picture = Picture(_SHEET_DPI, "jpeg", side=_SHEET_SIDE)
        task = PictureTask(self._copy.path, self._password, tuple(numbers), self._limits, picture)
        begun = self._pool.submit(task, self._allowance)
        self._copy.lend(begun)
        return begun
