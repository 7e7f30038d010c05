"""A model that judges answers: it sees the question, the reference answer and the answer, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from eval.measures.judges.rules import CITATION
from eval.records.answers import Judgement, Verdict
from hybrid_core.errors import ChatError
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.prompts import prompt
from hybrid_pageindex import Settings
from hybrid_pageindex.services.models import Models

if TYPE_CHECKING:
    from hybrid_core.llm.client.chat_model import ChatModel

PROMPT = "judge-answer"
NOT_HELD = "The documents do not hold the answer."
_REPLY = 1000  # tokens; models that think first need some


class JudgeReply(BaseModel):
    """The reply to the prompt ``judge-answer``."""

    reasoning: str
    verdict: Verdict


class Judge:
    """Asks ``model``. Close it at the end."""

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def about(self) -> Mapping[str, Any]:
        """{model, prompt, text}: who judges, the prompt's name and version, and its turns as they are written."""
        written = prompt(PROMPT)
        return {
            "model": self._model.name,
            "prompt": written.id,
            "text": "\n\n".join(f"=== {role}\n{text}" for role, text in written.turns),
        }

    def judge(self, question: str, reference: str, answer: str) -> Judgement:
        """The verdict; where the model fails there is none, and ``why`` says what happened."""
        written = prompt(PROMPT)
        said = CITATION.sub("", answer)
        messages = written.messages({"question": question, "reference": reference, "answer": said})
        try:
            reply = self._model.ask(
                messages, JudgeReply, prompt=written.id, max_tokens=_REPLY, scope=CallScope(patient=True)
            )
        except ChatError as error:
            return Judgement(None, f"not judged: {error}", error.usage)
        assert reply.value is not None
        return Judgement(reply.value.verdict, reply.value.reasoning, reply.usage)

    def close(self) -> None:
        self._model.close()


def load_judge(name: str, settings: Settings) -> Judge | None:
    """The judge of a model's name, asked where the language model of the settings is; that model itself for "".

    None where neither names one. A judge that is named is asked for one word first. Raises UsageError and ChatError
    where it cannot be asked.
    """
    models = Models(replace(settings, llm_model=name or settings.llm_model), None)
    if name:
        models.check("llm")
    model = models.get("llm")
    return None if model is None else Judge(model)
