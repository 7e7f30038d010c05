"""What use tells: when a library was last searched or indexed, which is the time of an empty file, since a search must
not wait for a writer; and which documents are asked about.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import text

from hybrid_core.errors import StoreError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import unwritable
from hybrid_core.types.documents import Document

_SOME_WAIT = text("SELECT 1 FROM jobs WHERE status = 'waiting' AND stage = 'refine' LIMIT 1")


def mark_used(home: Path, library: str) -> None:
    """A home that cannot be written is searched all the same."""
    with suppress(OSError):
        file = _file(home, library)
        if unwritable(file):  # its owner could still change its time
            return
        file.parent.mkdir(mode=0o700, exist_ok=True)
        file.touch(mode=0o600)


def last_used(home: Path, library: str) -> str:
    """ISO 8601, UTC, milliseconds; "" where it never was."""
    try:
        used = _file(home, library).stat().st_mtime
    except OSError:
        return ""
    return datetime.datetime.fromtimestamp(used, datetime.UTC).isoformat(timespec="milliseconds")


def forget_use(home: Path, library: str) -> None:
    _file(home, library).unlink(missing_ok=True)


def mark_asked(catalog: Catalog, documents: Collection[Document]) -> None:
    """Documents that questions find have their trees refined before others. Where none waits for that, this is one
    look.
    """
    with suppress(StoreError):
        with catalog.reading() as connection:
            waits = connection.scalar(_SOME_WAIT)
        if waits:
            from hybrid_core.store.jobs.asking import refine_first

            refine_first(catalog, {(document.library, document.path) for document in documents})


def _file(home: Path, library: str) -> Path:
    return home / "libraries" / f"{quote(library, safe=' ')}~used"
