"""The engine's home of a run, a description of the machine, and resuming an interrupted run.

A home is indexed once and reused by later runs over the same documents.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import hybrid_pageindex
from eval.records.progress import Progress
from eval.records.runs import RUN_FILE, RunHead, drop_torn_line, read_head
from eval.runs.plan import Plan
from hybrid_core.errors import UsageError
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.types.documents import Document
from hybrid_pageindex import Engine, Settings, run

_ROOMS = ("hybrid_core", "indexers", "retrievers", "hybrid_pageindex")
_NO_MATTER = {
    "storage_path", "library", "workers", "top_k", "effort", "strategy", "expert", "max_cache_size", "image_dpi",
    "qdrant_prefix",
}  # fmt: skip
"""Settings that do not change results, or that are among the options of a run."""


def machine() -> dict[str, Any]:
    """Return a description of this computer. Memory is in gigabytes (10**9 bytes)."""
    names = ("SC_PAGE_SIZE", "SC_PHYS_PAGES")
    memory = math.prod(map(os.sysconf, names)) if hasattr(os, "sysconf") else 0  # Windows has no such call
    return {
        "cpus": os.cpu_count(), "memory_gb": round(memory / 1e9, 1), "python": platform.python_version(),
        "platform": platform.platform(),
    }  # fmt: skip


@cache
def engine_code() -> Mapping[str, str]:
    """Return {version, code}, where ``code`` is a hash of the engine's source files."""
    above = Path(hybrid_pageindex.__file__).parent.parent
    digest = hashlib.sha256()
    for room in _ROOMS:
        for path in sorted(p for p in (above / room).rglob("*") if p.suffix in (".py", ".yaml", ".md")):
            digest.update(path.relative_to(above).as_posix().encode() + b"\0" + path.read_bytes())
    return {"version": hybrid_pageindex.__version__, "code": digest.hexdigest()[:12]}


@cache
def indexing_code() -> str:
    """Return a hash of everything that determines the index. A home with another hash is indexed again."""
    above = Path(hybrid_pageindex.__file__).parent.parent
    digest = hashlib.sha256()
    for room in ("hybrid_core", "indexers"):
        for path in sorted((above / room).rglob("*.py")):
            digest.update(path.relative_to(above).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def settings_that_matter(settings: Settings) -> dict[str, Any]:
    """Return the settings that may affect results, without secrets.

    Keys are left out. A URL is returned without user, password and query.
    """
    secret = {field.name for field in fields(settings) if not field.repr}
    return {
        name: _redact_url(str(value)) if name.endswith("_url") and value else value
        for name, value in asdict(settings).items()
        if name not in _NO_MATTER | secret and value is not None and isinstance(value, (str, int, float))
    }


def _redact_url(url: str) -> str:
    """Return a URL without user, password and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def folder_bytes(folder: Path) -> int:
    """Return the disk use of a folder."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())


_MARKER_FILE = "made-by-eval.json"
_FIRST_QUESTION = "What is this document about?"


@dataclass(frozen=True, slots=True)
class RunHome:
    """The indexed home of a run, with an open engine.

    ``figures`` is {seconds, pages, bytes_per_page, first_answer_seconds, reused}; ``first_answer_seconds`` is the time
    from the start of indexing to the first answer. ``problems`` name the files that could not be indexed. ``embedder``
    is the source of the vectors, "" for none.
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
    """Index the files that a home lacks, and embed their pages if an embedder is named.

    ``ours`` is True for a home that was chosen by the evaluation and not by the user. Such a home is indexed again if
    other indexing code created it. In a user's home nothing is deleted. ``settings`` are the engine's, None for those
    of the home. Raise UsageError if the home contains documents that are not part of this run.
    """
    made_file = home / _MARKER_FILE
    state = json.loads(made_file.read_text(encoding="utf-8")) if made_file.exists() else {}
    engine = Engine(home, chat=chat) if settings is None else Engine(settings=settings, chat=chat)
    try:
        if state and state.get("code") != indexing_code() and ours:
            progress.say(f"{home} was indexed by another version of the code, so it is indexed again.")
            run(engine.libraries.clear())
            state = {}
        began = time.perf_counter()
        report = _index(engine, files, progress)
        seconds = time.perf_counter() - began
        if embedder:
            _embed(engine, embedder, progress)
        documents = run(engine.documents.list())
        _only(documents, files, home)
        fresh = any(file.status == "indexed" for file in report.files)
        published = [document for document in documents if document.published]
        if published:
            engine.search_now(_FIRST_QUESTION, effort="fast")
        if fresh or not state:
            pages = sum(document.pages for document in published)
            state = {
                "code": indexing_code(),
                "seconds": round(seconds, 2),
                "pages": pages,
                "bytes_per_page": round(folder_bytes(home) / pages) if pages else 0,
                "first_answer_seconds": round(time.perf_counter() - began, 2),
            }
            made_file.write_text(json.dumps(state), encoding="utf-8")
            made_file.chmod(0o600)
        failed = [f"{Path(d.path).name} could not be indexed: {d.error}" for d in documents if not d.published]
        sizes = [size for size in run(engine.libraries.list()) if size.name == engine.settings.library]
        figures = {name: value for name, value in state.items() if name != "code"} | {"reused": not fresh}
        return RunHome(engine, figures, tuple(failed), sizes[0].embedder if sizes else "")
    except BaseException:
        engine.close()
        raise


def _index(engine: Engine, files: Sequence[Path], progress: Progress) -> Any:
    """Index the files, then the pages that still need OCR, which takes much longer."""
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
    run(engine.models.embed(embedder))


def _only(documents: Sequence[Document], files: Sequence[Path], home: Path) -> None:
    names = {path.name for path in files}
    others = [document.name for document in documents if document.name not in names]
    if others:
        raise UsageError(
            f"The home {home} contains {len(others)} documents that do not belong to this run, for "
            f"example {others[0]}.",
            "Name another home with --home, or leave the option out.",
        )


def resumed(folder: Path, plan: Plan) -> RunHead | None:
    """Return the head of the run in a folder, None if the folder is new.

    Raise UsageError if the run used other options or code.
    """
    if not (folder / RUN_FILE).exists():
        if folder.exists() and any(folder.iterdir()):
            raise UsageError(
                f"{folder} is not empty, and it is not the folder of a run.", "Name a new folder with --out."
            )
        return None
    head, options = read_head(folder), plan.options
    differ = sorted(name for name in {*head.options, *options} if head.options.get(name) != options.get(name))
    if differ:
        differences = "; ".join(f"{name} was {head.options.get(name)!r}, not {options.get(name)!r}" for name in differ)
        raise UsageError(
            f"{folder} contains a run with different options ({differences}), so it cannot be continued.",
            "Name a new folder with --out.",
        )
    if not head.finished and head.engine != engine_code():
        raise UsageError(
            f"{folder} contains a run of another version of the engine ({head.engine}), so it cannot be continued.",
            "Name a new folder with --out.",
        )
    drop_torn_line(folder)
    return head
