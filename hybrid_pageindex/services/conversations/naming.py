"""Titles of conversations: the first question cut to a line, or what a model calls it."""

from __future__ import annotations

from pydantic import BaseModel

from hybrid_core.errors import ChatError
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.prompts import prompt

_LONGEST = 60  # characters


class Title(BaseModel):
    title: str


def title_of(question: str) -> str:
    """The first line of a question, up to a word's end."""
    line = " ".join(question.split()).rstrip("?？.。!！ ")
    if len(line) <= _LONGEST:
        return line
    short = line[:_LONGEST]
    return f"{short.rpartition(' ')[0] or short}…"


def title_by(model: ChatModel, question: str) -> str:
    """What a model calls a conversation that begins so; by the rule where it fails."""
    written = prompt("conversation-title")
    try:
        reply = model.ask(written.messages({"question": question}), Title, prompt=written.id, max_tokens=60)
    except ChatError:
        return title_of(question)
    return title_of(reply.value.title) if reply.value and reply.value.title.strip() else title_of(question)
