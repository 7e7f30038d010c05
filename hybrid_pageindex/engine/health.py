"""Check whether every component of the engine works, for the command ``doctor``."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from hybrid_core.errors import PageIndexError
from hybrid_core.store.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import unwritable
from hybrid_core.store.jobs.reader import JobReader
from hybrid_core.system import installed_version
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.engine.health_checks import Check, check_collections, check_index
from hybrid_pageindex.engine.libraries.libraries import library_sizes
from hybrid_pageindex.engine.models.embedders import embedders, reranker
from hybrid_pageindex.engine.models.models import Kind, Models
from hybrid_pageindex.engine.search.indexes import Indexes

_LEAST_FREE = 500 * 10**6
_NEXT_TO_NONE = 100 * 10**6  # bytes below which not even a small index can be written


@dataclass(frozen=True, slots=True)
class Health:
    home: str
    version: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        return all(check.ok for check in self.checks)


def health(
    settings: Settings,
    catalog: Callable[[], Catalog],
    cache: Callable[[], Cache],
    indexes: Callable[[], Indexes],
    on_progress: Callable[[int, int], None],
) -> Health:
    """Check everything that indexing and searching need, and return the results.

    During a long comparison of an index with the catalog, ``on_progress`` receives the number of compared documents and
    their total.
    """
    home = settings.storage_path
    checks = [
        Check("python", sys.version_info >= (3, 11), platform.python_version()),
        _tried("parser", lambda: f"PyMuPDF {importlib.metadata.version('pymupdf')}"),
        _tried("vector index", lambda: indexes().check()),
        _tried("catalog", lambda: f"{catalog()} ({catalog().check()})"),
        _tried("originals", lambda: catalog().objects.check()),
        _tried("cache", lambda: f"{cache().path} ({cache().check()})"),
        _tried("formats", _formats),
        _tried("disk", lambda: _free(home)),
        _tried("ocr", lambda: _ocr(settings)),
        _tried("section trees", lambda: _outlines(settings)),
    ]
    damage = checks[3]
    if not damage.ok:  # the catalog, by which indexes are opened, must work
        unseen = "not checked, because the catalog cannot be opened"
        checks = [
            check if check is damage or check.detail != damage.detail else replace(check, detail=unseen)
            for check in checks
        ]
    sizes = library_sizes(catalog(), home) if damage.ok else []
    checks += [check_index(indexes(), catalog(), size, on_progress) for size in sizes]
    checks += check_collections(indexes()) if checks[2].ok and damage.ok else []
    checks += [
        _tried("embedders", lambda: embedders(settings, [size.embedder for size in sizes if size.embedder])),
        *([_tried("reranking server", lambda: reranker(settings))] if settings.rerank == "server" else []),
        _tried("language model", partial(_model, settings, "llm", "none (pages are ranked without a model)")),
        _tried("vision model", partial(_model, settings, "vlm", "none (pages are read by their text)")),
    ]
    return Health(str(home), installed_version(), tuple(checks))


def missing(home: Path, catalog: Callable[[], Catalog], indexes: Callable[[], Indexes]) -> dict[str, str]:
    """Return the components that a server needs but that do not work, each with a reason.

    The reasons contain no address and no path. A read-only home counts as working.
    """
    parts: dict[str, str] = {}
    read_only = ""
    try:
        read_only = catalog().read_only
        JobReader(catalog()).last_event()
    except PageIndexError:
        parts["catalog"] = "The database cannot be read."
    try:
        indexes().check()
    except PageIndexError:
        if "catalog" not in parts:  # the catalog, by which indexes are opened, must work
            parts["search"] = "The server that holds the vectors cannot be used."
    if "catalog" not in parts:
        try:
            catalog().objects.check()
        except PageIndexError:
            parts["originals"] = "The bucket that holds the original files cannot be used."
    try:
        if not os.access(home, os.W_OK):
            parts |= {} if read_only else {"disk": "The home cannot be written."}
        elif shutil.disk_usage(home).free < _NEXT_TO_NONE:
            parts["disk"] = "The disk is full."
    except OSError:
        parts["disk"] = "The home cannot be reached."
    return parts


def _formats() -> str:
    from indexers.formats.registry import formats_read, problems

    if wrong := problems():
        raise PageIndexError(f"{'; '.join(wrong)}.", "Repair or remove the package that contains this format.")
    return formats_read()


def _tried(name: str, attempt: Callable[[], str]) -> Check:
    try:
        return Check(name, True, attempt())
    except (PageIndexError, importlib.metadata.PackageNotFoundError, OSError) as error:
        return Check(name, False, str(error))


def _ocr(settings: Settings) -> str:
    """Return a description of the OCR engine, or the reason why there is none.

    A missing OCR engine is no error, because only scans need one.
    """
    from indexers.ocr.engines import NoOcr, find_ocr

    engine = find_ocr(settings.ocr, settings.ocr_languages)
    if isinstance(engine, NoOcr):
        return f"none; pages without text stay unread: {engine.reason}"
    return engine.shown


def _outlines(settings: Settings) -> str:
    """Load the layout model, and return a description of how section trees are made.

    A missing model is no error, because rules then make the trees.
    """
    from indexers.jobs.refiner import load_layout_model, missing

    if settings.outline == "fast":
        return "made by rules"
    without = missing() or load_layout_model(settings.max_ocr_memory)
    return without or f"made by rules, then improved by PyMuPDF's layout model (outline is {settings.outline})"


def _model(settings: Settings, kind: Kind, none: str) -> str:
    """Call a configured model, and return a report on its speed, or ``none`` if no model is configured.

    The call is needed, because nothing else shows whether key, name and kind of the model are right.
    """
    return Models(settings, None).examine(kind) or none


def _free(home: Path) -> str:
    if reason := unwritable(home):
        return f"{home} cannot be written ({reason}): searches work, but nothing can be indexed"
    free = shutil.disk_usage(home).free
    if free < _LEAST_FREE:
        raise PageIndexError(
            f"the disk of {home} has only {free / 1e6:.0f} MB free.", "Free some disk space before you index documents."
        )
    return f"{free / 1e9:.1f} GB free"
