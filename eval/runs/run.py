"""Run a plan: ask the questions of a set, write each record when it is complete, and resume."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from eval.datasets.corpus import Corpus, GoldPlacement, locate
from eval.datasets.files import documents
from eval.datasets.registry import load
from eval.datasets.variants import hide_names, misspelt, reworded, sample
from eval.measures import retrieval
from eval.records.progress import Progress
from eval.records.questions import Dataset, EvalQuestion, Ranker
from eval.records.runs import (
    GoldPlace,
    Run,
    RunHead,
    degraded,
    read_run,
    write_head,
)
from eval.runs.asking import Answerer, Asking
from eval.runs.home import RunHome, engine_code, machine, prepare, resumed, settings_that_matter
from eval.runs.models import RankerOptions, RunModels, load_models, make_ranker, patient
from eval.runs.plan import Plan
from eval.runs.scripted import Pages
from eval.runs.trees import measure_trees
from hybrid_core.errors import DocumentError, UsageError
from hybrid_core.store.catalog.rows import now
from hybrid_core.system import require
from hybrid_pageindex import run
from hybrid_pageindex.config.settings import load_settings
from hybrid_pageindex.engine.index.formats import suffixes_read


def measure(plan: Plan, progress: Progress) -> Run:
    """Run a plan. If its folder contains a run of the same plan, resume it.

    Raise NotFoundError for a missing set. Raise UsageError for a plan that matches no question, or if the folder
    contains another run. Raise PageIndexError if the ranker cannot be created. A question that fails becomes a record
    with an error.
    """
    dataset = load(plan.dataset, plan.data, docs=plan.docs, questions=plan.questions, wording=plan.wording)
    dataset = reworded(dataset, plan.paraphrases) if plan.paraphrases else dataset
    dataset = misspelt(dataset, plan.misspelt, plan.seed) if plan.misspelt else dataset
    files = (*dataset.files, *distractors(plan.distractors, dataset))
    if plan.hide_names:
        home = plan.home_folder(files)
        hidden = hide_names(replace(dataset, files=files), home.with_name(home.name + ".names"))
        files, dataset = hidden.files, replace(hidden, files=hidden.files[: len(dataset.files)])
    folder = plan.folder()
    if not dataset.questions:
        return measure_trees(plan, dataset, folder, progress)
    previous = resumed(folder, plan)
    if previous and previous.finished and not (_left_to_mend(folder) and previous.engine == engine_code()):
        other = "" if previous.engine == engine_code() else " It was made with another version of the engine."
        progress.say(f"{folder} is a finished run of the same questions, so no question is asked again.{other}")
        return read_run(folder)
    require("ir_measures", "eval")  # needed only at the end, but a missing package must fail early
    home = plan.home_folder(files)
    embedder = plan.embedder if plan.ranker == "engine" else ""
    gold_by_text: dict[str, Pages] = {}
    settings = patient(load_settings(home))
    models = load_models(plan, settings, gold_by_text, {q.text: q.answer for q in dataset.questions})
    prepared = prepare(home, files, embedder, progress, ours=plan.home is None, chat=models.engine, settings=settings)
    with closing(prepared.engine), closing(models):
        corpus = Corpus(prepared.engine)
        cache = home.with_name(home.name + ".baselines")
        languages = {q.text: q.language for q in dataset.questions}
        before = {q.text: q.before for q in dataset.questions if q.before}
        options = RankerOptions(
            search=plan.search, embedder=plan.embedder, in_chinese=dataset.chinese, cache=cache, languages=languages,
            before=before, model=models.tree,
        )  # fmt: skip
        ranker = make_ranker(plan.ranker, prepared.engine, corpus, options, progress)
        dataset = within(dataset, corpus)
        questions, left_out = chosen(plan, dataset, corpus)
        located = run(locate(prepared.engine, questions))
        gold_by_text |= {q.text: gold_pages(q) for q in located.questions}
        gold = {
            q.id: places(q, placed_question, corpus)
            for q, placed_question in zip(questions, located.questions, strict=True)
        }
        head = _head(plan, dataset, prepared, ranker, located, left_out, models)
        head = replace(head, started=previous.started) if previous else head
        write_head(folder, head)
        answerer = None
        if plan.answers:
            # a reader of the right pages reads them all, whatever their evidence
            oracle = plan.setting == "oracle-pages"
            limit = None if oracle else prepared.engine.settings.top_k
            answerer = Answerer(prepared.engine, corpus, models.judge, force=oracle, pages=limit, vision=plan.vision)
        Asking(plan, ranker, answerer, corpus, gold).ask_all(folder, questions, progress)
    records = read_run(folder).questions
    measured = {"all": retrieval.summarise(records), "kinds": retrieval.summarise_kinds(records)}
    write_head(folder, replace(head, measures=measured, finished=now()))
    return read_run(folder)


def _left_to_mend(folder: Path) -> bool:
    """Return whether a model failed for any question of the run in this folder."""
    return any(degraded(record).by_model for record in read_run(folder).questions)


def distractors(folder: Path | None, dataset: Dataset) -> tuple[Path, ...]:
    """Return the files of a folder that are indexed too, only to make the library larger.

    Raise UsageError if the set has a file with an equal name.
    """
    if folder is None:
        return ()
    paths = tuple(path for path in documents(folder, *suffixes_read()) if path.is_file())
    if not paths:
        raise UsageError(
            f"The folder {folder} contains no documents.",
            "Name a folder with files in supported formats with --distractors.",
        )
    names = [path.name for path in dataset.files]
    for path in paths:
        if path.name in names:
            raise UsageError(
                f"{path}: {dataset.name} already has a document of that name.", "Rename the file of the distractor."
            )
        names.append(path.name)
    return paths


def within(dataset: Dataset, corpus: Corpus) -> Dataset:
    """Return the set without questions whose gold pages do not exist in their documents.

    Raise DocumentError if no question is left.
    """
    outside = {q.id: reason for q in dataset.questions if (reason := _outside(q, corpus))}
    inside = tuple(question for question in dataset.questions if question.id not in outside)
    if not inside:
        raise DocumentError(
            f"no question of the data set is valid. The first problem: {next(iter(outside.values()))}",
            file=dataset.name,
        )
    return replace(dataset, questions=inside, left_out=(*dataset.left_out, *outside.values()))


def _outside(question: EvalQuestion, corpus: Corpus) -> str:
    for gold in question.evidence:
        indexed = corpus.documents.get(gold.document)
        if indexed is not None and gold.page is not None and gold.page > indexed.pages:
            return f"question {question.id}: {gold.document} has no page {gold.page}, its last is {indexed.pages}."
    return ""


def chosen(plan: Plan, dataset: Dataset, corpus: Corpus) -> tuple[tuple[EvalQuestion, ...], list[str]]:
    """Return the questions that a plan asks, and notes on those that were left out.

    Raise UsageError if no question is left.
    """
    kinds = {question.kind for question in dataset.questions}
    if unknown := [kind for kind in plan.kinds if kind not in kinds]:
        raise UsageError(
            f"{dataset.name} has no questions of the kind '{unknown[0]}'.",
            f"The kinds of this data set are {sorted(kinds)}.",
        )
    small = {name for name, document in corpus.documents.items() if document.pages < plan.min_pages}
    left = tuple(
        question
        for question in dataset.questions
        if (not plan.kinds or question.kind in plan.kinds) and not small & set(question.documents)
    )
    notes = []
    if plan.setting != "library":
        without = sum(not question.documents for question in left)
        left = tuple(question for question in left if question.documents)
        notes = [f"{without} questions name no document, so the setting 'given' leaves them out"] if without else []
    if not left:
        raise UsageError(
            f"The options leave no question of {dataset.name} to ask.",
            "Choose another --kind or --setting, or lower --min-pages.",
        )
    return (sample(left, plan.sample, plan.seed) if plan.sample else left), notes


def gold_pages(question: EvalQuestion) -> set[tuple[str, int]]:
    return {(gold.document, gold.page) for gold in question.evidence if gold.page is not None}


def places(question: EvalQuestion, located: EvalQuestion, corpus: Corpus) -> tuple[GoldPlace, ...]:
    """Return the places of a question's gold evidence, with the sections that contain each piece.

    ``located`` is the question with located gold.
    """
    return tuple(
        GoldPlace(
            gold.document, gold.page,
            corpus.section_at(gold.document, gold.page, gold.text) if gold.page and gold.match != "document" else "",
            gold.text, gold.also,
            corpus.sections_on(gold.document, gold.page)
            if gold.page and gold.match != "document" and not gold.text
            else (),
            lost=gold.page is None and (original.page is not None or bool(original.text) or original.match != "place"),
        )
        for original, gold in zip(question.evidence, located.evidence, strict=True)
    )  # fmt: skip


def _head(
    plan: Plan,
    dataset: Dataset,
    prepared: RunHome,
    ranker: Ranker,
    located: GoldPlacement,
    left_out: Sequence[str],
    models: RunModels,
) -> RunHead:
    questions = located.questions
    return RunHead(
        dataset=dataset.name, setting=plan.setting, ranker=ranker.name, options=plan.options, engine=engine_code(),
        settings=settings_that_matter(prepared.engine.settings) | {"ranker": dict(ranker.options)}, machine=machine(),
        model=models.name, judge=models.judge.about if models.judge else {},
        embedder=str(ranker.options.get("embedder", prepared.embedder if plan.ranker == "engine" else "")),
        counts={
            "documents": len(dataset.files), "pages": int(prepared.figures["pages"]), "questions": len(questions),
            "answerable": sum(question.answerable for question in questions),
            "gold": sum(len(question.evidence) for question in questions), "unplaced": located.unplaced,
            "placed exactly": located.exact + located.given, "placed by ends": located.ends,
            "placed by words": located.fuzzy, "of documents only": located.document_only,
            "left out": len(dataset.left_out),
        },
        index=prepared.figures, started=now(),
        left_out=dataset.left_out,
        problems=(*dataset.notes, *prepared.problems, *left_out, *located.problems),
    )  # fmt: skip
