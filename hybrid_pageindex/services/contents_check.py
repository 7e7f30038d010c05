"""``doctor --deep``: contents that are not what their files hold are found, taken out and made again."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.scratch import scratch_folder
from hybrid_core.store.temporary import working_folder
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.services.checks import Check
from hybrid_pageindex.services.indexing import IndexCall, index_paths
from hybrid_pageindex.services.parts import Parts
from hybrid_pageindex.services.reading import known

if TYPE_CHECKING:
    from indexers.stages.checking import Comparison, State

_WRONG = "what was stored of it was not what it holds"
_NOT_COMPARED: dict[State, str] = {
    "gone": "their files are gone",
    "changed": "their files have changed since, which index will see",
    "older": "an earlier version made them, and index makes them again",
    "unread": "their files cannot be opened now",
}


def check_contents(
    parts: Parts,
    settings: Settings,
    mend: bool,
    told: Callable[[int, int], None],
    cancelled: threading.Event,
) -> list[Check]:
    """Every content of a home compared with its file; ``told`` hears how many of how many are done."""
    catalog, cache = parts.catalog, parts.cache
    found = _compared(catalog, settings, told, cancelled)
    wrong = [one for one in found if one.state == "other"]
    same = sum(one.state == "same" for one in found)
    others = [(words, sum(one.state == state for one in found)) for state, words in _NOT_COMPARED.items()]
    said = [f"{same} of {len(found)} hold what their files do", *(f"{n} not compared: {w}" for w, n in others if n)]
    checks = [Check("contents", True, "; ".join(said))]
    if not mend:
        advice = "mend it with doctor --deep --mend"
        return checks + [Check(_name(one), False, f"{one.detail} are not those of its file; {advice}") for one in wrong]
    catalog.discard([one.content_id for one in wrong], f"{_WRONG}; index it again.")
    for one in wrong:
        for kind in ("ocr", "regions", "image"):  # what was kept of the same bytes may be wrong too
            cache.clear(f"{kind}/{one.documents[0].sha256}/")
    failed = _made_again(parts, settings, wrong, cancelled)
    return checks + [_mended(one, failed) for one in wrong]


def _compared(
    catalog: Catalog, settings: Settings, told: Callable[[int, int], None], cancelled: threading.Event
) -> list[Comparison]:
    from indexers.build.chunks import ChunkSize
    from indexers.formats.limits import ParseLimits
    from indexers.stages.checking import compare
    from indexers.stages.parsing import Parser
    from indexers.workers.pool import WorkerLimits, WorkerPool

    with catalog.snapshot() as snapshot:
        documents = [document for one in snapshot.named_libraries() for document in known(snapshot, one.name)]
    workers = settings.workers or os.cpu_count() or 1
    limits = settings.part(WorkerLimits)
    parse = settings.part(ParseLimits)
    need = max((document.size for document in documents), default=0)
    parent = working_folder(settings.storage_path / "tmp", need, "Reading the files anew")
    with scratch_folder(parent) as folder:
        pool = WorkerPool(workers, limits)
        try:
            parser = Parser(pool, folder, parse, None, settings.range_pages, workers + 1)
            return compare(catalog, documents, parser, settings.part(ChunkSize), folder, told, cancelled)
        finally:
            pool.close()


def _made_again(
    parts: Parts, settings: Settings, wrong: Sequence[Comparison], cancelled: threading.Event
) -> dict[str, str]:
    """Why files could not be indexed again, by path."""
    by_library: dict[str, list[str]] = {}
    for one in wrong:
        for document in one.documents:
            by_library.setdefault(document.library, []).append(document.path)
    failed: dict[str, str] = {}
    for library, paths in by_library.items():
        report = index_paths(parts, library, paths, settings, IndexCall(), _untold, cancelled)
        failed |= {file.path: file.error or "" for file in report.files if file.status == "failed"}
    return failed


def _mended(one: Comparison, failed: dict[str, str]) -> Check:
    left = [f"{document.path}: {failed[document.path]}" for document in one.documents if document.path in failed]
    if left:
        return Check(
            _name(one), False, f"{one.detail} were not those of its file and were taken out; {'; '.join(left)}"
        )
    return Check(_name(one), True, f"{one.detail} were not those of its file; it was made again")


def _name(one: Comparison) -> str:
    return f"content of {', '.join(document.name for document in one.documents)}"


def _untold(_: object) -> None:
    """Progress that nobody asked for."""
