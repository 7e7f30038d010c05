"""One function per command: call the engine, show what it says."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import signal
import sys
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid_core.errors import StoreError, UsageError
from hybrid_core.types.requests import OPTIONS, SearchRequest
from hybrid_pageindex.doors.cli import answers, show
from hybrid_pageindex.doors.cli.output import dump
from hybrid_pageindex.doors.cli.progress import contents_progress, embed_progress
from hybrid_pageindex.engine import Engine

if TYPE_CHECKING:
    from indexers.formats.drawing import ImageFormat
    from indexers.stages.report import IndexReport

_IMAGES: dict[str, ImageFormat] = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg"}


def run(options: argparse.Namespace) -> int:
    """Carry out the parsed command; returns the exit code."""
    engine = Engine(getattr(options, "home", None))
    try:
        return asyncio.run(_COMMANDS[options.command](engine, options))
    finally:
        engine.close()


def _json(options: argparse.Namespace) -> bool:
    return getattr(options, "json", False)


def _library(options: argparse.Namespace) -> str | None:
    return getattr(options, "library", None)


async def _index(engine: Engine, options: argparse.Namespace) -> int:
    if not options.paths:
        from hybrid_pageindex.doors.cli.sources import update

        return await update(engine, options)
    from hybrid_pageindex.doors.cli.index_progress import index_progress

    paths, name = options.paths, getattr(options, "name", None)
    if "-" in paths:
        if len(paths) > 1 or name is None:
            raise UsageError("Standard input is indexed alone and under a name.", "Type: index - --name notes.md")
        paths = sys.stdin.buffer.read()
    with index_progress(json=_json(options)) as on_progress:
        report = await engine.index(
            paths,
            name=name,
            library=_library(options),
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
    return _reported(report, options)


def _reported(report: IndexReport, options: argparse.Namespace) -> int:
    if _json(options):
        dump(asdict(report) | {"usage": asdict(report.usage)})
    else:
        show.index_report(report)
    return 1 if any(file.status == "failed" for file in report.files) else 0


async def _worker(engine: Engine, options: argparse.Namespace) -> int:
    from hybrid_pageindex.doors.cli.index_progress import worker_progress

    if options.alive:
        import platform

        workers = (await engine.jobs(most=1)).workers
        alive = sum(one.kind == "worker" and one.host.partition(":")[0] == platform.node() for one in workers)
        dump({"alive": alive}) if _json(options) else show.workers_alive(alive)
        return 0 if alive else 1
    if options.watch and options.only:
        raise UsageError("A worker that watches does all kinds of jobs.", "Leave --watch or --only away.")
    work = asyncio.current_task()
    if work is not None:  # a signal ends it in order: what it has goes back to the queue
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, work.cancel)
    with suppress(asyncio.CancelledError), worker_progress(json=_json(options)) as on_progress:
        do = engine.watch if options.watch else partial(engine.work, kind=options.only)
        await do(concurrency=options.concurrency, on_progress=on_progress)
    return 0


async def _embed(engine: Engine, options: argparse.Namespace) -> int:
    if options.resume and options.embedder:
        raise UsageError("--resume goes on with the embedder that is recorded.", "Leave --embedder or --resume away.")
    if options.export:
        exported = await engine.export_embedder(options.export, options.embedder)
        dump(asdict(exported)) if _json(options) else show.export_report(exported)
        return 0
    with embed_progress(quiet=_json(options)) as on_progress:
        report = await engine.embed(options.embedder, library=_library(options), on_progress=on_progress)
    if _json(options):
        dump({"embedder": "none"} if report is None else asdict(report))
    else:
        show.embed_report(report)
    return 0


async def _search(engine: Engine, options: argparse.Namespace) -> int:
    with answers.steps(quiet=_json(options)) as on_step:
        result = await engine.search(_request(options), on_step=on_step)
    if _json(options):
        dump(result.to_dict())
    else:
        show.search_result(result, parts=options.why, effort=options.why or options.effort in ("auto", "deep"))
    return 0


async def _ask(engine: Engine, options: argparse.Namespace) -> int:
    streamed = answers.Streamed(quiet=_json(options))
    with answers.steps(quiet=_json(options)) as on_step:
        answer = await engine.ask(
            _request(options),
            force=options.force,
            vision=options.vision,
            on_text=streamed.piece,
            on_step=on_step,
        )
    dump(answer.to_dict()) if _json(options) else answers.show_answer(answer, streamed)
    return 1 if answer.status == "model_failed" else 0


def _question(options: argparse.Namespace) -> str:
    """Raises UsageError where it was typed without quotes: a shell takes some of its signs for its own."""
    words: list[str] = options.question
    if len(words) > 1:
        raise UsageError(
            "The question is not in quotes.",
            f"Type: hybrid-pageindex {options.command} {json.dumps(' '.join(words), ensure_ascii=False)}",
        )
    return words[0]


def _request(options: argparse.Namespace) -> SearchRequest:
    return SearchRequest(_question(options), **{name: getattr(options, name) for name in OPTIONS})


async def _chat(engine: Engine, options: argparse.Namespace) -> int:
    from hybrid_pageindex.doors.cli.chat import chat

    return await chat(engine, options)


async def _outline(engine: Engine, options: argparse.Namespace) -> int:
    if options.text and options.format == "text" and not _json(options):
        raise UsageError("--text needs a format that holds texts.", "Add --format pageindex, or --json.")
    found = await engine.outline(
        options.document, library=_library(options), query=options.query, depth=options.depth, text=options.text,
        expert=options.expert,
    )  # fmt: skip
    if options.format == "pageindex":
        dump(found.to_pageindex())
    elif options.format == "json" or _json(options):
        dump(found.to_dict())
    else:
        show.outline(found)
    return 0


async def _brief(engine: Engine, options: argparse.Namespace) -> int:
    found = await engine.briefing(options.document, library=_library(options), model=options.model)
    dump(found.to_dict()) if _json(options) else show.briefing(found)
    return 0


async def _page(engine: Engine, options: argparse.Namespace) -> int:
    library, wanted, at = _library(options), options.pages, None
    if options.quote:
        at = await engine.find_place(options.document, wanted, options.quote, library=library)
        wanted = str(at.page)
    pages = await engine.pages(options.document, wanted, library=library)
    if options.tables:
        pages = [await engine.with_tables(page, library=library) for page in pages]
    images: list[str] = []
    if options.view != "page" and not options.image:
        raise UsageError("--view says how a page is drawn, and no --image is asked for.", "Add --image FILE.png.")
    if options.image:
        target = Path(options.image)
        kind = _IMAGES.get(target.suffix.lower())
        if kind is None:
            raise UsageError(f"'{target}' does not end in .png or .jpg.", "Images are written as PNG or JPEG.")
        for page in pages:
            image = await engine.page_image(
                page.doc_id, page.page, library=library, password=options.password, format=kind, view=options.view
            )
            path = target if len(pages) == 1 else target.with_stem(f"{target.stem}-{page.page}")
            try:
                path.write_bytes(image)
            except OSError as error:
                raise StoreError(f"{path}: cannot be written ({error.strerror}).", "Choose another file.") from error
            images.append(str(path))
    if _json(options):
        dump({"pages": [page.to_dict() for page in pages], "images": images} | ({"found": asdict(at)} if at else {}))
    else:
        show.pages(pages, images)
        if at is not None:
            show.found_place(at)
    return 0


async def _open(engine: Engine, options: argparse.Namespace) -> int:
    from hybrid_pageindex.doors.cli.viewer import show_file

    library, page = _library(options), options.page
    if page is not None:
        await engine.pages(options.document, page, library=library)  # there is such a page
    document = await engine.info(options.document, library=library)
    file = await engine.original(document.doc_id, library=library)
    show_file(file, page)
    if _json(options):
        dump({"file": str(file), "page": page})
    else:
        show.opened(document.name, page)
    return 0


async def _list(engine: Engine, options: argparse.Namespace) -> int:
    documents = await engine.documents(library=_library(options), where=options.where)
    dump({"documents": [show.document_dict(d) for d in documents]}) if _json(options) else show.documents(
        documents, filtered=bool(options.where)
    )
    return 0


async def _info(engine: Engine, options: argparse.Namespace) -> int:
    if options.document is None:
        found = await engine.overview()
        dump(asdict(found)) if _json(options) else show.home(found)
        return 0
    document = await engine.info(options.document, library=_library(options))
    dump(show.document_dict(document)) if _json(options) else show.info(document)
    return 0


async def _edit(engine: Engine, options: argparse.Namespace) -> int:
    pairs = [one.partition("=") for one in options.set]
    if wrong := next((one for one, pair in zip(options.set, pairs, strict=True) if not pair[1]), None):
        raise UsageError(f"'{wrong}' is no correction.", "Write --set FIELD=VALUE, for example --set year=2022.")
    changes = {field: value for field, _, value in pairs}
    document = await engine.edit(options.document, set=changes, unset=options.unset, library=_library(options))
    dump(show.document_dict(document)) if _json(options) else show.info(document)
    return 0


async def _remove(engine: Engine, options: argparse.Namespace) -> int:
    removal = await engine.remove_documents(options.documents, library=_library(options), for_good=options.for_good)
    if _json(options):
        removed = [{"doc_id": d.doc_id, "name": d.name, "path": d.path} for d in removal.documents]
        dump({"removed": removed, "bin": removal.entry})
    else:
        show.removed([document.name for document in removal.documents], removal.entry)
    return 0


async def _bin(engine: Engine, options: argparse.Namespace) -> int:
    if options.action == "restore":
        entry = await engine.restore(options.entry)
        dump(asdict(entry)) if _json(options) else show.restored(entry)
    elif options.action == "empty":
        if options.entry is None and not options.yes:
            raise UsageError("This deletes for good whatever is in the bin.", "Name an entry, or add --yes.")
        number = await engine.empty_bin(options.entry)
        dump({"deleted": number}) if _json(options) else show.console.print(f"{number} deleted for good")
    else:
        entries = await engine.bin()
        dump({"entries": [asdict(entry) for entry in entries]}) if _json(options) else show.bin_entries(entries)
    return 0


async def _libraries(engine: Engine, options: argparse.Namespace) -> int:
    if options.action is not None:
        return await _named(engine, options)
    sizes = await engine.libraries(options.find)
    if _json(options):
        dump({"home": str(engine.home), "libraries": [asdict(size) for size in sizes]})
    else:
        show.libraries(sizes, engine.home)
    return 0


async def _named(engine: Engine, options: argparse.Namespace) -> int:
    if options.action == "create":
        library = await engine.create_library(options.name, alias=options.alias)
    elif options.action == "rename":
        library = await engine.name_library(options.name, name=options.new)
    else:
        library = await engine.name_library(options.name, alias=options.alias)
    dump(asdict(library)) if _json(options) else show.library(library)
    return 0


async def _clear(engine: Engine, options: argparse.Namespace) -> int:
    library = _library(options)
    what = f"library '{library}'" if library else "all libraries"
    if not options.yes:
        kept = "" if options.for_good else "; it can be restored for 30 days"
        stay = (
            f"original files and conversations stay{kept}"
            if library
            else "with the bin, conversations, notes, tokens and users; original files stay"
        )
        raise UsageError(f"This deletes {what} in {engine.home} ({stay}).", "Add --yes to do it.")
    about = await engine.conversations.about(library) if library else 0
    entry = ""
    if library and not options.for_good:
        entry = next((found.id for found in await engine.named_libraries() if found.called(library)), "")
    cleared = await engine.clear(library=library, for_good=options.for_good)
    if _json(options):
        dump({"cleared": cleared} | ({"conversations_kept": about, "bin": entry} if library else {}))
        return 0
    show.removed([f"library {name}" for name in cleared], entry)
    if about:
        show.conversations_left(about)
    if not library:
        show.home_cleared(engine.home)
    return 0


async def _migrate(engine: Engine, options: argparse.Namespace) -> int:
    if options.objects:
        originals = await engine.upload_originals()
        dump({"originals": originals}) if _json(options) else show.originals_uploaded(originals)
        return 0
    if options.replicas:
        copies = await engine.complete_replicas()
        dump({"replicas": copies}) if _json(options) else show.replicas_completed(copies)
        return 0
    if options.schema:
        schema = await engine.upgrade_catalog()
        dump({"schema": schema}) if _json(options) else show.catalog_upgraded(schema)
        return 0
    if options.catalog:
        copied = await engine.copy_catalog(options.catalog)
        dump(asdict(copied)) if _json(options) else show.catalog_copied(copied)
        return 0
    moved = await engine.migrate(options.to, library=_library(options))
    dump({"migrated": [asdict(one) for one in moved]}) if _json(options) else show.migrations(moved)
    return 0


async def _doctor(engine: Engine, options: argparse.Namespace) -> int:
    with contents_progress() as told:
        found = await engine.doctor(deep=options.deep, mend=options.mend, on_progress=told)
    dump(asdict(found) | {"ok": found.ok}) if _json(options) else show.health(found)
    return 0 if found.ok else 1


async def _mcp(engine: Engine, options: argparse.Namespace) -> int:
    if options.install:
        from hybrid_pageindex.doors.mcp.access import Access
        from hybrid_pageindex.doors.mcp.budget import BUDGET
        from hybrid_pageindex.doors.mcp.install import install

        if options.http or options.allow_origin:
            raise UsageError("Installed clients start the server on stdio.", "Leave out --http and --allow-origin.")
        roots = Access.of(options.root, read_only=options.read_only).roots
        more = ["--max-tokens", str(options.max_tokens)] if options.max_tokens != BUDGET else []
        more += ["--read-only"] * options.read_only
        file, backup = install(options.install, engine.home, roots, more)
        said = {"file": str(file), "backup": backup and str(backup)}
        dump(said) if _json(options) else show.mcp_installed(file, backup)
    else:
        gc.disable()  # as in main
        from hybrid_pageindex.doors.mcp.command import serve  # FastMCP takes longer to import than a search takes

        gc.freeze()
        gc.enable()
        await serve(engine, options)
    return 0


async def _watch(engine: Engine, options: argparse.Namespace) -> int:
    from hybrid_pageindex.doors.cli.sources import watch

    return await watch(engine, options)


async def _rebuild(engine: Engine, options: argparse.Namespace) -> int:
    from hybrid_pageindex.doors.cli.index_progress import index_progress

    if options.index:
        if options.documents or options.detach:
            raise UsageError("--index makes whole libraries' indexes anew.", "Leave out documents and --detach.")
        vectors = await engine.rebuild_index(_library(options) or "default", everything=options.all)
        dump({"vectors": vectors}) if _json(options) else show.indexes_rebuilt(vectors)
        return 0
    with index_progress(json=_json(options)) as on_progress:
        report = await engine.rebuild(
            options.documents, library=_library(options), everything=options.all, password=options.password,
            workers=options.workers, detach=options.detach, on_progress=on_progress,
        )  # fmt: skip
    return _reported(report, options)


async def _recover(engine: Engine, options: argparse.Namespace) -> int:
    from hybrid_pageindex.doors.cli.recover import recover

    return await recover(engine, options)


async def _jobs(engine: Engine, options: argparse.Namespace) -> int:
    from hybrid_pageindex.doors.cli.jobs import jobs

    return await jobs(engine, options)


async def _serve(engine: Engine, options: argparse.Namespace) -> int:
    gc.disable()  # as in main
    from hybrid_pageindex.doors.http.command import serve

    gc.freeze()
    gc.enable()
    await serve(engine, options)
    return 0


async def _token(engine: Engine, options: argparse.Namespace) -> int:
    from hybrid_pageindex.doors.cli.tokens import tokens

    return await tokens(engine, options)


async def _usage(engine: Engine, options: argparse.Namespace) -> int:
    from hybrid_pageindex.doors.cli.usage import usage

    return await usage(engine, options)


async def _grep(engine: Engine, options: argparse.Namespace) -> int:
    from hybrid_pageindex.doors.cli import exhaustive

    found = await engine.grep(
        options.pattern, regex=options.regex, library=options.libraries or None, all_libraries=options.all_libraries,
        documents=options.documents, where=options.where or (), node=options.node,
        listed="documents" if options.count else "pages", most=options.most, context=options.context,
        cursor=options.cursor,
    )  # fmt: skip
    dump(found.to_dict()) if _json(options) else exhaustive.show_grep(found)
    return 0


async def _compare(engine: Engine, options: argparse.Namespace) -> int:
    from hybrid_pageindex.doors.cli import exhaustive

    compared = await engine.compare(
        options.left, options.right, library=_library(options), right_library=options.right_library,
        left_node=options.left_node, right_node=options.right_node, most=options.most, each=options.each,
        cursor=options.cursor,
    )  # fmt: skip
    dump(compared.to_dict()) if _json(options) else exhaustive.show_comparison(compared)
    return 0


_COMMANDS = {
    "grep": _grep, "compare": _compare,
    "index": _index, "embed": _embed, "search": _search, "ask": _ask, "chat": _chat, "outline": _outline, "page": _page,
    "list": _list, "edit": _edit, "info": _info, "remove": _remove, "libraries": _libraries, "clear": _clear,
    "briefing": _brief, "bin": _bin,
    "migrate": _migrate, "doctor": _doctor, "jobs": _jobs, "mcp": _mcp, "open": _open, "rebuild": _rebuild,
    "recover": _recover, "watch": _watch, "worker": _worker, "serve": _serve, "token": _token, "usage": _usage,
}  # fmt: skip
