"""Calls of a model that choose documents."""

from __future__ import annotations

from retrievers.reason.model_calls import ModelCalls
from retrievers.reason.reasoner import Reasoner

_REPLY = 600  # tokens that a reply may have
_KEPT = 0.5  # of the question's tokens, which stay for finding its pages


class Calls(ModelCalls):
    """The calls for one question."""

    def __init__(self, reasoner: Reasoner, question: str) -> None:
        keep, time = int(_KEPT * reasoner.budget.tokens), reasoner.time
        given = {"question": question}
        super().__init__(reasoner.model, reasoner.budget, time, reasoner.told, given, reply=_REPLY, keep=keep)
