"""What a turn knows of a conversation: its last exchanges within a number of tokens, the rest in a summary."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hybrid_core.llm.token_estimate import cut, estimate
from hybrid_core.types.conversations import ConversationMessage, Summary

_MARK = re.compile(r"\s*\[\[source:\d+\]\]")
_ANSWER = 600  # tokens of an earlier answer that are shown
_QUESTIONS = 400  # tokens of the questions that stand for exchanges which nobody has summarised


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question with its answer. ``searched`` is the question as it stands alone, ``pages`` are (doc_id, number) of
    what the answer rests on.
    """

    question: str
    answer: str
    searched: str = ""
    pages: tuple[tuple[str, int], ...] = ()
    message: int = 0

    @property
    def text(self) -> str:
        return f"Question: {self.question}\nAnswer: {cut(_MARK.sub('', self.answer), _ANSWER)}"


@dataclass(frozen=True, slots=True)
class Memory:
    """``fallen`` are exchanges that neither the summary nor the window holds, the oldest first."""

    summary: str = ""
    exchanges: tuple[Exchange, ...] = ()
    fallen: tuple[Exchange, ...] = ()

    @property
    def last(self) -> Exchange | None:
        return self.exchanges[-1] if self.exchanges else None

    @property
    def text(self) -> str:
        """As a model is shown it, "" where nothing was said."""
        parts = [f"Summary of the beginning: {self.summary}"] if self.summary else []
        if self.fallen:
            asked = "\n".join(f"- {one.question}" for one in self.fallen)
            parts.append(f"Asked before:\n{cut(asked, _QUESTIONS)}")
        return "\n\n".join([*parts, *(one.text for one in self.exchanges)])


def exchanges(path: Sequence[ConversationMessage]) -> list[Exchange]:
    """Of the messages from the first on: each question with what came of it."""
    found = []
    for asked, answered in zip(path[::2], path[1::2], strict=False):
        pages = tuple((one.doc_id, one.page) for one in answered.citations if one.cited)
        text = answered.text or answered.result.why
        found.append(Exchange(asked.text, text, answered.searched or asked.text, pages, answered.id))
    return found


def remember(said: Sequence[Exchange], tokens: int, summary: Summary | None = None) -> Memory:
    """The last exchanges that have at most ``tokens`` together, one at least; of those before, what the summary does
    not hold has fallen out.
    """
    kept = len(said)
    while kept and (kept == len(said) or sum(estimate(one.text) for one in said[kept - 1 :]) <= tokens):
        kept -= 1
    reached = 0 if summary is None else summary.message
    fallen = tuple(one for one in said[:kept] if one.message > reached)
    return Memory("" if summary is None else summary.text, tuple(said[kept:]), fallen)
