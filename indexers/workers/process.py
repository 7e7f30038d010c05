"""The main loop of a worker process: tasks from stdin, replies to stdout."""

from __future__ import annotations

import io
import logging
import os
import pickle
import select
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

from hybrid_core.cards.card import read_card
from hybrid_core.errors import DocumentError, LimitError, PageIndexError
from hybrid_core.logs import Forwarder
from hybrid_core.system import POSIX, out_of_memory
from hybrid_core.text.prose import ranges
from hybrid_core.text.terms import page_orders
from hybrid_core.types.documents import ParsedPage
from hybrid_core.types.notes import Note
from indexers.assembly.content import build_content
from indexers.assembly.spool import PageTerms, Spool, load_spools, save_spool
from indexers.formats.format import OpenFile
from indexers.formats.limits import plain_reason
from indexers.formats.registry import format_of, misnamed, open_file
from indexers.formats.unpack import unpack_members
from indexers.ocr.engines import Engine, EngineName, Ocr
from indexers.ocr.pages import doubtful, pack, read_page, unpack
from indexers.workers.protocol import (
    AnnotateTask,
    BatchTask,
    BuildTask,
    DrawTask,
    EngineAnswer,
    IllustrationsTask,
    LayoutTask,
    LookTask,
    ParsedRange,
    ParseTask,
    PictureTask,
    PrintedPictureTask,
    PrintTask,
    RegionTask,
    Reply,
    ScanTask,
    SmallContent,
    Task,
    TextPictureTask,
    UnpackTask,
    end_after,
    portable,
    receive,
    send,
    too_slow,
)

_WARNINGS = 5  # maximum warnings of one range of pages


class _Worker:
    """The worker process. It keeps its last file open, since the next task is usually for the same file."""

    def __init__(self, replies: BinaryIO) -> None:
        self._replies = replies
        self._open: tuple[Path, OpenFile] | None = None

    def run(self, task: Task) -> object:
        if isinstance(task, BuildTask):
            self._close()
            content = build_content(
                task.name, task.sha256, task.format, load_spools(task.spools, map(unpack, task.scans)), task.chunks,
                regions=task.regions,
            )  # fmt: skip
            with task.result.open("wb") as file:
                pickle.dump(content, file, pickle.HIGHEST_PROTOCOL)
            return None
        if isinstance(task, ScanTask):
            return self._read_scan(task)
        if isinstance(task, ParseTask):
            spool, parsed = self._parse(task, self._tell_page)
            save_spool(task.spool, spool)
            return parsed
        if isinstance(task, BatchTask):
            self._make_batch(task)
            return None
        if isinstance(task, TextPictureTask):
            from indexers.formats.pdf.picture import draw_texts

            return draw_texts(task.texts, task.picture, task.pictures, task.path, task.limits)
        if isinstance(task, LayoutTask):
            from indexers.formats.text_drawing import page_layout

            return page_layout(task.path, task.password, task.page, task.lines, task.limits, task.pictures)
        if isinstance(task, PrintTask):
            from indexers.formats.office.libreoffice import office_pdf

            return office_pdf(task.path)
        if isinstance(task, PrintedPictureTask):
            from indexers.formats.office.libreoffice import draw_office

            return draw_office(task.pdf, task.page, task.text, task.slide, task.picture)
        if isinstance(task, IllustrationsTask):
            from indexers.formats.text_drawing import illustrations

            return illustrations(task.path, task.password, task.pages, task.limits)
        format = format_of(task.path)
        if isinstance(task, UnpackTask):
            return unpack_members(format, task.path, task.folder, task.limits)
        if isinstance(task, LookTask) and format.look is not None:
            return format.look(task.path, task.password, task.start, task.stop, task.limits)
        if isinstance(task, DrawTask) and format.draw is not None:
            return format.draw(task.path, task.password, task.page, task.drawing, task.limits)
        if isinstance(task, PictureTask) and format.show is not None:
            return format.show(task.path, task.password, task.pages, task.picture, task.limits)
        if isinstance(task, RegionTask) and format.regions is not None:
            return format.regions(task.path, task.password, task.page, task.lines, task.limits)
        if isinstance(task, AnnotateTask) and format.annotate is not None:
            return format.annotate(task.path, task.password, task.result, task.notes, task.limits)
        raise DocumentError(f"files of the format {format.title} have no page images.", file=task.path)

    def _read_scan(self, task: ScanTask) -> EngineAnswer:
        name = task.engine or task.ocr.first
        reading = read_page(self._file(task), task.page, name, _engine(name, task.ocr))
        in_doubt = doubtful(reading.text, reading.sure, task.ocr.languages)
        return EngineAnswer(pack(reading), reading.text, reading.sure, in_doubt)

    def _make_batch(self, batch: BatchTask) -> None:
        """Build each file of a batch, and send a reply for each.

        A file that cannot be read does not affect the others.
        """
        for number, file in enumerate(batch.files):
            result: SmallContent | PageIndexError
            task = ParseTask(file.path, None, 1, 0, file.path, batch.limits)
            try:
                spool, parsed = self._parse(task, lambda _: None)
                self._close()
                content = build_content(file.name, file.sha256, file.format, [spool], batch.chunks)
                card = read_card(file.name, content.metadata, content.title, [page.text for page in content.pages])
                result = SmallContent(content, card, page_orders(content), bool(parsed.unread))
            except PageIndexError as error:
                result = portable(error, task)
            except Exception as error:  # noqa: BLE001 - as in ``work``
                result = portable(_explained(error, task), task)
            send(self._replies, Reply("part", (number, result)))

    def _tell_page(self, pages: int) -> None:
        send(self._replies, Reply("page", pages))

    def _parse(self, task: ParseTask, tell_page: Callable[[int], None]) -> tuple[Spool, ParsedRange]:
        file = self._file(task)
        info = file.info() if task.start == 1 else None
        if info is not None and (warning := misnamed(task.path)):
            info = replace(info, warnings=(warning, *info.warnings))
        stop = min(task.stop or file.pages + 1, file.pages + 1)
        pages: list[ParsedPage] = []
        terms: list[PageTerms] = []
        warnings: list[str] = []
        hidden: list[int] = []
        seconds = task.limits.seconds_per_page
        limits = format_of(task.path).limits
        for number, outcome in self._read(file, range(task.start, stop), task.left_out, seconds, tell_page):
            page = outcome if isinstance(outcome, DocumentError) else task.limits.page(outcome, limits)
            if isinstance(outcome, ParsedPage) and any(line.role == "hidden" for line in outcome.lines):
                hidden.append(number)
            if isinstance(page, DocumentError):
                warnings.append(str(page).removesuffix("."))
                page = ParsedPage(number)
            pages.append(page)
            terms.append(PageTerms.of_text(page.text))
        if hidden:
            pages_hiding, which = len(hidden), ranges(hidden)
            if task.limits.hidden_text == "mark":
                warnings.insert(0, Note("warning.hidden-marked", pages=pages_hiding, which=which))
            else:
                warnings.insert(0, Note("warning.hidden-left-out", pages=pages_hiding, which=which))
        if len(warnings) > _WARNINGS:
            more = len(warnings) - _WARNINGS
            warnings[_WARNINGS:] = [Note("warning.pages-unread", pages=more, first=task.start, last=stop - 1)]
        unread = tuple(page.number for page in pages if page.needs_ocr or page.pictures)
        return Spool(pages, terms, info, warnings), ParsedRange(file.pages, unread)

    def _read(
        self,
        file: OpenFile,
        numbers: range,
        left_out: Sequence[int],
        seconds: float,
        tell_page: Callable[[int], None],
    ) -> Iterator[tuple[int, ParsedPage | DocumentError]]:
        """Yield (number, page) for the pages of a file.

        Each page has its own time limit. A page that exceeds it ends this process.
        """

        def done(_: int) -> None:
            end_after(seconds)
            tell_page(file.pages)

        pages = file.read([number for number in numbers if number not in left_out], done)
        end_after(seconds)
        try:
            for number in numbers:
                yield number, too_slow(number, seconds) if number in left_out else next(pages)
            next(pages, None)  # the last page is told when the next is asked for
        finally:
            end_after(0)

    def _file(self, task: ParseTask | ScanTask) -> OpenFile:
        if self._open and self._open[0] == task.path:
            return self._open[1]
        self._close()
        file = open_file(task.path, task.password, task.limits)
        self._open = (task.path, file)
        return file

    def _close(self) -> None:
        if self._open:
            self._open[1].close()
            self._open = None


def _engine(name: EngineName, ocr: Ocr) -> Engine:
    if name == "Tesseract" and ocr.tesseract is not None:
        return ocr.tesseract
    from indexers.ocr.rapid import RapidOcr

    return RapidOcr()


def work(idle: float | None = None) -> None:
    """Process tasks until the pipe is closed, or no task comes for ``idle`` seconds."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not get among the replies
    tasks = sys.stdin.buffer
    worker = _Worker(replies)
    logging.getLogger().addHandler(Forwarder(lambda record: send(replies, Reply("log", record))))
    send(replies, Reply("ready"))
    while _wait_for_task(tasks, idle) and isinstance(task := receive(tasks), Task):
        try:
            reply = Reply("done", worker.run(task))
        except PageIndexError as error:
            reply = Reply("failed", portable(error, task))
        except Exception as error:  # noqa: BLE001 - a defect in one file must not end the worker
            reply = Reply("failed", portable(_explained(error, task), task))
        send(replies, reply)


def _wait_for_task(tasks: BinaryIO, idle: float | None) -> bool:
    """Return whether a task, or the end of the stream, arrives within ``idle`` seconds.

    Only the pipe is checked, as no second task can be in the stream's buffer.
    """
    if POSIX:
        return bool(select.select([tasks], [], [], idle)[0])
    end = threading.Timer(idle or threading.TIMEOUT_MAX, os._exit, (0,))  # Windows waits for sockets only
    end.daemon = True
    if idle:
        end.start()
    waiting = bool(cast(io.BufferedReader, tasks).peek(1))
    end.cancel()
    return waiting


def _explained(error: Exception, task: Task) -> DocumentError:
    if out_of_memory(error):
        return LimitError(
            "reading the file needs more memory than a worker process may use.", "Raise the setting max_worker_memory."
        )
    return DocumentError(f"the file could not be read: {plain_reason(error, str(getattr(task, 'path', '')))}.")
