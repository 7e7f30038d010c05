"""Run folders: ``run.json`` describes a measurement, ``questions.jsonl`` has a line per question.

A measurement of trees has ``trees.jsonl`` instead. All figures can be computed again from these files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from eval.records.questions import AnswerRecord, RankedPage, read_answered
from hybrid_core.errors import DocumentError, NotFoundError, StoreError

RUN_FILE, QUESTIONS_FILE, TREES_FILE = "run.json", "questions.jsonl", "trees.jsonl"
STAGES = (
    "no gold placed", "failed", "wrong document", "section not a candidate", "section not chosen", "wrong page",
    "not ranked", "hit",
)  # fmt: skip
"""The stages at which a question can end, in the order of the search; "" if the ranker leaves no trace."""


@dataclass(frozen=True, slots=True)
class RunHead:
    """The description of a run: what was measured, and with which engine and data.

    ``options`` determine the results; a run is only resumed with equal ones. ``engine`` is {version, code}, where code
    is a hash of the engine's source. ``settings`` are the relevant settings of the engine. ``counts`` is {documents,
    pages, questions, answerable, gold, unplaced, …}. ``index`` is {seconds, pages, bytes_per_page,
    first_answer_seconds, reused}; a reused index has the times of its creation. ``problems`` are documents that could
    not be indexed and gold places that could not be used. ``left_out`` lists unusable entries of the data set with
    file, position and reason. ``model`` is the model's name, "" for none. ``judge`` is {model, prompt, text} of the
    judge, empty for none. ``measures`` is {"all": {measure: mean}, "kinds": {kind: {measure: mean}}}, empty until the
    run is finished.
    """

    dataset: str
    setting: str
    ranker: str
    options: Mapping[str, Any]
    engine: Mapping[str, str]
    settings: Mapping[str, Any]
    machine: Mapping[str, Any]
    embedder: str = ""
    model: str = ""
    judge: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    index: Mapping[str, Any] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    started: str = ""  # ISO, UTC
    finished: str = ""  # "" while questions are left
    measures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GoldPlace:
    """A piece of gold evidence with its place in the index.

    ``page`` is None if only the document is known or no page was found. ``also`` are pages that count as equal (a text
    that continues on the next page). ``section`` is the node_id of the deepest section that contains it, "" if unknown.
    ``sections_also`` are other sections on the page, which count as equal if no text distinguishes them. ``lost`` is
    True if a page or text was given but not found.
    """

    document: str
    page: int | None = None
    section: str = ""
    text: str = ""
    also: tuple[int, ...] = ()
    sections_also: tuple[str, ...] = ()
    lost: bool = False


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    """The record of a question. ``given`` are the searched documents, None for the whole library.

    ``pages`` and ``documents`` are best first. ``evidence`` is (level, score), None if the ranker does not estimate it.
    ``stage`` is one of STAGES. ``error`` is "" if nothing went wrong. ``tokens`` and ``cost`` are those of the search;
    ``input_tokens`` are included in ``tokens``. ``answer`` is None in a run without answers. If a model failed, so that
    pages were ranked without it, ``search_failed`` is the note on this.
    """

    id: str
    question: str
    kind: str = ""
    group: str = ""
    answerable: bool = True
    given: tuple[str, ...] | None = None
    gold_answer: str = ""
    gold: tuple[GoldPlace, ...] = ()
    pages: tuple[RankedPage, ...] = ()
    documents: tuple[str, ...] = ()
    evidence: tuple[str, float] | None = None
    stage: str = ""
    receipts: tuple[Mapping[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    timings_ms: Mapping[str, float] = field(default_factory=dict)
    tokens: int = 0
    input_tokens: int = 0
    cost: float = 0.0
    error: str = ""
    answer: AnswerRecord | None = None
    search_failed: str = ""


@dataclass(frozen=True, slots=True)
class TreeRecord:
    """The scores of a document's section tree, compared with its human outline.

    ``bookmarks`` is "kept" or "stripped". ``tolerant`` is an F1 for which optional headings are no errors and doubtful
    ones need not be found.
    """

    document: str
    bookmarks: str
    f1: float
    precision: float
    recall: float
    parent: float
    headings: int
    error: str = ""
    tolerant: float | None = None  # None in runs of older versions


@dataclass(frozen=True, slots=True)
class Run:
    """A run read from its folder. ``questions`` and ``trees`` are in the order of writing."""

    folder: Path
    head: RunHead
    questions: tuple[QuestionRecord, ...]
    trees: tuple[TreeRecord, ...]

    @property
    def name(self) -> str:
        """Return the name of the run's folder, which tables show."""
        return self.folder.name


Record = TypeVar("Record", QuestionRecord, TreeRecord)


def write_head(folder: Path, head: RunHead) -> None:
    """Write ``run.json`` atomically. Raise StoreError if that fails."""
    target = folder / RUN_FILE
    draft = target.with_suffix(".new")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(asdict(head), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
        draft.replace(target)
    except OSError as error:
        raise StoreError(
            f"{target}: this file of the run cannot be written ({error.strerror}).", "Choose another folder with --out."
        ) from error


def append(folder: Path, record: QuestionRecord | TreeRecord) -> None:
    """Append a record, and flush it to the system so that it is kept if the process is killed.

    Raise StoreError if this fails.
    """
    path = folder / (QUESTIONS_FILE if isinstance(record, QuestionRecord) else TREES_FILE)
    line = json.dumps(asdict(record), ensure_ascii=False).encode() + b"\n"
    try:
        with path.open("ab") as file:
            file.write(line)
    except OSError as error:
        raise StoreError(
            f"{path}: this file of the run cannot be written ({error.strerror}).",
            "Free some disk space, and run the same command again.",
        ) from error


def rewrite(folder: Path, records: Sequence[QuestionRecord]) -> None:
    """Replace all question records of a run atomically. Raise StoreError if that fails."""
    target = folder / QUESTIONS_FILE
    draft = target.with_suffix(".new")
    try:
        draft.write_text(
            "".join(json.dumps(asdict(record), ensure_ascii=False) + "\n" for record in records), encoding="utf-8"
        )
        draft.replace(target)
    except OSError as error:
        raise StoreError(
            f"{target}: this file of the run cannot be written ({error.strerror}).",
            "Free some disk space, and run the same command again.",
        ) from error


def drop_torn_line(folder: Path) -> None:
    """Remove an incomplete last line, which a killed run leaves."""
    for path in (folder / QUESTIONS_FILE, folder / TREES_FILE):
        if path.exists():
            written = path.read_bytes()
            whole = written.rfind(b"\n") + 1
            if whole < len(written):
                os.truncate(path, whole)


def read_head(folder: Path) -> RunHead:
    """Return the contents of ``run.json``.

    Raise NotFoundError if the folder is not a run, DocumentError if the file is invalid.
    """
    path = folder / RUN_FILE
    try:
        data = json.loads(path.read_bytes())
        return _from_fields(RunHead, data | {name: tuple(data.get(name, ())) for name in ("problems", "left_out")})
    except FileNotFoundError as error:
        raise NotFoundError(
            f"{folder} is not the folder of a run: it has no {RUN_FILE}.",
            "Name a folder that the command `eval run` wrote.",
        ) from error
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise DocumentError(
            f"the file cannot be read ({error}).", "Repeat the run with a new --out folder.", file=path
        ) from error


def read_run(folder: str | Path) -> Run:
    """Return the run in a folder, without an incomplete last line.

    Raise NotFoundError if the folder is not a run, DocumentError if a file is invalid.
    """
    folder = Path(folder)
    head = read_head(folder)
    questions = tuple(_question(data) for data in _read_records(folder / QUESTIONS_FILE, QuestionRecord))
    trees = tuple(_from_fields(TreeRecord, data) for data in _read_records(folder / TREES_FILE, TreeRecord))
    return Run(folder, head, questions, trees)


def _read_records(path: Path, kind: type[Record]) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    needed = (
        {"id", "question"} if kind is QuestionRecord else {f.name for f in fields(TreeRecord)} - {"error", "tolerant"}
    )
    rows = []
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        try:
            data = json.loads(line)
        except ValueError as error:
            raise DocumentError(
                f"{path}, line {number}: this line is not valid JSON ({error}).",
                "Remove the line and run the same command again.",
            ) from error
        if not isinstance(data, dict) or not needed <= data.keys():
            raise DocumentError(
                f"{path}, line {number}: this line is not a record of a run.",
                "Remove the line and run the same command again.",
            )
        rows.append(data)
    return rows


def _question(data: dict[str, Any]) -> QuestionRecord:
    pages = tuple(
        _from_fields(RankedPage, page | {"node": tuple(page["node"]) if page.get("node") else None})
        for page in data.get("pages", ())
    )
    gold = tuple(
        _from_fields(GoldPlace, place | {name: tuple(place.get(name, ())) for name in ("also", "sections_also")})
        for place in data.get("gold", ())
    )
    given_documents, evidence, answer = data.get("given"), data.get("evidence"), data.get("answer")
    changed = {
        "pages": pages, "gold": gold, "given": None if given_documents is None else tuple(given_documents),
        "evidence": None if evidence is None else (str(evidence[0]), float(evidence[1])),
        "documents": tuple(data.get("documents", ())), "receipts": tuple(data.get("receipts", ())),
        "notes": tuple(data.get("notes", ())),
        "answer": None if answer is None else read_answered(answer),
    }  # fmt: skip
    return _from_fields(QuestionRecord, data | changed)


T = TypeVar("T")


def _from_fields(kind: type[T], data: Mapping[str, Any]) -> T:
    """Return a record of the class ``kind`` from its stored fields.

    Unknown fields, which newer versions may have written, are ignored.
    """
    names = {f.name for f in fields(kind)}  # type: ignore[arg-type]  # only dataclasses come here
    return kind(**{name: value for name, value in data.items() if name in names})


@dataclass(frozen=True, slots=True)
class Degraded:
    """The failures of a question, each as a reason, "" for none.

    ``error`` is a failure of the whole question. Others are failures of models: ``search`` in the search, ``answer``
    while answering, ``judge`` while judging.
    """

    error: str = ""
    search: str = ""
    answer: str = ""
    judge: str = ""

    def __bool__(self) -> bool:
        return bool(self.error or self.search or self.answer or self.judge)

    @property
    def by_model(self) -> bool:
        """Return whether a model failed, so that asking the question again may help."""
        return not self.error and bool(self.search or self.answer)


def degraded(record: QuestionRecord) -> Degraded:
    """Return which parts of a question failed, according to its record."""
    answer = record.answer
    failed = "" if answer is None or answer.status != "model_failed" else answer.why or "the model failed"
    judged = None if answer is None else answer.judgement
    unjudged = judged is not None and judged.verdict is None and bool(record.gold_answer) and not failed
    return Degraded(
        record.error,
        record.search_failed,
        "" if record.error else failed,
        judged.why if judged is not None and unjudged else "",
    )
