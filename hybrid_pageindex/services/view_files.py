"""Views of libraries as files in the home, so that a process that begins need not make them of all cards.

They are derived: a file that does not fit is deleted, and made again by a search that has to read everything.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hybrid_core.errors import IndexDamagedError, StoreError
from hybrid_core.store.catalog.schema import SCHEMA_VERSION
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.store.home import library_folder, unwritable
from hybrid_core.store.mapped import MappedFile
from hybrid_core.text.tokens import TOKENISER
from hybrid_core.types.scoring import ScoringConfig
from retrievers.documents.library import LibraryView
from retrievers.documents.stored_view import VERSION, read_view, write_view
from retrievers.query.expert import Expert

_KEPT = 4  # files of a library: searches with other nicknames or numbers have their own
_log = logging.getLogger(__name__)


class ViewFiles:
    """The views of one home. Safe for several processes: a file is never changed, only replaced by a newer one."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def newest(
        self, snapshot: Snapshot, library: str, knowledge: Expert, scoring: ScoringConfig, after: int = -1
    ) -> tuple[LibraryView, Mapping[str, Any]] | None:
        """Return the newest view of a snapshot's library that is later than ``after``, and its file's head.

        A file of another catalog, or of changes that the snapshot's log does not have, is deleted.
        """
        catalog, position = snapshot.catalog_id(), snapshot.position(library)
        mark = _mark(knowledge, scoring)
        for path in sorted(self._folder(library).glob(f"{mark}-*.view"), key=_position, reverse=True):
            if _position(path) <= after:
                return None
            try:
                file = MappedFile(path)
                at = file.head["position"]
                same = file.head["catalog"] == catalog and file.head["mark"] == snapshot.mark(library, at)
                if same and at <= position:
                    return read_view(file, knowledge.aliases, scoring), file.head
            except FileNotFoundError:
                continue  # another process has replaced it
            except (OSError, ValueError, KeyError) as error:
                _log.warning("%s: is no view (%s), and is made again", path, error)
            _delete(path)
        return None

    def write(
        self, library: str, catalog: str, view: LibraryView, beside: Mapping[str, Any], knowledge: Expert,
        scoring: ScoringConfig,
    ) -> None:  # fmt: skip
        """Write a view. Where that cannot be, searches go on without."""
        if unwritable(self._home):
            return
        folder, mark = self._folder(library), _mark(knowledge, scoring)
        try:
            write_view(folder / f"{mark}-{view.position}.view", {**beside, "catalog": catalog}, view)
        except (StoreError, IndexDamagedError) as error:
            _log.warning("the cards of %s are not kept: %s", library, error.message)
            return
        for path in folder.glob(f"{mark}-*.view"):
            if _position(path) < view.position:
                _delete(path)
        others = sorted(folder.glob("*.view"), key=_written, reverse=True)
        for path in others[_KEPT:]:
            _delete(path)

    def _folder(self, library: str) -> Path:
        return library_folder(self._home, library) / "views"


def _mark(knowledge: Expert, scoring: ScoringConfig) -> str:
    """Of everything that decides what a view holds, but for the documents."""
    numbers = [asdict(part) for part in (scoring.linking, scoring.cards, scoring.periods, scoring.titles)]
    aliases = {name: list(nicknames) for name, nicknames in knowledge.aliases.items()}
    said = json.dumps([VERSION, SCHEMA_VERSION, TOKENISER, numbers, aliases])
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _position(path: Path) -> int:
    number = path.stem.rpartition("-")[2]
    return int(number) if number.isdigit() else 0


def _written(path: Path) -> float:
    with suppress(OSError):
        return path.stat().st_mtime
    return 0.0


def _delete(path: Path) -> None:
    with suppress(OSError):  # a system that keeps files that are open: another time
        path.unlink(missing_ok=True)
