"""A worker process: ``python -P -m indexers.workers.process``. Tasks come on stdin, replies go to stdout."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from pathlib import Path
from typing import BinaryIO

import pymupdf

from hybrid_core import text
from hybrid_core.errors import DocumentError, PageIndexError
from hybrid_core.types import ParsedPage
from indexers.build import build_content
from indexers.parse import pdf
from indexers.workers.protocol import BuildTask, ParseTask, Reply, Task, portable, receive, send
from indexers.workers.spool import PageTerms, Spool


class _Worker:
    """Keeps the file it read last open: its next range is usually of the same file."""

    def __init__(self, replies: BinaryIO) -> None:
        self._replies = replies
        self._open: tuple[Path, pymupdf.Document] | None = None

    def run(self, task: Task) -> object:
        if isinstance(task, BuildTask):
            self._close()
            spools = [pickle.loads(path.read_bytes()) for path in task.spools]
            content = build_content(task.name, task.sha256, spools)
            task.result.write_bytes(pickle.dumps(content, pickle.HIGHEST_PROTOCOL))
            return None
        return self._parse(task)

    def _parse(self, task: ParseTask) -> int:
        document = self._document(task.path, task.password)
        info = pdf.read_info(document) if task.start == 1 else None
        stop = min(task.stop or document.page_count + 1, document.page_count + 1)
        pages: list[ParsedPage] = []
        terms: list[PageTerms] = []
        warnings: list[str] = []
        found = pdf.read_pages(
            document, range(task.start, stop), lambda number: send(self._replies, Reply("page", number))
        )
        for number, page in enumerate(found, task.start):
            if isinstance(page, DocumentError):
                warnings.append(page.message)
                page = ParsedPage(number, "", 0.0, 0.0, (), 0)
            pages.append(page)
            words = text.tokenise(page.text)
            length = sum(not text.is_number(word) for word in words)
            terms.append(PageTerms(text.counts(words), length))
        pymupdf.TOOLS.store_shrink(100)
        task.spool.write_bytes(pickle.dumps(Spool(pages, terms, info, warnings), pickle.HIGHEST_PROTOCOL))
        return int(document.page_count)

    def _document(self, path: Path, password: str | None) -> pymupdf.Document:
        if self._open and self._open[0] == path:
            return self._open[1]
        self._close()
        document = pdf.open_pdf(path, password)
        self._open = (path, document)
        return document

    def _close(self) -> None:
        if self._open:
            self._open[1].close()
            self._open = None


def main() -> None:
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C is for the parent, which ends us by closing the pipe
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints must not get among the replies
    tasks = sys.stdin.buffer
    worker = _Worker(replies)
    while isinstance(task := receive(tasks), (ParseTask, BuildTask)):
        try:
            reply = Reply("done", worker.run(task))
        except PageIndexError as error:
            reply = Reply("failed", portable(error))
        except MemoryError:
            reply = Reply("failed", DocumentError("not enough memory to read it."))
        except Exception as error:  # noqa: BLE001 - a defect in one file must not end the worker
            reply = Reply("failed", DocumentError(f"{type(error).__name__}: {error}"))
        send(replies, reply)


if __name__ == "__main__":
    main()
