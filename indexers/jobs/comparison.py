"""Comparison of stored documents with their files, which are parsed again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hybrid_core.errors import Cancelled, DocumentError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.text.prose import ranges
from hybrid_core.types.documents import Document, Page, ParsedPage
from indexers.assembly.chunks import ChunkSize
from indexers.assembly.versions import version_of
from indexers.files.private_copy import private_copy
from indexers.formats.registry import named
from indexers.jobs.reader import Parser

State = Literal["same", "other", "gone", "changed", "older", "unread"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of comparing one stored document with its file.

    ``state`` "other" means that the pages differ. With other states nothing was compared: the file is "gone" or
    "changed", or cannot be opened ("unread"). "older" means that an older version of the code parsed the document.
    ``detail`` lists the pages or states the reason.
    """

    content_id: str
    documents: tuple[Document, ...]
    state: State
    detail: str = ""


def compare(
    catalog: Catalog,
    documents: Sequence[Document],
    parser: Parser,
    chunks: ChunkSize,
    scratch: Path,
    on_progress: Callable[[int, int], None],
    cancelled: threading.Event,
) -> list[Comparison]:
    """Compare every stored document with its file, which is parsed again.

    ``on_progress`` receives the number done and the total. Text from OCR is not compared. Raise Cancelled.
    """
    by_content: dict[str, list[Document]] = {}
    for document in documents:
        if document.published:
            by_content.setdefault(document.content_id, []).append(document)
    comparisons = []
    for done, (content, holders) in enumerate(by_content.items()):
        if cancelled.is_set():
            raise Cancelled(f"The check was stopped after {done} of {len(by_content)} documents.")
        on_progress(done, len(by_content))
        state, detail = _compared(catalog, content, holders, parser, chunks, scratch)
        comparisons.append(Comparison(content, tuple(holders), state, detail))
    on_progress(len(by_content), len(by_content))
    return comparisons


def _compared(
    catalog: Catalog, content: str, holders: Sequence[Document], parser: Parser, chunks: ChunkSize, scratch: Path
) -> tuple[State, str]:
    first = holders[0]
    with catalog.snapshot() as snapshot:
        stored = snapshot.version(content)
    format = named(first.format)
    if format is None:
        return (
            "unread",
            f"the format {first.format} is not supported any more, because the package that read it was removed",
        )
    if stored is None or not stored.version.made_as(version_of(first.sha256, format, chunks)):
        return "older", "an earlier version read the document; index reads it again"
    state: State = "gone"
    for document in holders:
        with catalog.snapshot() as snapshot:
            library = snapshot.library(document.library).id
        at = catalog.locate(library, document.path)
        if not at.exists():
            continue
        try:
            with private_copy(Path(document.path), scratch, at) as copy:
                if copy.sha256 == first.sha256:
                    wrong = _wrong_pages(catalog, content, first.pages, parser.pages(copy))
                    return ("other", f"pages {ranges(wrong)}") if wrong else ("same", "")
        except DocumentError as error:
            return "unread", str(error)
        state = "changed"
    return state, ""


def _wrong_pages(catalog: Catalog, content: str, pages: int, parsed: Iterable[Sequence[ParsedPage]]) -> list[int]:
    wrong: list[int] = []
    read = 0
    for part in parsed:
        read += len(part)
        with catalog.snapshot() as snapshot:
            stored = {page.number: page for page in snapshot.pages(content, [page.number for page in part])}
        wrong += [page.number for page in part if not _same(page, stored.get(page.number))]
    return wrong + list(range(read + 1, pages + 1))


def _same(parsed: ParsedPage, stored: Page | None) -> bool:
    if stored is None or (parsed.label, parsed.width, parsed.height) != (stored.label, stored.width, stored.height):
        return False
    if parsed.needs_ocr and (stored.needs_ocr or stored.ocr):
        return True
    if parsed.pictures and stored.ocr:  # OCR inserted the words of pictures between these lines
        stored_lines = iter(stored.text.split("\n"))
        return all(line.text in stored_lines for line in parsed.lines)
    return stored.read_by_model or (not stored.ocr and not stored.needs_ocr and parsed.text == stored.text)
