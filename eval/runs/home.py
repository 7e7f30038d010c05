"""The engine's home of a run: indexed once, used again by later runs over the same documents."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.records.progress import Progress
from eval.runs.machine import folder_bytes, indexing_code
from hybrid_core.errors import UsageError
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.types.documents import Document
from hybrid_pageindex import Engine, Settings, run

_MADE = "made-by-eval.json"
_FIRST_QUESTION = "What is this document about?"


@dataclass(frozen=True, slots=True)
class RunHome:
    """``figures`` is {seconds, pages, bytes_per_page, first_answer_seconds, reused}; ``first_answer_seconds`` runs from
    the start of indexing to the first answer. ``problems`` name the files that could not be indexed.

    ``embedder`` is whose vectors serve, "" for none.
    """

    engine: Engine
    figures: dict[str, Any]
    problems: tuple[str, ...]
    embedder: str


def prepare(
    home: Path,
    files: Sequence[Path],
    embedder: str,
    progress: Progress,
    *,
    ours: bool,
    chat: ChatModel | None = None,
    settings: Settings | None = None,
) -> RunHome:
    """Index what is not yet indexed, and embed it where an embedder is named.

    ``ours`` is True for a home that the harness chose: if other indexing code made it, it is made again. In any other
    home nothing is deleted. ``settings`` are the engine's, None for those of the home. Raises UsageError where the home
    holds documents that are not of this run.
    """
    made = home / _MADE
    held = json.loads(made.read_text(encoding="utf-8")) if made.exists() else {}
    engine = Engine(home, chat=chat) if settings is None else Engine(settings=settings, chat=chat)
    try:
        if held and held.get("code") != indexing_code() and ours:
            progress.say(f"{home} was indexed by another state of the code: it is indexed again.")
            run(engine.clear())
            held = {}
        began = time.perf_counter()
        report = _index(engine, files, progress)
        seconds = time.perf_counter() - began
        if embedder:
            _embed(engine, embedder, progress)
        documents = run(engine.documents())
        _only(documents, files, home)
        fresh = any(file.status == "indexed" for file in report.files)
        published = [document for document in documents if document.published]
        if published:
            engine.search_now(_FIRST_QUESTION, effort="fast")
        if fresh or not held:
            pages = sum(document.pages for document in published)
            held = {
                "code": indexing_code(),
                "seconds": round(seconds, 2),
                "pages": pages,
                "bytes_per_page": round(folder_bytes(home) / pages) if pages else 0,
                "first_answer_seconds": round(time.perf_counter() - began, 2),
            }
            made.write_text(json.dumps(held), encoding="utf-8")
            made.chmod(0o600)
        failed = [f"{Path(d.path).name} could not be indexed: {d.error}" for d in documents if not d.published]
        sizes = [size for size in run(engine.libraries()) if size.name == engine.settings.library]
        figures = {name: value for name, value in held.items() if name != "code"} | {"reused": not fresh}
        return RunHome(engine, figures, tuple(failed), sizes[0].embedder if sizes else "")
    except BaseException:
        engine.close()
        raise


def _index(engine: Engine, files: Sequence[Path], progress: Progress) -> Any:
    """The files, then the pages that OCR still reads of them, which takes far longer."""
    seen = read = 0
    scanned: Callable[[], None] | None = None
    with ExitStack() as bar:
        step = bar.enter_context(progress.bar("indexing", len(files)))

        def on_progress(now: Any) -> None:
            nonlocal seen, read, scanned
            while seen < now.files_done:
                seen += 1
                step()
            if scanned is None and seen == now.files and now.scans > now.scans_done:
                bar.close()  # a terminal has one bar at a time
                read = now.scans_done
                scanned = bar.enter_context(progress.bar("reading scanned pages", now.scans, read))
            while scanned is not None and read < now.scans_done:
                read += 1
                scanned()

        return run(engine.index(list(files), enrich="never", on_progress=on_progress))


def _embed(engine: Engine, embedder: str, progress: Progress) -> None:
    progress.say(f"giving the documents vectors by {embedder} (kept for later runs)")
    run(engine.embed(embedder))


def _only(documents: Sequence[Document], files: Sequence[Path], home: Path) -> None:
    known = {path.name for path in files}
    others = [document.name for document in documents if document.name not in known]
    if others:
        raise UsageError(
            f"{home} holds {len(others)} documents that are not of this run, for example {others[0]}.",
            "Name another --home, or leave it out.",
        )
