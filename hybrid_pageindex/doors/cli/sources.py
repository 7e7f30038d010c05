"""Where documents come from: bringing libraries up to date, and watching folders."""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from json import dumps
from typing import TYPE_CHECKING

from hybrid_pageindex.doors.cli import show
from hybrid_pageindex.doors.cli.index_progress import index_progress
from hybrid_pageindex.doors.cli.output import dump
from hybrid_pageindex.engine import Engine

if TYPE_CHECKING:
    from hybrid_core.types.sources import Source
    from hybrid_pageindex.services.sources import LibraryUpdate
    from hybrid_pageindex.services.watching import WatchEvent

_NAMED = 10  # files of a kind that are named


async def update(engine: Engine, options: argparse.Namespace) -> int:
    """``index`` without paths."""
    json, library = getattr(options, "json", False), getattr(options, "library", None)
    with index_progress(json=json) as on_progress:
        done = await engine.update(
            library=library, workers=options.workers, password=options.password, prune=options.prune or None,
            check_hashes=options.check_hashes, outline=options.outline, vision=options.vision, enrich=options.enrich,
            detach=options.detach, on_progress=on_progress,
        )  # fmt: skip
    if json:
        dump(
            {
                "libraries": [
                    asdict(one) | {"moved": [{"from": old, "to": new} for old, new in one.moved]} for one in done
                ]
            }
        )
    else:
        for one in done:
            _show_update(one)
    return 1 if any(file.status == "failed" for one in done for file in one.report.files) else 0


async def watch(engine: Engine, options: argparse.Namespace) -> int:
    library, json = getattr(options, "library", None), getattr(options, "json", False)
    if options.action is None:
        return await _follow(engine, library, json)
    if options.action == "list":
        found = await engine.sources(library=library)
        dump({"sources": [asdict(one) for one in found]}) if json else _show_sources(found)
        return 0
    if options.action == "add":
        one = await engine.watch_folder(
            options.folder,
            library=library,
            poll=options.poll,
            outline=options.outline,
            vision=options.vision,
            enrich=options.enrich,
        )
    else:
        one = await engine.unwatch_folder(options.folder, library=library, forget=options.forget)
    dump(asdict(one)) if json else _show_sources([one])
    return 0


async def _follow(engine: Engine, library: str | None, json: bool) -> int:
    """Until Ctrl-C or SIGTERM, which are the usual ends."""
    known = [one.path for one in await engine.sources(library=library) if one.watch]
    if not json:
        now = ", ".join(known) or "nothing yet: watch add FOLDER"
        show.console.print(f"watching {show.escape(now)} (Ctrl-C ends it)")
    watching = asyncio.ensure_future(engine.watch(library=library, on_event=_line if json else _say))
    for sign in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(sign, watching.cancel)
    with suppress(asyncio.CancelledError):
        await watching
    return 0


def _line(event: WatchEvent) -> None:
    print(dumps(asdict(event)), flush=True)


def _say(event: WatchEvent) -> None:
    detail = f" ({event.detail})" if event.detail else ""
    show.console.print(show.escape(f"{event.event:<10} {event.library}: {event.path}{detail}"))
    sys.stdout.flush()


def _show_update(done: LibraryUpdate) -> None:
    counts = [("new", done.new), ("changed", done.changed), ("moved", done.moved), ("gone", done.gone)]
    said = ", ".join(f"{len(paths)} {word}" for word, paths in counts if paths)
    show.console.print(f"[bold]{show.escape(done.library)}[/]: {said or 'nothing has changed'}")
    for word, paths in (("new", done.new), ("changed", done.changed), ("gone", done.gone)):
        _name(word, paths, " (removed)" if word == "gone" and done.report.removed else "")
    _name("moved", [f"{old} -> {new}" for old, new in done.moved])
    show.index_report(done.report)
    if done.gone and not done.report.removed:
        show.console.print("[yellow]note[/] documents whose files are gone stay until index --prune removes them")


def _name(word: str, paths: Sequence[str], after: str = "") -> None:
    for path in paths[:_NAMED]:
        show.console.print(f"  {word:<8} {show.escape(path)}{after}")
    if len(paths) > _NAMED:
        show.console.print(f"  {word:<8} and {len(paths) - _NAMED} more")


def _show_sources(found: Sequence[Source]) -> None:
    words = {"": "no", "auto": "yes", "poll": "yes, by looking again and again"}
    for one in found:
        options = "".join(
            f", {name} {value}" if value is not True else f", {name}" for name, value in one.options.items()
        )
        show.console.print(
            f"{show.escape(one.library)}: {show.escape(one.path)} ({one.kind}{show.escape(options)}), "
            f"watched: {words[one.watch]}"
        )
    if not found:
        show.console.print("No library remembers a folder or file yet: index PATH.")
