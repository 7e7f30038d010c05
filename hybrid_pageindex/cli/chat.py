"""Hold conversations at a terminal, and list, show, export or remove them."""

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

from hybrid_core.errors import PageIndexError, UsageError
from hybrid_core.types.requests import SearchFields
from hybrid_pageindex.cli.console import console, escape, label_suffix, tables
from hybrid_pageindex.cli.output import dump, visible
from hybrid_pageindex.cli.search import StreamedAnswer, escape_lines
from hybrid_pageindex.engine.concurrency import in_the_background
from hybrid_pageindex.engine.engine import Engine

if TYPE_CHECKING:
    from hybrid_core.types.conversations import Conversation, ConversationMessage
    from hybrid_pageindex.conversations.conversations import Conversations

_HELP = "Ask, one question a line; an empty line or Ctrl-D ends. Ctrl-C stops an answer."
_OPTIONS = ("effort", "top_k", "expert")
_CITATION_STATES = {"changed": "changed since", "gone": "gone"}


async def chat_command(engine: Engine, options: argparse.Namespace) -> int:
    json_wanted, conversations = getattr(options, "json", False), engine.conversations
    if options.action == "list":
        listed = await conversations.listed(limit=getattr(options, "limit", 50), find=getattr(options, "find", ""))
        dump([item.to_dict() for item in listed]) if json_wanted else _show_conversations(listed)
    elif options.action == "show":
        id = await _find_conversation(conversations, options.conversation)
        path = await conversations.messages(id)
        if json_wanted:
            dump(
                {"conversation": (await conversations.get(id)).to_dict(), "messages": [item.to_dict() for item in path]}
            )
        else:
            _show_conversation(await conversations.get(id), path)
    elif options.action == "export":
        await _export(conversations, await _find_conversation(conversations, options.conversation), options)
    elif options.action == "remove":
        removed = [
            await conversations.remove(await _find_conversation(conversations, item)) for item in options.conversations
        ]
        dump([item.to_dict() for item in removed]) if json_wanted else console.print(f"{len(removed)} deleted.")
    else:
        return await _converse(engine, options, json_wanted)
    return 0


async def _export(conversations: Conversations, id: str, options: argparse.Namespace) -> None:
    if options.format in ("docx", "pdf"):
        if not options.to and sys.stdout.isatty():
            raise UsageError(
                f"A terminal cannot show a {options.format.upper()} file.", "Name a file to write with --to."
            )
        content = await conversations.export_document(id, options.format)
    else:
        content = (await conversations.export(id, options.format)).encode()
    if options.to:
        await asyncio.to_thread(Path(options.to).write_bytes, content)
    else:
        sys.stdout.buffer.write(content)


async def _converse(engine: Engine, options: argparse.Namespace, json_wanted: bool) -> int:
    conversations = engine.conversations
    if getattr(options, "go_on", None):
        conversation = await conversations.get(await _find_conversation(conversations, options.go_on))
    else:
        conversation = await conversations.create(
            libraries=getattr(options, "libraries", None) or (), documents=getattr(options, "documents", None) or (),
            all_libraries=getattr(options, "all_libraries", False) or False,
        )  # fmt: skip
    fields: SearchFields = {}
    for name in _OPTIONS:
        if (value := getattr(options, name, None)) is not None:
            fields[name] = value  # type: ignore[literal-required]
    typed = sys.stdin.isatty() and not json_wanted
    if typed:
        console.print(f"[dim]{_HELP}[/]")
    worst = 0
    async for question in _questions(typed=typed):
        try:
            answer = await _answer_question(engine, conversation.id, question, fields, quiet=json_wanted)
        except PageIndexError as error:
            if not typed:
                raise
            console.print(f"[red]{escape(str(error))}[/]")
            continue
        failed = answer.status == "failed" or answer.result.outcome == "model_failed"
        worst = max(worst, int(failed))
        if json_wanted:
            print(json.dumps(answer.to_dict(), ensure_ascii=False), flush=True)
    if not await conversations.messages(conversation.id):
        await conversations.remove(conversation.id)  # no question was asked
    elif typed:
        console.print(f"[dim]saved as {conversation.id[:8]}; continue with: chat --continue {conversation.id[:8]}[/]")
    return worst


async def _questions(*, typed: bool) -> AsyncIterator[str]:
    while True:
        try:
            line = await (in_the_background(_prompt_question) if typed else asyncio.to_thread(sys.stdin.readline))
        except EOFError:
            return
        if line.strip():
            yield line.strip()
        elif typed or not line:
            return


def _prompt_question() -> str:
    return console.input("\n[bold]>[/] ")


async def _answer_question(
    engine: Engine, id: str, question: str, fields: SearchFields, *, quiet: bool
) -> ConversationMessage:
    conversations = engine.conversations
    pending = await conversations.ask(id, question, **fields)
    streamed = StreamedAnswer(quiet=quiet)
    try:
        async for event in conversations.stream(pending.id):
            if event.kind == "text":
                streamed.piece(event.detail["text"])
            elif event.kind == "begun":
                streamed.begun = False
    except asyncio.CancelledError:  # Ctrl-C ends the answer; an interactive conversation continues
        task = asyncio.current_task()
        if quiet or not sys.stdin.isatty() or task is None or task.uncancel():
            raise
        await conversations.cancel(pending.id)
    answer = await conversations.wait(pending.id)
    if not quiet:
        _show_message(answer, streamed)
    return answer


def _show_message(answer: ConversationMessage, streamed: StreamedAnswer) -> None:
    if streamed.begun:
        console.print()
    elif answer.text:
        console.print(escape_lines(answer.text))
    if answer.cause or answer.status == "cancelled":
        console.print(f"[yellow]{escape(answer.cause or 'stopped')}[/]")
    if answer.searched_from != "as asked":
        console.print(f"[dim]searched for: {escape(answer.searched)}[/]")
    if answer.result.outcome not in ("", "answered", "no_model", "not_in_library"):
        console.print(f"[yellow]{escape(answer.result.why)}[/]")
    for note in answer.result.notes:
        console.print(f"[yellow]note[/] {escape(note)}")
    for text, why in answer.result.unsupported:
        console.print(f"[red]unsupported[/] {escape(text)} [dim]({escape(why)})[/]")
    if answer.result.outcome == "answered":
        _show_sources(answer)


def _show_sources(answer: ConversationMessage) -> None:
    for citation in answer.citations:
        if citation.cited:
            where = f"{visible(citation.doc_name)}, page {citation.page}{label_suffix(citation.label, citation.page)}"
            state = f" [yellow]({_CITATION_STATES[citation.state]})[/]" if citation.state in _CITATION_STATES else ""
            path = escape(" › ".join(citation.section_path))
            console.print(f"[bold]source {citation.number}: {escape(where)}[/]{state}  [dim]{path}[/]")


def _show_conversations(conversations: list[Conversation]) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("conversation", "title"):
        table.add_column(column, overflow="fold")
    for conversation in conversations:
        table.add_row(conversation.id[:8], escape(conversation.title or "(nothing was asked)"))
    tables().print(table) if conversations else console.print(
        "There are no conversations yet. Begin one: hybrid-pageindex chat"
    )


def _show_conversation(conversation: Conversation, path: list[ConversationMessage]) -> None:
    console.print(f"[bold]{escape(conversation.title)}[/] [dim]{conversation.id}[/]")
    for message in path:
        if message.role == "user":
            console.print(f"\n[bold]>[/] {escape(message.text)}")
        else:
            _show_message(message, StreamedAnswer(quiet=True))


async def _find_conversation(conversations: Conversations, id: str) -> str:
    """Return the full id of the conversation whose id begins with ``id``; lists show short ids.

    Raise NotFoundError if no conversation or several conversations match.
    """
    with suppress(PageIndexError):
        return (await conversations.get(id)).id
    matches = [
        conversation.id
        for conversation in await conversations.listed(limit=1000)
        if id and conversation.id.startswith(id)
    ]
    return matches[0] if len(matches) == 1 else (await conversations.get(id)).id
