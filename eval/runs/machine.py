"""Where a run was made: the machine, and the state of the engine's code."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import hybrid_pageindex
from hybrid_pageindex import Settings

_ROOMS = ("hybrid_core", "indexers", "retrievers", "hybrid_pageindex")
_NO_MATTER = {
    "storage_path", "library", "workers", "top_k", "effort", "strategy", "expert", "max_cache_size", "image_dpi",
    "qdrant_prefix",
}  # fmt: skip
"""Settings that change no result, or are among a run's options."""


def machine() -> dict[str, Any]:
    """Memory is in gigabytes (10**9 bytes)."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "cpus": os.cpu_count(), "memory_gb": round(memory / 1e9, 1), "python": platform.python_version(),
        "platform": platform.platform(),
    }  # fmt: skip


@cache
def engine_code() -> Mapping[str, str]:
    """{version, code}: ``code`` is a hash of the engine's source files, so that no two states pass for one."""
    above = Path(hybrid_pageindex.__file__).parent.parent
    digest = hashlib.sha256()
    for room in _ROOMS:
        for path in sorted(p for p in (above / room).rglob("*") if p.suffix in (".py", ".yaml", ".md")):
            digest.update(path.relative_to(above).as_posix().encode() + b"\0" + path.read_bytes())
    return {"version": hybrid_pageindex.__version__, "code": digest.hexdigest()[:12]}


@cache
def indexing_code() -> str:
    """A hash of what decides the index; a home that other code made is made again."""
    above = Path(hybrid_pageindex.__file__).parent.parent
    digest = hashlib.sha256()
    for room in ("hybrid_core", "indexers"):
        for path in sorted((above / room).rglob("*.py")):
            digest.update(path.relative_to(above).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def settings_that_matter(settings: Settings) -> dict[str, Any]:
    """Without secrets: neither keys nor what a URL holds beside its place."""
    secret = {field.name for field in fields(settings) if not field.repr}
    return {
        name: _place(str(value)) if name.endswith("_url") and value else value
        for name, value in asdict(settings).items()
        if name not in _NO_MATTER | secret and value is not None and isinstance(value, (str, int, float))
    }


def _place(url: str) -> str:
    """A URL without user, password and query."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def folder_bytes(folder: Path) -> int:
    """Disk that a folder's files take."""
    return sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())
