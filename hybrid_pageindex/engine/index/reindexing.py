"""Index documents again: rebuild them, or recover a catalog. Also estimate the cost of models."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from sqlalchemy import delete, exists, func, select, text

from hybrid_core.errors import PageIndexError, UsageError
from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.store.notes import notes
from hybrid_core.store.recovery.mending import HASH, RECOVERED, SHOWN
from hybrid_core.store.recovery.recovery import Recovery, recover_catalog
from hybrid_core.store.recovery.salvage import LOST
from hybrid_core.text.prose import counted
from hybrid_core.types.libraries import UPLOAD, containers, is_there
from hybrid_core.types.usage import Usage
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.engine.documents.reading import library_documents
from hybrid_pageindex.engine.index.indexing import IndexCall, index_paths
from hybrid_pageindex.engine.models.improvement import priced
from hybrid_pageindex.engine.parts import Parts
from retrievers.candidates import documents as selection

if TYPE_CHECKING:
    from indexers.jobs.report import FileResult, IndexProgress, IndexReport


def rebuild(
    parts: Parts,
    settings: Settings,
    documents: Sequence[str],
    library: str | None,
    everything: bool,
    call: IndexCall,
    on_progress: Callable[[IndexProgress], None],
    stopped: threading.Event,
) -> IndexReport:
    """Index again: named documents of a library, a whole library, or all libraries. Return a report.

    ``library`` None means the default library for named documents. Raise UsageError if the arguments do not say what to
    rebuild, NotFoundError for an unknown name.
    """
    from indexers.jobs.report import IndexReport

    if (everything and (documents or library)) or not (everything or documents or library):
        raise UsageError(
            "The request does not say what to rebuild.", "Name documents, or name a library, or choose all."
        )
    with parts.catalog.snapshot() as snapshot:
        if everything:
            chosen = {
                library_row.name: _paths(snapshot, library_row.name, ()) for library_row in snapshot.named_libraries()
            }
        else:
            name = library or settings.library
            chosen = {name: _paths(snapshot, name, documents)}
    total = IndexReport(())
    for name, paths in chosen.items():
        if paths:
            report = index_paths(parts, name, paths, settings, replace(call, anew=True), on_progress, stopped)
            notes = dict.fromkeys((*total.notes, *report.notes))
            total = replace(total, files=total.files + report.files, notes=tuple(notes))
    return total


def _paths(snapshot: Snapshot, library: str, names: Sequence[str]) -> list[str]:
    documents = library_documents(snapshot, library)
    chosen = selection.select_by_name(documents, names) if names else documents
    return [document.path for document in chosen]


_KINDS: Mapping[str, tuple[str, ...]] = {
    "libraries": ("libraries",), "documents": ("documents",), "uploads": ("originals",), "notes": ("notes",),
    "ratings": ("feedback",), "conversations": ("conversations", "conversation_libraries", "conversation_summaries"),
    "questions and answers": ("messages", "message_events"), "citations": ("citations",),
    "tokens and users": ("tokens",), "rights": ("grants",), "followed folders and files": ("sources",),
    "files removed by hand": ("exclusions",), "vectors": ("embeddings", "embedders"),
    "jobs": ("jobs", "job_events", "pauses"), "use of models": ("model_usage",), "audit entries": ("audit",),
    "earlier versions": ("changes",), "repeatable answers": ("replies",),
}  # fmt: skip
"""The names of tables for users. Rows of the first tables are counted; those of the others belong to them."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The numbers of recovered rows of one kind: intact (``kept``), damaged (``partly``) and lost (``gone``).

    ``complete`` is False if more rows may be lost.
    """

    kind: str
    kept: int
    partly: int
    gone: int
    complete: bool


@dataclass(frozen=True, slots=True)
class RecoveryReport:
    """The outcome of a recovery.

    ``catalog`` is the catalog's state before the recovery: "whole" (nothing was changed), "damaged" or "missing".
    ``damaged`` is the new path of the damaged file. ``indexed`` counts the documents that were indexed again;
    ``failed`` lists paths that failed, with reasons.
    """

    home: str
    catalog: str
    damaged: str | None
    kinds: tuple[Kept, ...]
    indexed: int
    failed: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Return whether no rows of any kind were lost."""
        lost = any(kind.gone or kind.partly or not kind.complete for kind in self.kinds)
        return self.catalog != "missing" and not lost and not self.failed


def recover(
    settings: Settings,
    parts: Callable[[], Parts],
    on_progress: Callable[[IndexProgress], None],
    stopped: threading.Event,
) -> RecoveryReport:
    """Recover the catalog of a home, then open its ``parts`` and index lost files again. Return a report.

    Raise the errors of ``recover_catalog``, and UsageError if the catalog is in PostgreSQL.
    """
    if settings.postgres_url:
        raise UsageError(
            "The catalog of this home is in a PostgreSQL database, and this command repairs only SQLite files.",
            "Restore a dump of it: pg_restore --no-owner -d URL catalog.dump (see Backup and restore in the docs).",
        )
    done = recover_catalog(settings.storage_path)
    files, problem = list["FileResult"](), ""
    try:
        files = _index_again(parts(), settings, on_progress, stopped)
    except PageIndexError as error:  # the catalog is recovered; the remaining files can be indexed later
        problem = f"some files were not indexed again ({error}); run the command again"
    catalog = parts().catalog
    failed = [(file.path, file.error or "") for file in files if file.status == "failed"]
    failed_paths = {path for path, _ in failed}
    failed += [(path, "the file is missing") for path in _left(catalog) if path not in failed_paths]
    indexed = sum(file.status == "indexed" for file in files)
    state = "missing" if done.missing else "whole" if done.whole else "damaged"
    more = [problem] if problem else []
    return RecoveryReport(
        str(settings.storage_path), state, str(done.damaged) if done.damaged else None, _kinds(done, catalog), indexed,
        tuple(failed), (*more, *_recovery_notes(done, catalog)),
    )  # fmt: skip


def _kinds(done: Recovery, catalog: Catalog) -> tuple[Kept, ...]:
    if done.missing:
        return ()
    kinds = []
    for kind, tables in _KINDS.items():
        saved = [done.tables[name] for name in tables if name in done.tables]
        if not saved:
            continue
        first = tables[0]
        partly = done.emptied[first] + (saved[0].partly if first != "documents" else 0)  # those are indexed again
        gone = sum(table.gone for table in saved) + sum(done.lost[name] for name in tables)
        complete = done.newest and all(table.whole for table in saved)
        rows = saved[0].rows - done.lost[first]
        if first == "libraries":  # a restored row contains a name at most
            rows, partly, gone = (
                rows + len(done.libraries), partly + len(done.libraries), max(0, gone - len(done.libraries))
            )  # fmt: skip
        kinds.append(Kept(kind, rows, partly, gone, complete))
        if kind == "documents":
            kinds.append(_corrections(done, catalog, complete and not (saved[0].gone or saved[0].partly)))
    return tuple(kinds)


def _corrections(done: Recovery, catalog: Catalog, complete: bool) -> Kept:
    """Return the numbers of users' corrections that were recovered or lost.

    ``complete`` is True if no document rows, which contain corrections, were lost.
    """
    with catalog.reading() as connection:
        query = select(func.count()).where(schema.documents.c.corrections != "{}")
        corrected = int(connection.scalar(query) or 0)
    return Kept("corrections", corrected, 0, done.emptied["corrections"], complete)


def _recovery_notes(done: Recovery, catalog: Catalog) -> list[str]:
    sentences = []
    if not done.newest:
        sentences.append("a part of the log of recent changes is damaged, so the latest changes may be lost")
    if done.libraries:
        sentences.append(f"libraries that were created again under their original names: {', '.join(done.libraries)}")
    if done.unnamed:
        sentences.append(
            f"{counted(done.unnamed, 'upload')} lost their names; uploads of unknown libraries are in the library "
            f"'{RECOVERED}'"
        )
    with catalog.reading() as connection:
        alone = notes.c.doc_id.not_in(select(schema.documents.c.doc_id)) & (notes.c.doc_id != "")
        number = int(connection.scalar(select(func.count()).select_from(notes).where(alone)) or 0)
    if number:
        sentences.append(
            f"{counted(number, 'note')} belong to documents that are missing now; they appear again when the same "
            "files are "
            "indexed into the same libraries"
        )
    saved = done.tables.get("documents")
    if saved is not None and (saved.gone or not saved.whole):
        sentences.append("documents whose files still exist are restored by 'hybrid-pageindex index'")
    if "embeddings" in done.tables and not done.tables["embeddings"].whole:
        sentences.append("missing vectors are made again by 'hybrid-pageindex embed'")
    return sentences


def _index_again(
    parts: Parts, settings: Settings, on_progress: Callable[[IndexProgress], None], stopped: threading.Event
) -> list[FileResult]:
    """Index the files whose document rows or contents were lost. Return the results.

    Archives and mails come first, because an upload without a name may be a file inside one of them.
    """
    catalog, results = parts.catalog, list["FileResult"]()
    for inside in (True, False):
        for library, paths in _list_lost(catalog).items():
            chosen = [path for path in paths if _holds_others(path) == inside]
            if not chosen:
                continue
            call = IndexCall(anew=inside)
            results += index_paths(parts, library, chosen, settings, call, on_progress, stopped).files
        if inside:
            _drop_members(catalog)
    return results


def _list_lost(catalog: Catalog) -> dict[str, list[str]]:
    """Return by library name the paths of files whose document row or content was lost.

    A file inside an archive or mail is listed by the path of the outermost container. Missing files are left out.
    """
    originals, documents = schema.originals.c, schema.documents.c
    same = (documents.library == originals.library, documents.path == originals.path)
    lost = select(documents.library, documents.path).where(documents.content_id.is_(None), documents.error == LOST)
    with catalog.reading() as connection:
        rows = connection.execute(select(originals.library, originals.path).where(~exists().where(*same))).all()
        rows = [*rows, *connection.execute(lost).all()]
    with catalog.snapshot() as snapshot:
        names = {library.id: library.name for library in snapshot.named_libraries()}
    paths_by_library: dict[str, set[str]] = {}
    for library, path in rows:
        outer = next(iter(containers(path)), path)
        if is_there(outer):
            paths_by_library.setdefault(names[library], set()).add(outer)
    return {library: sorted(paths) for library, paths in paths_by_library.items()}


def _left(catalog: Catalog) -> Sequence[str]:
    """Return the paths of the documents whose text is still lost after the recovery."""
    documents = schema.documents.c
    with catalog.reading() as connection:
        query = select(documents.path).where(documents.content_id.is_(None), documents.error == LOST)
        return connection.scalars(query.order_by(documents.path)).all()


def _drop_members(catalog: Catalog) -> None:
    """Delete the records of unnamed uploads that proved to be files inside archives or mails.

    Those files were indexed together with their archive or mail.
    """
    columns = schema.originals.c
    inside = select(columns.file).where(columns.container != "")
    documents = select(schema.documents.c.path).where(schema.documents.c.library == RECOVERED)
    unnamed = columns.path == text(f"'{UPLOAD}' || substr(file, 1, {SHOWN}) || substr(file, {HASH} + 1)")
    mine = (columns.library == RECOVERED, columns.container == "", unnamed, columns.file.in_(inside))
    with catalog.writing() as connection:
        connection.execute(delete(schema.originals).where(*mine, columns.path.not_in(documents)))


def _holds_others(path: str) -> bool:
    from indexers.formats.registry import of_suffix

    format = of_suffix(PurePath(path).suffix)
    return format is not None and format.members is not None


@dataclass(frozen=True, slots=True)
class DocumentEstimate:
    """The estimated model calls for one document. ``pages`` is the number of pages that a vision model would see."""

    doc_id: str
    doc_name: str
    pages: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated model calls for documents of a library.

    The number of calls is exact as far as rules can tell; tokens are rather too high. ``cost`` is None if a model has
    no price (setting model_prices). ``documents`` lists only those that still need calls.
    """

    documents: tuple[DocumentEstimate, ...]
    pages: int
    usage: Usage
    cost: float | None
    notes: tuple[str, ...] = ()


def estimate(
    parts: Parts, settings: Settings, library: str, documents: Sequence[str], stopped: threading.Event
) -> Estimate:
    """Return an estimate of the model calls for these documents of a library, or for all published ones.

    No model is called. Raise NotFoundError for an unknown name.
    """
    with parts.catalog.snapshot() as snapshot:
        rows = library_documents(snapshot, library)
    chosen = [
        document
        for document in (selection.select_by_name(rows, documents) if documents else rows)
        if document.published
    ]
    names = {document.doc_id: document.name for document in chosen}
    counting = replace(settings, enrich="estimate")
    paths = [document.path for document in chosen]
    report = index_paths(parts, library, paths, counting, IndexCall(wished=True), _untold, stopped)
    estimates = tuple(_estimate_of_file(file, names) for file in report.files if file.steps)
    failed = tuple(f"{file.path}: {file.error}" for file in report.files if file.status == "failed")
    cost = report.usage.cost if priced(parts.chat, report.usage) else None
    return Estimate(
        estimates, sum(document.pages for document in estimates), report.usage, cost, (*failed, *report.notes)
    )


def _estimate_of_file(file: FileResult, names: dict[str, str]) -> DocumentEstimate:
    doc_id = file.doc_id or ""
    pages = sum(step.done for step in file.steps if step.step == "pages")
    return DocumentEstimate(doc_id, names.get(doc_id, file.path), pages, file.usage)


def _untold(_: IndexProgress) -> None:
    """Ignore progress reports. This is the default callback."""
