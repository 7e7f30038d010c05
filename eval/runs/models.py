"""Models and rankers of a run by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from eval.datasets.corpus import Corpus
from eval.measures.judging import Judge, load_judge
from eval.rankers.baselines import ChunkDense, Okapi, PageBM25, StemmedPageBM25
from eval.rankers.engine import EngineRanker
from eval.rankers.trees import PageIndexTree, WholeTree
from eval.records.progress import Progress
from eval.records.questions import Ranker
from eval.runs.plan import RANKERS, Plan
from eval.runs.scripted import Pages, scripted
from hybrid_core.errors import UsageError
from hybrid_core.types.requests import SearchFields
from hybrid_pageindex import Engine, Settings
from hybrid_pageindex.engine.models.embedders import Embedders
from hybrid_pageindex.engine.models.models import Models

if TYPE_CHECKING:
    from hybrid_core.llm.client.chat_model import ChatModel


_MINUTES = 600.0  # seconds of a call


@dataclass(frozen=True, slots=True)
class RunModels:
    """The models of a run.

    ``engine`` is passed to the engine, None for the model in its settings. ``tree`` is the model that reads whole
    trees. ``name`` is the name of the model that searches or answers, "" without one.
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
    """Return the settings with a timeout of several minutes per model call, unless they set another timeout."""
    usual = Settings().model_timeout
    return replace(settings, model_timeout=_MINUTES) if settings.model_timeout == usual else settings


def load_models(plan: Plan, settings: Settings, gold: Mapping[str, Pages], answers: Mapping[str, str]) -> RunModels:
    """Load the models of a run.

    ``gold`` and ``answers`` are the knowledge of scripted models; they may be filled later. Raise UsageError if the
    plan needs a model and none is named. A model that the plan requires gets a short test request before any document
    is touched. Raise ChatError if this fails.
    """
    scripted_model = scripted(plan.model, gold, answers)
    own = settings.llm_model or settings.replay_replies
    if plan.needs_model and scripted_model is None and not own:
        what = "Answers need" if plan.answers else "The ranker whole-tree needs"
        raise UsageError(
            f"{what} a language model, and none is configured.",
            "Set llm_model and, for a server of your own, llm_base_url; or try --model scripted:oracle.",
        )
    deep = plan.ranker == "engine" and plan.effort == "deep"
    if (plan.needs_model or (deep and own)) and scripted_model is None:
        Models(settings, None).check("llm")
    tree = None
    if plan.ranker == "whole-tree":
        tree = scripted_model or Models(settings, None).get("llm")
    judge = load_judge(plan.judge_model, settings) if plan.answers else None
    used = plan.needs_model or (plan.ranker == "engine" and plan.effort != "fast")
    return RunModels(scripted_model, tree, judge, (plan.model or settings.llm_model) if used else "")


@dataclass(frozen=True, slots=True)
class RankerOptions:
    """Options for all rankers; each ranker reads those it needs.

    ``search`` are the engine's search options. ``embedder`` is the name of an embedder, "" for none. ``cache`` is a
    folder for results that a baseline computes slowly. ``languages`` maps question texts to ISO 639-1 codes. ``before``
    are the earlier questions of follow-ups; the engine completes a follow-up by them, as in a conversation. ``model``
    is the language model of the ranker whole-tree.
    """

    search: SearchFields
    embedder: str
    in_chinese: bool
    cache: Path
    languages: Mapping[str, str] = field(default_factory=dict)
    before: Mapping[str, Sequence[str]] = field(default_factory=dict)
    model: ChatModel | None = None


def make_ranker(name: str, engine: Engine, corpus: Corpus, options: RankerOptions, progress: Progress) -> Ranker:
    """Return the ranker with a name from ``eval.runs.plan.RANKERS``.

    Raise UsageError for an unknown name and PageIndexError if a package or a model is missing.
    """
    in_chinese, cache = options.in_chinese, options.cache
    match name:
        case "engine":
            return EngineRanker(engine, corpus.ids, options.search, options.before)
        case "page-bm25":
            return PageBM25(corpus, in_chinese=in_chinese)
        case "page-bm25-stemmed":
            return StemmedPageBM25(corpus, options.languages)
        case "rank-bm25":
            return Okapi(corpus, in_chinese=in_chinese)
        case "chunk-dense":
            embedder = Embedders(engine.settings).load(options.embedder) if options.embedder else None
            return ChunkDense(corpus, embedder, cache / "chunks", progress)
        case "pageindex-tree":
            return PageIndexTree(corpus, cache / "pageindex", progress, in_chinese=in_chinese)
        case "whole-tree":
            if options.model is None:
                raise UsageError(
                    "The ranker whole-tree needs a language model.", "Set llm_model, or name a model with --model."
                )
            return WholeTree(corpus, options.model)
    raise UsageError(f"The ranker '{name}' does not exist.", f"Choose one of: {', '.join(RANKERS)}.")
