"""A question of a conversation as one that stands alone, so that it can be searched for."""

from __future__ import annotations

import threading

from pydantic import BaseModel

from hybrid_core.errors import ChatError
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.prompts import prompt
from hybrid_core.types.conversations import QuestionFrom
from hybrid_core.types.usage import Usage
from hybrid_pageindex.services.conversations.memory import Memory
from retrievers.query.follow_up import points_back, with_words_before

_LONGEST = 2000  # characters; what is longer is no question


class StandAlone(BaseModel):
    question: str


def stand_alone(
    question: str, memory: Memory, model: ChatModel | None, stopped: threading.Event
) -> tuple[str, QuestionFrom, Usage, str]:
    """The question to search for, how it was made, what that took, and a note where a model failed: as it was asked
    where nothing in it points back, else as a model writes it, else with the words of the last question.

    Raises Cancelled once ``stopped`` is set.
    """
    before = memory.last
    if before is None or not points_back(question, before.searched):
        return question, "as asked", Usage(), ""
    keywords = with_words_before(question, before.searched)
    if model is None:
        return keywords, "keywords", Usage(), ""
    written = prompt("stand-alone")
    messages = written.messages({"question": question, "conversation": memory.text})
    try:
        reply = model.ask(
            messages, StandAlone, prompt=written.id, max_tokens=400, scope=CallScope(stopped=stopped)
        )  # fmt: skip
    except ChatError as error:
        note = f"the model that makes questions stand alone failed ({error}): the words of the last one were added"
        return keywords, "keywords", error.usage, note
    made = " ".join(reply.value.question.split()) if reply.value else ""
    if not made or len(made) > _LONGEST:
        return keywords, "keywords", reply.usage, "the model gave no question that stands alone"
    return made, "model", reply.usage, ""
