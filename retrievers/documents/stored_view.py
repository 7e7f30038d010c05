"""A library's view as a file: a process that begins maps it and looks up what a question names, however many documents
there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hybrid_core.store.mapped import MappedFile, write_tables
from hybrid_core.types.scoring import ScoringConfig
from retrievers.documents.documents import Documents
from retrievers.documents.library import LibraryView
from retrievers.documents.route import Router

VERSION = 3  # of what is made of cards: how names are compared, which words of titles count, what is kept


def write_view(path: Path, head: Mapping[str, Any], view: LibraryView) -> None:
    """Write a view whose documents are ``Documents``. Raises StoreError."""
    assert isinstance(view.documents, Documents)
    own = {"version": VERSION, "position": view.position, "pages": view.pages}
    write_tables(path, {**head, **own}, (*view.documents.written(), *view.written()))


def read_view(file: MappedFile, aliases: Mapping[str, Sequence[str]], scoring: ScoringConfig) -> LibraryView:
    """The view that ``write_view`` wrote with these nicknames and numbers."""
    documents = Documents.restored(file.tables)
    router = Router.restored(file.tables, documents.cards, aliases, scoring, documents.order)
    return LibraryView.restored(file.tables, file.head["position"], file.head["pages"], documents, router)
