"""A conversation as a file: Markdown to read, JSON for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from hybrid_core.types.conversations import Citation, Conversation, ConversationMessage
from hybrid_pageindex.services.conversations.passages import escaped

Format = Literal["markdown", "json"]
_MARK = re.compile(r"\[\[source:(\d+)\]\]")
_STATES = {"changed": "the document has changed since", "gone": "the document is gone"}


def exported(conversation: Conversation, path: Sequence[ConversationMessage], format: Format) -> str:
    if format == "json":
        shape = {"conversation": conversation.to_dict(), "messages": [message.to_dict() for message in path]}
        return json.dumps(shape, ensure_ascii=False, indent=2) + "\n"
    parts = [f"# {escaped(conversation.title or 'Conversation')}", f"*{_at(conversation.created_at)}*"]
    for message in path:
        if message.role == "user":
            parts.append(f"## {escaped(' '.join(message.text.split()))}")
            continue
        parts.append(_MARK.sub(r"[\1]", message.text) if message.text else "*No answer.*")
        if message.cause:
            parts.append(f"*{escaped(message.cause)}*")
        parts += [f"*{escaped(remark)}*" for remark in _remarks(message)]
        cited = [citation for citation in message.citations if citation.cited]
        if cited:
            parts.append("\n".join(map(_line, cited)))
    return "\n\n".join(parts) + "\n"


def _remarks(message: ConversationMessage) -> list[str]:
    """Return what the page warns of beside an answer: its end, its evidence, and claims without support."""
    result = message.result
    ends = {"cancelled": "Stopped before it was complete.", "interrupted": "Cut off: the server ended meanwhile."}
    evidence = {"weak": "The evidence is weak.", "none": "The sources seem not to tell this."}
    said = [ends.get(message.status, ""), evidence.get(result.evidence, "") if message.status == "complete" else ""]
    said += [f"Not borne out by the sources: {text} ({why})" for text, why in result.unsupported]
    return [remark for remark in said if remark]


def _line(citation: Citation) -> str:
    label = f" ({citation.label})" if citation.label and citation.label != str(citation.page) else ""
    where = " › ".join((f"page {citation.page}{label}", *citation.section_path))
    state = f" *({_STATES[citation.state]})*" if citation.state in _STATES else ""
    name = citation.doc_name
    if citation.doc_title and citation.doc_title != name:
        name = f"{citation.doc_title} ({name})"
    return f"[{citation.number}] {escaped(name)}, {escaped(where)}{state}: {escaped(citation.quote)}  "


def _at(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")
