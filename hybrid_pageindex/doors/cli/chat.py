"""Conversations at a terminal: questions typed one after the other, answers as they are made; kept ones looked at."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from hybrid_core.errors import PageIndexError
from hybrid_core.types.requests import SearchFields
from hybrid_pageindex.doors.cli import show
from hybrid_pageindex.doors.cli.answers import Streamed, escape_lines
from hybrid_pageindex.doors.cli.output import dump, visible
from hybrid_pageindex.engine import Engine
from hybrid_pageindex.services.running import in_the_background

if TYPE_CHECKING:
    from hybrid_core.types.conversations import Conversation, ConversationMessage
    from hybrid_pageindex.services.conversations.conversations import Conversations

_HELP = "Ask, one question a line; an empty line or Ctrl-D ends. Ctrl-C stops an answer."
_OPTIONS = ("effort", "top_k", "expert")
_STATES = {"changed": "changed since", "gone": "gone"}


async def chat(engine: Engine, options: argparse.Namespace) -> int:
    json_wanted, kept = getattr(options, "json", False), engine.conversations
    if options.action == "list":
        found = await kept.listed(most=getattr(options, "most", 50), find=getattr(options, "find", ""))
        dump([one.to_dict() for one in found]) if json_wanted else _show_list(found)
    elif options.action == "show":
        id = await _meant(kept, options.conversation)
        path = await kept.messages(id)
        if json_wanted:
            dump({"conversation": (await kept.get(id)).to_dict(), "messages": [one.to_dict() for one in path]})
        else:
            _show(await kept.get(id), path)
    elif options.action == "export":
        text = await kept.export(await _meant(kept, options.conversation), options.format)
        if options.to:
            await asyncio.to_thread(Path(options.to).write_text, text, "utf-8")
        else:
            sys.stdout.write(text)
    elif options.action == "remove":
        removed = [await kept.remove(await _meant(kept, one)) for one in options.conversations]
        dump([one.to_dict() for one in removed]) if json_wanted else show.console.print(f"{len(removed)} removed.")
    else:
        return await _talk(engine, options, json_wanted)
    return 0


async def _talk(engine: Engine, options: argparse.Namespace, json_wanted: bool) -> int:
    kept = engine.conversations
    if getattr(options, "go_on", None):
        conversation = await kept.get(await _meant(kept, options.go_on))
    else:
        conversation = await kept.create(
            libraries=getattr(options, "libraries", None) or (), documents=getattr(options, "documents", None) or (),
            all_libraries=getattr(options, "all_libraries", False) or False,
        )  # fmt: skip
    fields: SearchFields = {}
    for name in _OPTIONS:
        if (value := getattr(options, name, None)) is not None:
            fields[name] = value  # type: ignore[literal-required]
    typed = sys.stdin.isatty() and not json_wanted
    if typed:
        show.console.print(f"[dim]{_HELP}[/]")
    worst = 0
    async for question in _questions(typed=typed):
        try:
            answer = await _answered(engine, conversation.id, question, fields, quiet=json_wanted)
        except PageIndexError as error:
            if not typed:
                raise
            show.console.print(f"[red]{show.escape(str(error))}[/]")
            continue
        failed = answer.status == "failed" or answer.result.outcome == "model_failed"
        worst = max(worst, int(failed))
        if json_wanted:
            print(json.dumps(answer.to_dict(), ensure_ascii=False), flush=True)
    if not await kept.messages(conversation.id):
        await kept.remove(conversation.id)  # nothing was asked
    elif typed:
        show.console.print(f"[dim]kept as {conversation.id[:8]}: chat --continue {conversation.id[:8]}[/]")
    return worst


async def _questions(*, typed: bool) -> AsyncIterator[str]:
    while True:
        try:
            line = await (in_the_background(_prompted) if typed else asyncio.to_thread(sys.stdin.readline))
        except EOFError:
            return
        if line.strip():
            yield line.strip()
        elif typed or not line:
            return


def _prompted() -> str:
    return show.console.input("\n[bold]>[/] ")


async def _answered(
    engine: Engine, id: str, question: str, fields: SearchFields, *, quiet: bool
) -> ConversationMessage:
    kept = engine.conversations
    begun = await kept.ask(id, question, **fields)
    streamed = Streamed(quiet=quiet)
    try:
        async for event in kept.stream(begun.id):
            if event.kind == "text":
                streamed.piece(event.detail["text"])
            elif event.kind == "begun":
                streamed.begun = False
    except asyncio.CancelledError:  # Ctrl-C ends the answer; where questions are typed, the conversation goes on
        task = asyncio.current_task()
        if quiet or not sys.stdin.isatty() or task is None or task.uncancel():
            raise
        await kept.cancel(begun.id)
    answer = await kept.wait(begun.id)
    if not quiet:
        _show_answer(answer, streamed)
    return answer


def _show_answer(answer: ConversationMessage, streamed: Streamed) -> None:
    if streamed.begun:
        show.console.print()
    elif answer.text:
        show.console.print(escape_lines(answer.text))
    if answer.cause or answer.status == "cancelled":
        show.console.print(f"[yellow]{show.escape(answer.cause or 'stopped')}[/]")
    if answer.searched_from != "as asked":
        show.console.print(f"[dim]searched for: {show.escape(answer.searched)}[/]")
    if answer.result.outcome not in ("", "answered", "no_model", "not_in_library"):
        show.console.print(f"[yellow]{show.escape(answer.result.why)}[/]")
    for note in answer.result.notes:
        show.console.print(f"[yellow]note[/] {show.escape(note)}")
    for text, why in answer.result.unsupported:
        show.console.print(f"[red]unsupported[/] {show.escape(text)} [dim]({show.escape(why)})[/]")
    if answer.result.outcome == "answered":
        _show_sources(answer)


def _show_sources(answer: ConversationMessage) -> None:
    for one in answer.citations:
        if one.cited:
            where = f"{visible(one.doc_name)}, page {one.page}{show.label(one.label, one.page)}"
            state = f" [yellow]({_STATES[one.state]})[/]" if one.state in _STATES else ""
            path = show.escape(" › ".join(one.section_path))
            show.console.print(f"[bold]source {one.number}: {show.escape(where)}[/]{state}  [dim]{path}[/]")


def _show_list(found: list[Conversation]) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("conversation", "title"):
        table.add_column(column, overflow="fold")
    for one in found:
        table.add_row(one.id[:8], show.escape(one.title or "(nothing was asked)"))
    show.tables().print(table) if found else show.console.print("No conversations yet: hybrid-pageindex chat")


def _show(conversation: Conversation, path: list[ConversationMessage]) -> None:
    show.console.print(f"[bold]{show.escape(conversation.title)}[/] [dim]{conversation.id}[/]")
    for message in path:
        if message.role == "user":
            show.console.print(f"\n[bold]>[/] {show.escape(message.text)}")
        else:
            _show_answer(message, Streamed(quiet=True))


async def _meant(kept: Conversations, id: str) -> str:
    """The one whose id begins so, as lists show it."""
    with suppress(PageIndexError):
        return (await kept.get(id)).id
    found = [one.id for one in await kept.listed(most=1000) if id and one.id.startswith(id)]
    return found[0] if len(found) == 1 else (await kept.get(id)).id
