"""A worker through the engine: what this process is able to do, and what it does when files are done."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING

from hybrid_core.errors import PageIndexError
from hybrid_core.types.jobs import WorkKind
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.services.following import following
from hybrid_pageindex.services.indexing import embedding_of, index_options
from hybrid_pageindex.services.parts import Parts

if TYPE_CHECKING:
    from indexers.stages.report import IndexProgress

_EMBEDDERS = {
    "hashed": "", "hashed-m3": "", "onnx": "tokenizers", "sentence-transformers": "sentence_transformers",
    "bge-m3": "FlagEmbedding", "openai": "openai",
}  # fmt: skip
"""Forms of embedders, and the package that each needs."""


def work(
    parts: Parts,
    settings: Settings,
    concurrency: int | None,
    on_progress: Callable[[IndexProgress], None],
    stopped: threading.Event,
    enough: Callable[[], bool],
    only: int | None = None,
    kind: WorkKind | None = None,
) -> None:
    """Do what waits in the queue, or ``only`` one job, until ``stopped``, or nothing is left and it is ``enough``; of
    one ``kind``, or of all.
    """
    from hybrid_core.store.jobs.offering import JobOffers
    from indexers.jobs.embedding import NEED, lane
    from indexers.jobs.working import work as do

    parsers = concurrency or settings.workers or os.cpu_count() or 1
    usual, _ = index_options(parts, settings)
    able, scratch = _abilities(settings, usual.enrich_needs), settings.storage_path / "tmp"
    others = [] if kind == "index" else [lane(parts.catalog, parts.embedders.load, lambda _: None)]
    if kind is not None:  # what it says of itself is what others tell who waits
        able = frozenset(one for one in able if one.startswith(NEED) == (kind == "embed"))
    if only is not None and not JobOffers(parts.catalog, limits=usual.job_limits).open(only, able):
        return  # what is over, or is not for this process, costs no workplace
    with parts.working(), following(parts):
        do(
            parts.catalog, parts.cache, scratch, able, parsers, usual,
            lambda asked: index_options(parts, settings, asked)[0],
            lambda library: embedding_of(parts, library, settings), others, on_progress, stopped, enough, only,
            reads=kind != "embed",
        )  # fmt: skip


def _abilities(settings: Settings, models: frozenset[str]) -> frozenset[str]:
    from hybrid_core.store.jobs.workers import MACHINE
    from indexers.jobs.embedding import NEED
    from indexers.ocr.find import Ocr, find_ocr

    able = set(models)
    if settings.own_machine:
        able.add(MACHINE + settings.own_machine)
    try:
        ocr = find_ocr(settings.ocr, settings.ocr_languages)
    except PageIndexError:  # it lacks the data of a language
        ocr = None
    if isinstance(ocr, Ocr):
        able |= {f"ocr:{language}" for language in ocr.reads}
    able |= {NEED + form for form, package in _EMBEDDERS.items() if not package or find_spec(package)}
    return frozenset(able)
