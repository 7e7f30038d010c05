"""Commands that index: index, update, watch, worker, embed, rebuild, recover."""

from __future__ import annotations

import argparse
import asyncio
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from json import dumps
from typing import TYPE_CHECKING

from rich.table import Table

from hybrid_core.errors import UsageError
from hybrid_core.system import on_signals
from hybrid_core.text.prose import counted
from hybrid_core.types.libraries import shown_name
from hybrid_core.types.notes import Note
from hybrid_pageindex.cli.console import console, escape, library_option, tables, wants_json_output
from hybrid_pageindex.cli.index_progress import index_progress, worker_progress
from hybrid_pageindex.cli.output import dump
from hybrid_pageindex.cli.progress import embed_progress
from hybrid_pageindex.engine.engine import Engine

if TYPE_CHECKING:
    from hybrid_core.embed.onnx_model import ExportReport
    from hybrid_core.types.sources import Source
    from hybrid_pageindex.engine.index.reindexing import Kept, RecoveryReport
    from hybrid_pageindex.engine.index.sources import LibraryUpdate, WatchEvent
    from indexers.jobs.embedding import EmbedReport
    from indexers.jobs.report import IndexReport

_LISTED_FILES = 3  # files
_NAMED_FILES = 10  # files of a kind that are named
_CATALOG_STATES = {
    "whole": "The catalog is undamaged: nothing was changed.",
    "missing": "The home had no catalog: a new one was created.",
    "damaged": "The catalog was damaged: a new catalog with everything that could be read has replaced it.",
}


async def index_command(engine: Engine, options: argparse.Namespace) -> int:
    if not options.paths:
        return await _update_libraries(engine, options)
    paths, name = options.paths, getattr(options, "name", None)
    if "-" in paths:
        if len(paths) > 1 or name is None:
            raise UsageError(
                "Standard input (-) cannot be indexed together with other paths, and its text needs a file name.",
                "Give only - and a file name: index - --name notes.md",
            )
        paths = sys.stdin.buffer.read()
    with index_progress(json=wants_json_output(options)) as on_progress:
        report = await engine.index(
            paths,
            name=name,
            library=library_option(options),
            workers=options.workers,
            password=options.password,
            prune=options.prune,
            check_hashes=options.check_hashes,
            outline=options.outline,
            vision=options.vision,
            enrich=options.enrich,
            detach=options.detach,
            upload=options.upload,
            on_progress=on_progress,
        )
    return _report_index(report, options)


def _report_index(report: IndexReport, options: argparse.Namespace) -> int:
    if wants_json_output(options):
        dump(asdict(report) | {"usage": asdict(report.usage)})
    else:
        show_index_report(report)
    return 1 if any(file.status == "failed" for file in report.files) else 0


async def rebuild_command(engine: Engine, options: argparse.Namespace) -> int:
    if options.index:
        if options.documents or options.detach:
            raise UsageError(
                "--index rebuilds the search index of a whole library, so it cannot be combined with "
                "documents or --detach.",
                "Leave out the documents and --detach, or leave out --index.",
            )
        vectors = await engine.admin.rebuild_index(library_option(options) or "default", everything=options.all)
        dump({"vectors": vectors}) if wants_json_output(options) else show_indexes_rebuilt(vectors)
        return 0
    with index_progress(json=wants_json_output(options)) as on_progress:
        report = await engine.documents.rebuild(
            options.documents, library=library_option(options), everything=options.all, password=options.password,
            workers=options.workers, detach=options.detach, on_progress=on_progress,
        )  # fmt: skip
    return _report_index(report, options)


async def embed_command(engine: Engine, options: argparse.Namespace) -> int:
    if options.resume and options.embedder:
        raise UsageError(
            "--resume always uses the embedder of the library, so --embedder cannot be given with it.",
            "Use only one of --embedder and --resume.",
        )
    if options.export:
        exported = await engine.models.export_embedder(options.export, options.embedder)
        dump(asdict(exported)) if wants_json_output(options) else show_export(exported)
        return 0
    with embed_progress(quiet=wants_json_output(options)) as on_progress:
        report = await engine.models.embed(options.embedder, library=library_option(options), on_progress=on_progress)
    if wants_json_output(options):
        dump({"embedder": "none"} if report is None else asdict(report))
    else:
        show_embedding(report)
    return 0


async def worker_command(engine: Engine, options: argparse.Namespace) -> int:
    if options.alive:
        workers = (await engine.jobs.list(limit=1)).workers
        alive = sum(worker.kind == "worker" and worker.host.partition(":")[0] == platform.node() for worker in workers)
        dump({"alive": alive}) if wants_json_output(options) else show_workers_alive(alive)
        return 0 if alive else 1
    if options.watch and options.only:
        raise UsageError(
            "A worker with --watch runs jobs of all kinds, so --only cannot be used with it.",
            "Use only one of --watch and --only.",
        )
    work = asyncio.current_task()
    if work is not None:  # a signal ends it in order: what it has goes back to the queue
        on_signals(("SIGTERM",), work.cancel)
    with suppress(asyncio.CancelledError), worker_progress(json=wants_json_output(options)) as on_progress:
        do = engine.sources.watch if options.watch else partial(engine.jobs.work, kind=options.only)
        await do(concurrency=options.concurrency, on_progress=on_progress)
    return 0


async def _update_libraries(engine: Engine, options: argparse.Namespace) -> int:
    """Run ``index`` without paths: update libraries from their sources. Return the exit code."""
    json, library = getattr(options, "json", False), getattr(options, "library", None)
    with index_progress(json=json) as on_progress:
        updates = await engine.update(
            library=library, workers=options.workers, password=options.password, prune=options.prune or None,
            check_hashes=options.check_hashes, outline=options.outline, vision=options.vision, enrich=options.enrich,
            detach=options.detach, on_progress=on_progress,
        )  # fmt: skip
    if json:
        dump(
            {
                "libraries": [
                    asdict(update) | {"moved": [{"from": old, "to": new} for old, new in update.moved]}
                    for update in updates
                ]
            }
        )
    else:
        for update in updates:
            _show_update(update)
    return 1 if any(file.status == "failed" for update in updates for file in update.report.files) else 0


async def watch_command(engine: Engine, options: argparse.Namespace) -> int:
    library, json = getattr(options, "library", None), getattr(options, "json", False)
    if options.action is None:
        return await _watch_until_ended(engine, library, json)
    if options.action == "list":
        sources = await engine.sources.list(library=library)
        dump({"sources": [asdict(source) for source in sources]}) if json else _show_sources(sources)
        return 0
    if options.action == "add":
        source = await engine.sources.watch_folder(
            options.folder,
            library=library,
            poll=options.poll,
            outline=options.outline,
            vision=options.vision,
            enrich=options.enrich,
        )
    else:
        source = await engine.sources.unwatch_folder(options.folder, library=library, forget=options.forget)
        if options.forget and not json:
            console.print(escape(f"{source.library}: {source.path} is no longer a source; its documents stay"))
            return 0
    dump(asdict(source)) if json else _show_sources([source])
    return 0


async def recover_command(engine: Engine, options: argparse.Namespace) -> int:
    """Recover the catalog. Return 0 if nothing was lost, 1 if data were or may be lost."""
    json = getattr(options, "json", False)
    with index_progress(json=json) as on_progress:
        report = await engine.admin.recover(on_progress=on_progress)
    if json:
        dump(asdict(report) | {"complete": report.complete})
    else:
        _show_recovery(report)
    return 0 if report.complete else 1


async def _watch_until_ended(engine: Engine, library: str | None, json: bool) -> int:
    """Watch folders and index their changes until Ctrl-C or SIGTERM. Return exit code 0."""
    folders = [source.path for source in await engine.sources.list(library=library) if source.watch]
    if not json:
        now = ", ".join(folders) or "no folder is watched yet: add one with 'watch add FOLDER'"
        console.print(f"watching {escape(now)} (Ctrl-C ends it)")
    watching = asyncio.ensure_future(
        engine.sources.watch(library=library, on_event=_print_event if json else _show_event)
    )
    on_signals(("SIGINT", "SIGTERM"), watching.cancel)
    with suppress(asyncio.CancelledError):
        await watching
    return 0


def group_notes(notes: Iterable[tuple[str, Note]]) -> list[str]:
    """Return lines of text for the notes of files. ``notes`` are pairs of a file and its notes, joined by semicolons.

    Notes that several files share come first, once each. Then each file has a line with its own notes.
    """
    files: dict[Note, list[str]] = {}
    for file, note in notes:
        for part in note.parts:
            files.setdefault(part, []).append(file)
    shared = [f"{part} ({_file_list(names)})" for part, names in files.items() if len(names) > 1]
    alone: dict[str, list[Note]] = {}
    for part, (file, *others) in files.items():
        if not others:
            alone.setdefault(file, []).append(part)
    return shared + [f"{file}: {'; '.join(parts)}" for file, parts in alone.items()]


def _file_list(files: list[str]) -> str:
    named = ", ".join(files[:_LISTED_FILES])
    more = f" and {len(files) - _LISTED_FILES} more" if len(files) > _LISTED_FILES else ""
    return f"{counted(len(files), 'file')}: {named}{more}"


def show_index_report(report: IndexReport) -> None:
    counts = {status: sum(f.status == status for f in report.files) for status in ("indexed", "unchanged", "failed")}
    pages = sum(file.pages for file in report.files if file.status == "indexed")
    console.print(
        f"{counts['indexed']} indexed ({counted(pages, 'page')}), {counts['unchanged']} unchanged, "
        f"{counts['failed']} failed" + (f", {len(report.removed)} removed" if report.removed else "")
    )
    for file in report.files:
        if file.status == "failed":
            console.print(f"  [red]failed[/] {escape(file.path)}: {escape(file.error or '')}")
    for file_note in group_notes(
        (shown_name(file.path), file.note) for file in report.files if file.note and not file.error
    ):
        console.print(f"  [yellow]note[/] {escape(file_note)}")
    if any(file.steps for file in report.files):
        _show_model_usage(report)
    for note in report.notes:
        console.print(f"[yellow]note[/] {escape(note)}")


def _show_model_usage(report: IndexReport) -> None:
    """Print for each file what models did and how many tokens they used."""
    table = Table(
        "models", "pages", "sections", "failed", "calls", "cached", "tokens in", "out", "cost", "seconds",
        box=None, header_style="bold", pad_edge=False,
    )  # fmt: skip
    worked = [file for file in report.files if file.steps]
    for name, files, usage in [
        *((shown_name(file.path), [file], file.usage) for file in worked),
        *([("together", worked, report.usage)] if len(worked) > 1 else []),
    ]:
        steps = [step for file in files for step in file.steps]
        done = {kind: sum(step.done for step in steps if step.step == kind) for kind in ("pages", "sections")}
        table.add_row(
            escape(name), str(done["pages"]), str(done["sections"]), str(sum(step.failed for step in steps)),
            f"{usage.calls:,}", f"{usage.cached:,}", f"{usage.input_tokens:,}", f"{usage.output_tokens:,}",
            f"{usage.cost:.4f}" if usage.cost else "-", f"{sum(file.model_seconds for file in files):.1f}",
        )  # fmt: skip
    tables().print(table)


def show_export(report: ExportReport) -> None:
    console.print(
        f"{escape(report.model)} is exported to [bold]{escape(report.folder)}[/] "
        f"({report.megabytes} MB, 8-bit weights). Its vectors have a mean cosine of "
        f"{report.cosine:.3f} with those of the original model (lowest: "
        f"{report.least_cosine:.3f})."
    )
    console.print(f"Use it with: embed --embedder onnx:{escape(report.folder)}")


def show_embedding(report: EmbedReport | None) -> None:
    if report is None:
        console.print("the vectors were removed; searches rank by words and section trees")
        return
    console.print(
        f"{counted(report.documents, 'document')} embedded by {escape(report.embedder)} "
        f"({report.dimension} dimensions): "
        f"{counted(report.vectors, 'vector')} made, {report.reused} reused, {report.seconds:.1f} s"
    )
    if not report.serving:
        console.print(
            "[yellow]note[/] documents were added meanwhile; run embed again so that searches use the new vectors"
        )


def show_workers_alive(alive: int) -> None:
    console.print(f"{counted(alive, 'worker')} of this machine")


def show_indexes_rebuilt(vectors: Mapping[str, int]) -> None:
    for library, number in vectors.items():
        console.print(f"{escape(library)}: the search index was rebuilt with {number} vectors")


def _print_event(event: WatchEvent) -> None:
    print(dumps(asdict(event)), flush=True)


def _show_event(event: WatchEvent) -> None:
    detail = f" ({event.detail})" if event.detail else ""
    console.print(escape(f"{event.event:<10} {event.library}: {event.path}{detail}"))
    sys.stdout.flush()


def _show_update(update: LibraryUpdate) -> None:
    counts = [("new", update.new), ("changed", update.changed), ("moved", update.moved), ("gone", update.gone)]
    summary = ", ".join(f"{len(paths)} {word}" for word, paths in counts if paths)
    console.print(f"[bold]{escape(update.library)}[/]: {summary or 'nothing has changed'}")
    for word, paths in (("new", update.new), ("changed", update.changed), ("gone", update.gone)):
        _show_paths(word, paths, " (removed)" if word == "gone" and update.report.removed else "")
    _show_paths("moved", [f"{old} -> {new}" for old, new in update.moved])
    show_index_report(update.report)
    if update.gone and not update.report.removed:
        console.print("[yellow]note[/] documents whose files are missing stay until index --prune removes them")


def _show_paths(word: str, paths: Sequence[str], after: str = "") -> None:
    for path in paths[:_NAMED_FILES]:
        console.print(f"  {word:<8} {escape(path)}{after}")
    if len(paths) > _NAMED_FILES:
        console.print(f"  {word:<8} and {len(paths) - _NAMED_FILES} more")


def _show_sources(sources: Sequence[Source]) -> None:
    words = {"": "no", "auto": "yes", "poll": "yes, by polling"}
    for source in sources:
        options = "".join(
            f", {name} {value}" if value is not True else f", {name}" for name, value in source.options.items()
        )
        console.print(
            f"{escape(source.library)}: {escape(source.path)} ({source.kind}{escape(options)}), "
            f"watched: {words[source.watch]}"
        )
    if not sources:
        console.print("No library is updated from a file or folder yet. Add one with: hybrid-pageindex index PATH")


def _show_recovery(report: RecoveryReport) -> None:
    print_line = console.print
    print_line(_CATALOG_STATES[report.catalog])
    if report.damaged:
        print_line(escape(f"The damaged catalog was moved to {report.damaged}"))
    shown = [kind for kind in report.kinds if kind.kept or kind.gone or not kind.complete]
    if shown:
        table = Table("", box=None, pad_edge=False)
        for title in ("kept", "partly", "gone"):
            table.add_column(title, justify="right")
        for kind in shown:
            table.add_row(kind.kind, f"{kind.kept:,}", f"{kind.partly:,}" if kind.partly else "", _lost_count(kind))
        tables().print(table)
    if report.indexed:
        print_line(f"{counted(report.indexed, 'document')} indexed again.")
    for path, why in report.failed:
        print_line(escape(f"Not indexed: {path} ({why})"))
    for note in report.notes:
        print_line(escape(f"Note: {note}."))
    print_line("Nothing was lost." if report.complete else "Some data were lost, or may be lost.")


def _lost_count(kind: Kept) -> str:
    if kind.complete:
        return f"{kind.gone:,}"
    return f"{kind.gone:,} or more"
