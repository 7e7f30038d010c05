"""The models of a run: who searches and answers, and who judges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eval.measures.judges.model import Judge, load_judge
from eval.runs.plan import Plan
from eval.runs.scripted.questions import Pages, scripted
from hybrid_core.errors import UsageError
from hybrid_pageindex import Settings
from hybrid_pageindex.services.models import Models

if TYPE_CHECKING:
    from hybrid_core.llm.client.chat_model import ChatModel


_MINUTES = 600.0  # seconds of a call


@dataclass(frozen=True, slots=True)
class RunModels:
    """``engine`` is given to the engine, None for the one of its settings; ``tree`` reads whole trees.

    ``name`` is who searches or answers, "" where nobody may.
    """

    engine: ChatModel | None
    tree: ChatModel | None
    judge: Judge | None
    name: str

    def close(self) -> None:
        for model in (self.engine, self.tree, self.judge):
            if model is not None:
                model.close()


def patient(settings: Settings) -> Settings:
    """With minutes for each call of a model, where nobody has said how long one may take: no one waits for a run."""
    usual = Settings().model_timeout
    return replace(settings, model_timeout=_MINUTES) if settings.model_timeout == usual else settings


def load_models(plan: Plan, settings: Settings, gold: Mapping[str, Pages], answers: Mapping[str, str]) -> RunModels:
    """``gold`` and ``answers`` are what scripted models know; they may be filled later.

    Raises UsageError where the plan needs a model and none is named. A model that nothing can be measured without
    is asked for one word first: ChatError where it does not work, before any document is touched.
    """
    made = scripted(plan.model, gold, answers)
    own = settings.llm_model or settings.replay_replies
    if plan.needs_model and made is None and not own:
        what = "Answers need" if plan.answers else "The ranker whole-tree needs"
        raise UsageError(
            f"{what} a language model, and none is configured.",
            "Set llm_model and, for a server of your own, llm_base_url; or try --model scripted:oracle.",
        )
    deep = plan.ranker == "engine" and plan.effort == "deep"
    if (plan.needs_model or (deep and own)) and made is None:
        Models(settings, None).check("llm")
    tree = None
    if plan.ranker == "whole-tree":
        tree = made or Models(settings, None).get("llm")
    judge = load_judge(plan.judge_model, settings) if plan.answers else None
    used = plan.needs_model or (plan.ranker == "engine" and plan.effort != "fast")
    return RunModels(made, tree, judge, (plan.model or settings.llm_model) if used else "")
