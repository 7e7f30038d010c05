"""Studies over data sets: the engine against page BM25, and gold pages in the first prompt."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eval.datasets.corpus import Corpus, locate
from eval.datasets.registry import SOURCES, data_folder, load, sets_of
from eval.datasets.variants import sample
from eval.measures.comparison import Interval, compare
from eval.records.progress import Progress
from eval.records.questions import EvalQuestion
from eval.records.runs import Run
from eval.runs.features import has_pages
from eval.runs.home import prepare
from eval.runs.plan import RUNS, Plan
from eval.runs.run import measure, within
from eval.runs.scripted import ScriptedEndpoint, shown_in, tokens
from hybrid_core.llm.chat import Request
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.types.results import SearchResult
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import load_settings

MEASURES = ("hit@1", "hit@5", "hit@10", "hit@20", "mrr", "doc@1")
SETTINGS = ("library", "given")
EXPERTS = ("none", "auto")
RANKERS = ("page-bm25", "page-bm25-stemmed")
"""The baselines with which the engine is compared."""


@dataclass(frozen=True, slots=True)
class BaselinePair:
    """The engine compared with a baseline on a set, in one setting, with one expert knowledge.

    It contains the means of both rankers, and the differences engine − baseline.
    """

    dataset: str
    setting: str
    expert: str
    questions: int
    baseline: Mapping[str, float]
    engine: Mapping[str, float]
    differences: Mapping[str, Interval]
    ranker: str = RANKERS[0]

    @property
    def below(self) -> tuple[str, ...]:
        """Return the measures whose confidence interval of the difference is below zero."""
        return tuple(name for name, interval in self.differences.items() if interval.high < 0)


def sets_at_hand(data: Path | None = None) -> tuple[str, ...]:
    """Return the names of the sets whose folder exists and that have questions."""
    folder = data_folder(data)
    own = (name for name, source in SOURCES.items() if source.folder(folder).is_dir() and load(name, folder).questions)
    return (*own, *sets_of(folder))


def against_baseline(
    plans: Sequence[Plan],
    settings: Sequence[str],
    experts: Sequence[str],
    out: Path,
    progress: Progress,
    rankers: Sequence[str] = RANKERS,
) -> Iterator[BaselinePair]:
    """Run the engine and the baselines, and yield the comparisons.

    There is one for each plan (one per set), setting, expert knowledge and baseline. Finished runs in ``out`` are read.
    A setting in which none of a set's questions can be asked is left out.
    """
    for plan in plans:
        questions = load(
            plan.dataset, plan.data, docs=plan.docs, questions=plan.questions, wording=plan.wording
        ).questions
        for setting in settings:
            if setting != "library" and not any(question.documents for question in questions):
                continue
            stem = f"{plan.label}-{setting}"
            lower = [
                measure(
                    replace(plan, setting=setting, ranker=name, expert="none", out=out / f"{stem}-{name}"), progress
                )
                for name in rankers
            ]
            for expert in experts:
                engine = measure(
                    replace(plan, setting=setting, expert=expert, out=out / f"{stem}-{Path(expert).stem}"), progress
                )
                yield from (_pair(plan.dataset, setting, expert, baseline, engine) for baseline in lower)


def _pair(dataset: str, setting: str, expert: str, lower: Run, engine: Run) -> BaselinePair:
    compared = compare([lower, engine])
    differences = compared.against[0].differences
    shared_measures = [name for name in MEASURES if name in differences]
    first, second = compared.measures
    return BaselinePair(
        dataset, setting, expert, len(compared.questions),
        {name: first[name] for name in shared_measures}, {name: second[name] for name in shared_measures},
        {name: differences[name] for name in shared_measures}, lower.head.ranker,
    )  # fmt: skip


def plans_of(
    sets: Sequence[str], *, data: Path | None, docs: Path | None, questions: Path | None, sample: int, depth: int
) -> list[Plan]:
    """Return a plan for each set. ``docs`` and ``questions`` are passed only to "custom"."""
    return [
        Plan(
            name, data=data, sample=sample, depth=depth,
            docs=docs if name == "custom" else None, questions=questions if name == "custom" else None,
        )
        for name in sets
    ]  # fmt: skip


DEFAULT_OUT = Path(RUNS) / "baseline"


SHOWN = ("text", "line", "section", "document")
"""What a prompt shows of a gold page, from most to least: its text or a passage, a line, a section that contains it, or
only its document. With the first two the model can name the page at once; otherwise it must request more.
"""
MISSES = ("listed nowhere", "no candidate", "nothing asked")
"""Why a prompt does not show a gold page: its document has no line, it is not a candidate, or the model was not
called.
"""


@dataclass(frozen=True, slots=True)
class ShownGold:
    """A question, and how much of its best gold page the first prompt shows.

    shown: one of SHOWN or MISSES. every: whether the prompt shows a page of each gold document, for questions that need
    several. prompt: input tokens. rank: the rank of the first gold page without a model, 0 if it is not among the
    results.
    """

    id: str
    question: str
    shown: str
    every: bool
    prompt: int
    rank: int
    seconds: float


@dataclass(frozen=True, slots=True)
class ShownSet:
    """The questions of a set in one setting, with what the first prompt shows of their gold pages."""

    dataset: str
    setting: str
    questions: tuple[ShownGold, ...]

    def share(self, *shown: str) -> float:
        """Return the share of questions with one of these results, 0 to 1."""
        return statistics.fmean(question.shown in shown for question in self.questions)

    @property
    def tokens(self) -> float:
        """Return the median number of tokens of the prompts."""
        return statistics.median(question.prompt for question in self.questions)

    @property
    def seconds(self) -> float:
        """Return the median seconds of a search with the silent model."""
        return statistics.median(question.seconds for question in self.questions)


class SilentModel:
    """A model whose replies name no page and request nothing. A search continues as without a model."""

    def __init__(self) -> None:
        self.endpoint = ScriptedEndpoint(_nothing, "silent")
        self.model = ChatModel(self.endpoint)

    def taken(self) -> list[Request]:
        """Return the requests to the model since the last call."""
        requests = list(self.endpoint.requests)
        self.endpoint.requests.clear()
        return requests


def measure_shown(plan: Plan, progress: Progress) -> ShownSet:
    """Measure how much the first prompt shows of the gold pages of a set's questions.

    Raise the errors of ``eval run``.
    """
    dataset = load(plan.dataset, plan.data, docs=plan.docs, questions=plan.questions)
    home = plan.home_folder(dataset.files)
    silent = SilentModel()
    settings = replace(load_settings(home), reason_below=1.0)
    prepared = prepare(home, dataset.files, "", progress, ours=plan.home is None, chat=silent.model, settings=settings)
    with closing(prepared.engine) as engine:
        corpus = Corpus(engine)
        usable = tuple(question for question in within(dataset, corpus).questions if has_pages(question))
        located = run(locate(engine, sample(usable, plan.sample, plan.seed) if plan.sample else usable)).questions
        rows = []
        with progress.bar(f"what {plan.label} shows", len(located)) as step:
            for question in located:
                if row := _measure_shown_gold(engine, plan, question, corpus, silent):
                    rows.append(row)
                step()
    return ShownSet(plan.dataset, plan.setting, tuple(rows))


def judged(prompt: str, gold: Sequence[tuple[str, int]], candidates: Sequence[str]) -> tuple[str, bool]:
    """Return how much a prompt shows of the best gold page, and whether all documents are shown.

    The first value is one of SHOWN or MISSES. A document is shown if one of its gold pages has text or a line of its
    own. ``candidates`` are the names of the files that were searched.
    """
    shown = shown_in(prompt)
    short = {name: document for document, name in shown.names.items()}

    def rank(name: str, page: int) -> int:
        document = short.get(name)
        if document is None:
            return len(SHOWN) + (name not in candidates)
        place = (document, page)
        if place in shown.passages | shown.read:
            return 0
        if place in shown.pages:
            return 1
        return 2 if any(s.document == document and page in s.pages for s in shown.sections.values()) else 3

    best: dict[str, int] = {}
    for name, page in gold:
        best[name] = min(best.get(name, len(SHOWN) + 1), rank(name, page))
    return (*SHOWN, *MISSES)[min(best.values())], all(value <= 1 for value in best.values())


def _measure_shown_gold(
    engine: Engine, plan: Plan, question: EvalQuestion, corpus: Corpus, silent: SilentModel
) -> ShownGold | None:
    gold = [
        (item.document, page)
        for item in question.evidence
        if item.page is not None and item.document in corpus.ids
        for page in (item.page, *item.also)
    ]
    chosen_documents = question.documents if plan.setting == "given" else question.within
    documents = [corpus.ids[name] for name in chosen_documents if name in corpus.ids] if chosen_documents else None
    if not gold or documents == []:
        return None
    request = engine.request(question.text, effort="deep", expert=plan.expert, documents=documents, top_k=plan.depth)
    result: SearchResult = engine.search_now(request)
    turns = [item for item in silent.taken() if item.title == "Turn"]
    order = [(page.doc_name, page.page) for page in result.results]
    rank = next((at for at, place in enumerate(order, 1) if place in set(gold)), 0)
    seconds = result.timings_ms.get("reasoning", 0.0) / 1000
    if not turns:
        return ShownGold(question.id, question.text, MISSES[-1], False, 0, rank, seconds)
    shown, every = judged(turns[0].messages[-1].text, gold, [item.doc_name for item in result.documents])
    return ShownGold(question.id, question.text, shown, every, tokens(turns[0]), rank, seconds)


def _nothing(request: Request) -> dict[str, Any] | str:
    """Return a valid reply to a request that names no page and requests nothing."""
    nothing: dict[str, Any] = {"reasoning": "silent", "documents": [], "conditions": [], "pages": [], "ratings": []}
    return "NOT IN THE SOURCES" if request.schema is None else nothing


def home_of(plan: Plan, homes: Path | None) -> Plan:
    """Return a plan whose home is the folder of its set in ``homes``, unchanged if this is None."""
    return plan if homes is None else replace(plan, home=homes / plan.label)
