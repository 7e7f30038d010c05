"""How much of the gold a model is shown before it says anything: the ceiling of a search with a model, without one."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eval.datasets.corpus import Corpus
from eval.datasets.locate import locate
from eval.datasets.registry import load
from eval.datasets.sampling import sample
from eval.records.progress import Progress
from eval.records.questions import EvalQuestion
from eval.runs.features import has_pages
from eval.runs.home import prepare
from eval.runs.plan import Plan
from eval.runs.run import within
from eval.runs.scripted.endpoint import ScriptedEndpoint, tokens
from eval.runs.scripted.outline import shown_in
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.endpoint import Request
from hybrid_core.types.results import SearchResult
from hybrid_pageindex import Engine, run
from hybrid_pageindex.config.settings import load_settings

SHOWN = ("text", "line", "section", "document")
"""What of a gold page a prompt shows, most first: its text or a passage of it, a line, a section that holds it, or its
document alone. With the first two the model can name the page at once, with the others it must ask for more."""
MISSES = ("listed nowhere", "no candidate", "nothing asked")
"""Its document is a candidate without a line; it is none; the model was asked nothing."""


@dataclass(frozen=True, slots=True)
class ShownGold:
    """A question, and what its first prompt shows of the best of its gold pages: one of SHOWN or MISSES.

    every: whether the prompt shows each gold document's page, for questions that need several. prompt: input tokens.
    rank: of the first gold page in the order without a model, 0 where it is not among the results.
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
    """The questions of one set in one setting. Shares are 0 to 1."""

    dataset: str
    setting: str
    questions: tuple[ShownGold, ...]

    def share(self, *shown: str) -> float:
        """Return the share of questions of which so much is shown."""
        return statistics.fmean(one.shown in shown for one in self.questions)

    @property
    def tokens(self) -> float:
        """Return the median of the prompts' tokens."""
        return statistics.median(one.prompt for one in self.questions)

    @property
    def seconds(self) -> float:
        """Return the median of what the loop took besides the model."""
        return statistics.median(one.seconds for one in self.questions)


class SilentModel:
    """A model that names nothing and asks for nothing, so that a search goes on as without one."""

    def __init__(self) -> None:
        self.endpoint = ScriptedEndpoint(_nothing, "silent")
        self.model = ChatModel(self.endpoint)

    def taken(self) -> list[Request]:
        """Return the requests since the last call."""
        made = list(self.endpoint.requests)
        self.endpoint.requests.clear()
        return made


def measure_shown(plan: Plan, progress: Progress) -> ShownSet:
    """Ask a set's questions that have gold pages, and say what of these the first prompt about pages shows.

    Raises what ``eval run`` raises.
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
                if row := _shown(engine, plan, question, corpus, silent):
                    rows.append(row)
                step()
    return ShownSet(plan.dataset, plan.setting, tuple(rows))


def judged(prompt: str, gold: Sequence[tuple[str, int]], candidates: Sequence[str]) -> tuple[str, bool]:
    """Return what a prompt shows of the best of these pages (file name, page), and whether it shows one of each file.

    ``candidates`` are the names of the files that were looked into.
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


def _shown(engine: Engine, plan: Plan, question: EvalQuestion, corpus: Corpus, silent: SilentModel) -> ShownGold | None:
    gold = [
        (one.document, page)
        for one in question.evidence
        if one.page is not None and one.document in corpus.ids
        for page in (one.page, *one.also)
    ]
    given = question.documents if plan.setting == "given" else question.within
    documents = [corpus.ids[name] for name in given if name in corpus.ids] if given else None
    if not gold or documents == []:
        return None
    request = engine.request(question.text, effort="deep", expert=plan.expert, documents=documents, top_k=plan.depth)
    found: SearchResult = engine.search_now(request)
    asked = [one for one in silent.taken() if one.title == "Turn"]
    order = [(page.doc_name, page.page) for page in found.results]
    rank = next((at for at, place in enumerate(order, 1) if place in set(gold)), 0)
    seconds = found.timings_ms.get("reasoning", 0.0) / 1000
    if not asked:
        return ShownGold(question.id, question.text, MISSES[-1], False, 0, rank, seconds)
    shown, every = judged(asked[0].messages[-1].text, gold, [one.doc_name for one in found.documents])
    return ShownGold(question.id, question.text, shown, every, tokens(asked[0]), rank, seconds)


def _nothing(request: Request) -> dict[str, Any] | str:
    """Return the reply that changes nothing."""
    nothing: dict[str, Any] = {"reasoning": "silent", "documents": [], "conditions": [], "pages": [], "ratings": []}
    return "NOT IN THE SOURCES" if request.schema is None else nothing


def home_of(plan: Plan, homes: Path | None) -> Plan:
    """Return a plan whose home is the set's folder in ``homes``, called as in ``eval fit``."""
    return plan if homes is None else replace(plan, home=homes / plan.label)
