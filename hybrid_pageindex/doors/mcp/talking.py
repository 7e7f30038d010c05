"""The tools of conversations: asked in one, and read again."""

from __future__ import annotations

from typing import Any

from fastmcp import FastMCP

from hybrid_core.errors import NotFoundError
from hybrid_core.types.conversations import Citation, Conversation, ConversationMessage
from hybrid_pageindex.doors.mcp import budget
from hybrid_pageindex.doors.mcp.asking import asking
from hybrid_pageindex.doors.mcp.door import Door, short, told
from hybrid_pageindex.doors.mcp.shapes import hint, quoted, schema, without_empty

_SOURCES = 1500  # tokens


def register(server: FastMCP, door: Door) -> None:
    @server.tool(
        annotations={"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False, "openWorldHint": True},
        output_schema=schema(conversation="s", status="s", answer="s", sources="a", next="a"),
    )
    @told
    async def ask(question: str, conversation: str = "", library: str = "") -> dict[str, Any]:
        """A checked answer with its sources, kept; with conversation one that goes on from what was said there."""
        kept = door.engine.conversations
        if conversation:
            talk = await _own(door, conversation)
        else:
            talk = await kept.create(libraries=library or (), owner=asking().owner)
        begun = await kept.ask(talk.id, short("question", question))
        said = await kept.wait(begun.id)
        return quoted("answer", "quote") | {"conversation": talk.id} | _answer(said, door) | {
            "next": [
                hint("read", "the page that was cited", document=one.doc_id, pages=str(one.page))
                for one in said.citations
                if one.cited
            ][:3]
        }  # fmt: skip

    @server.tool(
        annotations={"readOnlyHint": True, "openWorldHint": False},
        output_schema=schema(conversations="a?", messages="a?"),
    )
    @told
    async def conversations(conversation: str = "", cursor: str = "") -> dict[str, Any]:
        """Kept conversations, or all that was said in one."""
        call = {"conversation": conversation}
        start, _ = budget.resume(call, cursor)
        name, items = "messages", list[dict[str, Any]]()
        if conversation:
            talk = await _own(door, conversation)
            items = [_message(one, door) for one in await door.engine.conversations.messages(talk.id)]
        else:
            owner = asking().owner or None
            name, found = "conversations", await door.engine.conversations.listed(owner=owner, most=1000)
            items = [{"conversation": one.id, "title": one.title} for one in found]
        shown = budget.fitting(items[start:], door.budget)
        end = start + len(shown)
        more = budget.cursor(call, end) if end < len(items) else ""
        return quoted("title", "text", "answer", "quote") | {name: shown} | without_empty({"cursor": more})


async def _own(door: Door, id: str) -> Conversation:
    """Raises NotFoundError also for one of somebody else, and one about a library that may not be read."""
    found = await door.engine.conversations.get(short("conversation", id))
    if asking().owner not in ("", found.owner):
        raise NotFoundError(f"No conversation '{id}'.")
    return found


def _message(said: ConversationMessage, door: Door) -> dict[str, Any]:
    return {"question": said.text} if said.role == "user" else _answer(said, door)


def _answer(said: ConversationMessage, door: Door) -> dict[str, Any]:
    text = budget.longest(said.text, max(door.budget - _SOURCES, _SOURCES))
    sources = budget.fitting([_source(one) for one in said.citations], _SOURCES)
    return {"status": said.result.outcome or said.status, "answer": text, "sources": sources} | without_empty(
        {"why": said.result.why or said.cause, "searched": said.searched}
    )


def _source(cited: Citation) -> dict[str, Any]:
    kept = {"n": cited.number, "document": cited.doc_name, "page": cited.page, "quote": cited.quote[:200]}
    return kept | without_empty({"now": cited.state if cited.state != "current" else ""})
