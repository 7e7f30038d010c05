"""Conversations in an exported library: write them as JSON, and read them from a file that is not trusted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, get_args

from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.conversations.conversations import ConversationReader, ConversationWriter
from hybrid_core.store.conversations.tables import INTERRUPTED, from_result, to_result
from hybrid_core.types.conversations import (
    Citation,
    Conversation,
    ConversationMessage,
    ConversationScope,
    MessageStatus,
    QuestionFrom,
    Role,
    TitleFrom,
    TurnResult,
)
from hybrid_core.types.locators import Box

_MAX_MESSAGES, _MAX_CITATIONS, _MAX_BOXES = 10_000, 1_000, 200
_LONGEST = 100_000  # maximum characters of a text
_LAST = 1 << 53  # largest number and latest time, in ms since 1970
_HEX = re.compile(r"[0-9a-f]{1,64}")


def conversation_entries(
    catalog: Catalog, library: str, places: Mapping[str, Sequence[str]], owner: str | None
) -> list[dict[str, Any]]:
    """Return as JSON objects the conversations of an owner, or of all users, that search only this library (id).

    ``places`` maps document ids to the documents' positions in the exported file.
    """
    reader = ConversationReader(catalog)
    entries = []
    for conversation in reader.about_only(library, owner):
        entry = asdict(conversation)
        del entry["id"], entry["scope"]
        entry["documents"] = [places.get(doc_id) for doc_id in conversation.scope.documents]
        entry["messages"] = [_message_entry(message, places) for message in reader.messages(conversation.id)]
        entries.append(entry)
    return entries


def _message_entry(message: ConversationMessage, places: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    entry = asdict(message) | {"result": from_result(message.result)}
    for name in ("conversation", "siblings", "last_event"):
        del entry[name]
    for citation in entry["citations"]:
        citation["place"] = places.get(citation.pop("doc_id"))
        for name in ("library", "state", "doc_title"):
            del citation[name]
    return entry


def restore_conversations(
    catalog: Catalog, library: str, entries: Sequence[Mapping[str, Any]], doc_id: Callable[[Mapping[str, Any]], str]
) -> int:
    """Add the conversations of an exported file to a new library (id), and return their number.

    ``doc_id`` takes an entry whose ``place`` names an exported document, and returns the new document's id or "".
    Invalid parts of an entry are left out.
    """
    writer = ConversationWriter(catalog)
    for entry in entries:
        messages = list(_messages(entry, library, doc_id))
        documents = _items_of(entry, "documents")
        ids = [id for place in documents if (id := doc_id({"place": place}))]
        scope = ConversationScope((library,), tuple(ids))
        title_from: TitleFrom = _choice(entry, "title_from", TitleFrom, "rule")
        times = (_natural_number(entry, "created_at"), _natural_number(entry, "updated_at"))
        owner = _text(entry, "owner")[:200]
        answers = [message.id for message in messages if message.role == "assistant"]
        leaf = _natural_number(entry, "leaf")
        leaf = leaf if leaf in answers else max(answers, default=0)
        writer.restore(Conversation("", owner, _text(entry, "title"), title_from, scope, leaf, *times), messages)
    return len(entries)


def _messages(
    entry: Mapping[str, Any], library: str, doc_id: Callable[[Mapping[str, Any]], str]
) -> Iterator[ConversationMessage]:
    """Yield the valid messages of an exported conversation.

    A valid answer follows a question. A valid question follows an answer or begins the conversation.
    """
    roles: dict[int, Role | None] = {0: None}
    for item in _items_of(entry, "messages")[:_MAX_MESSAGES]:
        if not isinstance(item, dict):
            continue
        id, parent = _natural_number(item, "id"), _natural_number(item, "parent")
        if id in roles or parent not in roles or item.get("role") != _AFTER[roles[parent]]:
            continue
        role = _AFTER[roles[parent]]
        roles[id] = role
        status: MessageStatus = _choice(item, "status", MessageStatus, "interrupted")
        is_running = status == "running"
        yield ConversationMessage(
            id=id, conversation="", parent=parent, role=role, text=_text(item, "text"),
            status="interrupted" if is_running else status, created_at=_natural_number(item, "created_at"),
            finished_at=_natural_number(item, "finished_at") or int(is_running), searched=_text(item, "searched"),
            searched_from=_choice(item, "searched_from", QuestionFrom, "as asked"),
            cause=INTERRUPTED if is_running else _text(item, "cause"), result=_result(item.get("result")),
            citations=tuple(_citations(item, library, doc_id)),
        )  # fmt: skip


def _citations(item: Mapping[str, Any], library: str, doc_id: Callable[[Mapping[str, Any]], str]) -> Iterator[Citation]:
    numbers = set[int]()
    for source in _items_of(item, "citations")[:_MAX_CITATIONS]:
        if not isinstance(source, dict) or (number := _natural_number(source, "number")) in numbers:
            continue
        numbers.add(number)
        content_id, sha256 = (text if _HEX.fullmatch(text := _text(source, name)) else "" for name in _HASHES)
        yield Citation(
            number, library, doc_id(source), _text(source, "doc_name"), content_id, sha256,
            min(_natural_number(source, "page"), 10**6), _text(source, "label")[:200],
            tuple(str(title)[:_LONGEST] for title in _items_of(source, "section_path")[:100]), _text(source, "quote"),
            bool(source.get("cited")), _boxes(source.get("boxes")),
        )  # fmt: skip


_HASHES = ("content_id", "sha256")
_AFTER: dict[Role | None, Role] = {None: "user", "user": "assistant", "assistant": "user"}


def _boxes(value: Any) -> tuple[Box, ...] | None:
    if not isinstance(value, list) or len(value) > _MAX_BOXES:
        return None
    valid = all(
        isinstance(box, list) and len(box) == 4 and all(isinstance(at, int | float) and abs(at) < _LAST for at in box)
        for box in value
    )
    return tuple(tuple(box) for box in value) if valid else None


def _result(value: Any) -> TurnResult:
    try:
        return to_result(value) if isinstance(value, dict) else TurnResult()
    except (TypeError, ValueError, KeyError, AttributeError):  # of a newer version, or damaged
        return TurnResult()


def _choice(entry: Mapping[str, Any], name: str, kind: Any, usual: Any) -> Any:
    value = entry.get(name)
    return value if value in get_args(kind) else usual


def _items_of(entry: Mapping[str, Any], name: str) -> list[Any]:
    value = entry.get(name)
    return value if isinstance(value, list) else []


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    return value[:_LONGEST] if isinstance(value, str) else ""


def _natural_number(entry: Mapping[str, Any], name: str) -> int:
    value = entry.get(name)
    return max(0, min(value, _LAST)) if isinstance(value, int) else 0
