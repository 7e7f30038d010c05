"""Commands about libraries and the home (data folder): name, clear, restore, migrate, check, jobs and usage."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from hybrid_core.errors import UsageError
from hybrid_core.text.prose import counted
from hybrid_core.types.libraries import Library
from hybrid_pageindex.cli.console import console, escape, library_option, tables, wants_json_output
from hybrid_pageindex.cli.documents import document_dict, show_document, show_removed
from hybrid_pageindex.cli.output import dump
from hybrid_pageindex.cli.progress import contents_progress
from hybrid_pageindex.engine.engine import Engine

if TYPE_CHECKING:
    from hybrid_core.store.catalog.bin import BinEntry
    from hybrid_pageindex.engine.accounts import UsageReport
    from hybrid_pageindex.engine.health import Health
    from hybrid_pageindex.engine.job_views import JobHistory, JobList
    from hybrid_pageindex.engine.libraries.libraries import HomeSize, LibrarySize
    from hybrid_pageindex.engine.libraries.migration import CatalogCopy, Migration

_STATUS_COLOURS = {"failed": "red", "running": "green", "cancelled": "yellow"}
_DETAIL_LENGTH = 100  # maximum characters of an event's detail
_UNLISTED_FIELDS = ("at", "kind")


async def libraries_command(engine: Engine, options: argparse.Namespace) -> int:
    if options.action is not None:
        return await _name_library(engine, options)
    sizes = await engine.libraries.list(options.find)
    if wants_json_output(options):
        dump({"home": str(engine.home), "libraries": [asdict(size) for size in sizes]})
    else:
        show_libraries(sizes, engine.home)
    return 0


async def _name_library(engine: Engine, options: argparse.Namespace) -> int:
    if options.action == "create":
        library = await engine.libraries.create(options.name, alias=options.alias)
    elif options.action == "rename":
        library = await engine.libraries.name(options.name, name=options.new)
    else:
        library = await engine.libraries.name(options.name, alias=options.alias)
    dump(asdict(library)) if wants_json_output(options) else show_library(library)
    return 0


async def info_command(engine: Engine, options: argparse.Namespace) -> int:
    if options.document is None:
        home = await engine.libraries.overview()
        dump(asdict(home)) if wants_json_output(options) else show_home(home)
        return 0
    document = await engine.documents.get(options.document, library=library_option(options))
    dump(document_dict(document)) if wants_json_output(options) else show_document(document)
    return 0


async def clear_command(engine: Engine, options: argparse.Namespace) -> int:
    library = library_option(options)
    what = f"library '{library}'" if library else "all libraries"
    if not options.yes:
        if library:
            restorable = "" if options.for_good else "; it can be restored for 30 days"
            goes = "with its notes, corrections, feedback and uploaded files"
            stays = f"conversations and your own files stay{restorable}"
        else:
            goes, stays = "with the bin, uploaded files, conversations, notes, tokens and users", "your own files stay"
        raise UsageError(f"This command deletes {what} in {engine.home}, {goes} ({stays}).", "Add --yes to confirm.")
    about = await engine.conversations.about(library) if library else 0
    entry = ""
    if library and not options.for_good:
        entry = next((named.id for named in await engine.libraries.named() if named.called(library)), "")
    cleared = await engine.libraries.clear(library=library, for_good=options.for_good)
    if wants_json_output(options):
        dump({"cleared": cleared} | ({"conversations_kept": about, "bin": entry} if library else {}))
        return 0
    show_removed([f"library {name}" for name in cleared], entry)
    if about:
        show_conversations_left(about)
    if not library:
        show_home_cleared(engine.home)
    return 0


async def bin_command(engine: Engine, options: argparse.Namespace) -> int:
    if options.action == "restore":
        entry = await engine.bin.restore(options.entry)
        dump(asdict(entry)) if wants_json_output(options) else show_restored(entry)
    elif options.action == "empty":
        if options.entry is None and not options.yes:
            raise UsageError(
                "This command deletes everything in the bin for good, also its uploaded files.",
                "Name an entry of the bin to delete only that entry, or add --yes to confirm.",
            )
        number = await engine.bin.empty(options.entry)
        dump({"deleted": number}) if wants_json_output(options) else console.print(
            f"{counted(number, 'entry', 'entries')} of the bin {'was' if number == 1 else 'were'} deleted for good"
        )
    else:
        entries = await engine.bin.list()
        dump({"entries": [asdict(entry) for entry in entries]}) if wants_json_output(options) else show_bin(entries)
    return 0


async def migrate_command(engine: Engine, options: argparse.Namespace) -> int:
    if options.objects:
        originals = await engine.admin.upload_originals()
        dump({"originals": originals}) if wants_json_output(options) else show_originals_uploaded(originals)
        return 0
    if options.replicas:
        copies = await engine.admin.complete_replicas()
        dump({"replicas": copies}) if wants_json_output(options) else show_replicas_completed(copies)
        return 0
    if options.schema:
        schema = await engine.admin.upgrade_catalog()
        dump({"schema": schema}) if wants_json_output(options) else show_catalog_upgraded(schema)
        return 0
    if options.catalog:
        copied = await engine.admin.copy_catalog(options.catalog)
        dump(asdict(copied)) if wants_json_output(options) else show_catalog_copied(copied)
        return 0
    moved = await engine.admin.migrate(options.to, library=library_option(options))
    dump({"migrated": [asdict(migration) for migration in moved]}) if wants_json_output(options) else show_migrations(
        moved
    )
    return 0


async def backup_command(engine: Engine, options: argparse.Namespace) -> int:
    report = await engine.admin.backup(Path(options.file))
    if wants_json_output(options):
        dump(asdict(report))
    else:
        console.print(
            f"{escape(report.file)} holds {counted(report.documents, 'document')} of "
            f"{counted(report.libraries, 'library', 'libraries')} and {counted(report.originals, 'original')}, "
            f"{report.bytes / 1e6:.1f} MB"
        )
        show_missing_originals(report.missing)
    return 1 if report.missing else 0


async def restore_command(engine: Engine, options: argparse.Namespace) -> int:
    report = await engine.admin.restore(Path(options.file), check=options.check)
    if wants_json_output(options):
        dump(asdict(report) | {"ok": report.ok})
    else:
        done = "The backup can be restored: it holds" if report.checked else "Restored:"
        console.print(
            f"{done} {counted(report.documents, 'document')} of "
            f"{counted(report.libraries, 'library', 'libraries')}, {counted(report.originals, 'original')} and "
            f"{counted(report.rows, 'row')}"
        )
        show_missing_originals(report.missing)
        for name in report.differing:
            console.print(escape(f"Differs from what was backed up: {name}"))
    return 0 if report.ok else 1


def show_missing_originals(names: Sequence[str]) -> None:
    for name in names:
        console.print(escape(f"The original {name} is missing"))


async def doctor_command(engine: Engine, options: argparse.Namespace) -> int:
    with contents_progress() as on_progress:
        health = await engine.admin.doctor(deep=options.deep, mend=options.mend, on_progress=on_progress)
    dump(asdict(health) | {"ok": health.ok}) if wants_json_output(options) else show_health(health)
    return 0 if health.ok else 1


async def jobs_command(engine: Engine, options: argparse.Namespace) -> int:
    json, library = getattr(options, "json", False), getattr(options, "library", None)
    if options.action in (None, "list"):
        queue = await engine.jobs.list(
            library=library, status=getattr(options, "status", ()), limit=getattr(options, "limit", 50)
        )
        dump(queue.to_dict()) if json else _show_jobs(queue)
    elif options.action == "show":
        history = await engine.jobs.get(options.job)
        dump(history.to_dict()) if json else _show_job(history)
    else:
        decide = getattr(engine.jobs, options.action)
        decided = await decide(*options.jobs, library=library, everything=options.all)
        dump(asdict(decided)) if json else console.print(escape(decided.said))
    return 0


async def usage_command(engine: Engine, options: argparse.Namespace) -> int:
    report = await engine.models.usage(options.since, options.until)
    if getattr(options, "json", False):
        dump(asdict(report))
        return 0
    names = {library.id: library.name for library in await engine.libraries.named()}
    _show_usage(report, names)
    return 0


def show_libraries(sizes: Sequence[LibrarySize], home: Path | str) -> None:
    table = Table(
        "library", "searchable", "pages", "waiting", "failed", "vector index", "embedder",
        box=None, header_style="bold", pad_edge=False,
    )  # fmt: skip
    for size in sizes:
        table.add_row(
            escape(size.name + (f" ({size.alias})" if size.alias else "")), str(size.documents), str(size.pages),
            str(size.waiting), str(size.failed), _megabytes(size.vector_bytes), escape(_embedder_line(size)),
        )  # fmt: skip
    tables().print(table) if sizes else console.print(f"No library in {escape(str(home))} yet.")
    for size in sizes:
        if size.last_error:
            console.print(f"[yellow]failed[/] {escape(size.name)}: {escape(size.last_error)}")


def show_library(library: Library) -> None:
    alias = f", also called {library.alias}" if library.alias else ""
    console.print(f"library {escape(library.name)}{escape(alias)}")


def show_home(home: HomeSize) -> None:
    show_libraries(home.libraries, home.home)
    parts = {
        "catalog": home.catalog_bytes, "cache": home.cache_bytes, "indexes": home.index_bytes,
        "kept files": home.original_bytes,
    }  # fmt: skip
    taken = ", ".join(f"{name} {_megabytes(size)}" for name, size in parts.items() if size)
    console.print(f"{escape(home.home)}: {_megabytes(sum(parts.values()))} ({taken})")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def _embedder_line(size: LibrarySize) -> str:
    if not size.embedder:
        return "none"
    coming = f" ({size.next_embedder} is being built)" if size.next_embedder else ""
    return f"{size.embedder}, {size.embedded} of {size.documents} documents{coming}"


def show_home_cleared(home: Path | str) -> None:
    """Print which files remain in the home folder after everything was cleared, and how to delete them."""
    console.print(
        "Tokens, users, conversations and notes were deleted, too. The file config.yaml stays, and so does the usage "
        "of "
        f"models, without names, because monthly limits count it. Delete {escape(str(home))} to remove both."
    )


def show_conversations_left(number: int) -> None:
    """Print how many conversations remain after a library was deleted, and how to delete them."""
    stay = "stays, with what it quotes" if number == 1 else "stay, with what they quote"
    console.print(
        f"{counted(number, 'conversation')} about it {stay}; the sources are shown as removed. "
        "'chat list' shows the conversations, and 'chat remove ID' deletes one."
    )


def show_bin(entries: Sequence[BinEntry]) -> None:
    """Print the removed documents and libraries in the bin, newest first."""
    for entry in entries:
        more = entry.documents - len(entry.names)
        names = ", ".join(entry.names) + (f" and {more} more" if more > 0 else "")
        what = f"library {entry.library}" if entry.kind == "library" else f"{names} of {entry.library}"
        console.print(
            f"{escape(entry.id)}  {escape(what)}  ({counted(entry.documents, 'document')}, "
            f"{counted(entry.pages, 'page')}; removed {entry.removed_at[:10]}, deleted after {entry.expires_at[:10]})"
        )
    if not entries:
        console.print("The bin is empty.")


def show_restored(entry: BinEntry) -> None:
    """Print which documents or library were restored from the bin."""
    documents = counted(entry.documents, "document")
    where = f"library {entry.library} is back" if entry.kind == "library" else f"back in {entry.library}"
    console.print(escape(f"{where}: {documents}"))


def show_migrations(moved: Sequence[Migration]) -> None:
    table = Table("library", "now", "vectors", "catalog", "seconds", box=None, header_style="bold", pad_edge=False)
    for migration in moved:
        table.add_row(
            escape(migration.library),
            migration.to,
            str(migration.vectors),
            str(migration.expected),
            f"{migration.seconds:.1f}",
        )
    tables().print(table) if moved else console.print("This home has no library to move.")
    for migration in moved:
        for note in migration.notes:
            console.print(f"[yellow]note[/] {escape(migration.library)}: {escape(note)}")


def show_replicas_completed(copies: Mapping[str, int]) -> None:
    total = sum(copies.values())
    console.print(
        f"{total} copies were made; all shards of {len(copies)} collections now have the configured number of replicas"
    )


def show_catalog_copied(copied: CatalogCopy) -> None:
    console.print(
        f"{copied.rows} rows of {len(copied.tables)} tables were copied to {escape(copied.to)}, and each table was "
        "compared with its source"
    )
    console.print(escape(copied.next))


def show_catalog_upgraded(schema: int) -> None:
    console.print(f"The catalog has the current format (schema {schema}).")


def show_originals_uploaded(originals: int) -> None:
    console.print(f"The bucket now has {counted(originals, 'original file')} of this home; the copies in the home stay")


def show_health(health: Health) -> None:
    console.print(f"hybrid-pageindex {health.version}, home {escape(health.home)}")
    for check in health.checks:
        mark = "[green]ok[/]    " if check.ok else "[red]failed[/]"
        console.print(f"{mark} {escape(check.name)}: {escape(check.detail)}")


def _show_jobs(queue: JobList) -> None:
    if queue.jobs:
        table = Table(box=None, pad_edge=False)
        table.add_column("job", justify="right")
        for column in ("library", "what", "state"):
            table.add_column(column, overflow="fold")
        for view in queue.jobs:
            colour = _STATUS_COLOURS.get(view.job.status)
            state = escape(view.state)
            table.add_row(
                str(view.job.id), escape(view.library), escape(_job_title(view.job.kind, view.job.subject)),
                f"[{colour}]{state}[/]" if colour else state,
            )  # fmt: skip
        tables().print(table)
    counts = queue.counts
    summary = [f"{getattr(counts, name)} {name}" for name in ("running", "waiting", "failed") if getattr(counts, name)]
    console.print(", ".join(summary) or "No job runs or waits.")
    if queue.paused:
        console.print(f"[yellow]paused[/] {escape(', '.join(queue.paused))}: continue with 'jobs resume'")


def _show_job(history: JobHistory) -> None:
    view = history.view
    console.print(f"[bold]job {view.job.id}[/] {escape(view.job.kind)} {escape(view.job.subject)}")
    console.print(f"library {escape(view.library)}\nstate   {escape(view.state)}")
    for event in history.to_dict()["events"]:
        detail = ", ".join(f"{name} {value}" for name, value in event.items() if name not in _UNLISTED_FIELDS)
        line = detail if len(detail) <= _DETAIL_LENGTH else detail[: _DETAIL_LENGTH - 1] + "…"
        console.print(f"  {event['at']}  {event['kind']:<9} {escape(line)}")


def _job_title(kind: str, subject: str) -> str:
    return Path(subject).name if kind == "index" else f"{kind} {subject}"


def _show_usage(report: UsageReport, names: dict[str, str]) -> None:
    if report.days:
        table = Table("day", "model", "library", "who", box=None, pad_edge=False)
        for title in ("calls", "in", "out", "cost"):
            table.add_column(title, justify="right")
        for row in report.days:
            labels = (row.day, row.model, names.get(row.library, row.library), row.who)
            cost = "no price" if row.unpriced else f"{row.cost:.4f}"
            numbers = (f"{row.calls:,}", f"{row.input_tokens:,}", f"{row.output_tokens:,}", cost)
            table.add_row(*map(escape, labels), *numbers)
        tables().print(table)
    else:
        console.print("No model was called.")
    of = f" of {report.monthly_spending:g}" if report.monthly_spending else ""
    tokens = f" of {report.monthly_tokens:,}" if report.monthly_tokens else ""
    console.print(
        f"This month: {report.month_cost:.2f}{of} spent; {report.month_unpriced:,}{tokens} "
        "tokens of models without a price."
    )
    for note in report.notes:
        console.print(escape(f"Note: {note}."))
