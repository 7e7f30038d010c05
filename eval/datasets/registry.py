"""The data sets by name: where they come from, and how to load them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from eval.datasets import custom, outlines, published
from eval.records.questions import Dataset, EvalQuestion
from hybrid_core.errors import DocumentError, NotFoundError, UsageError
from hybrid_core.text.prose import counted

VARIABLE = "PAGEINDEX_EVAL_DATA"


@dataclass(frozen=True, slots=True)
class Source:
    """A data set: where it comes from, and what its folder must contain.

    ``wordings`` are the available wordings of its questions, the default first. ``of_others`` is True if its documents
    belong to other sets.
    """

    name: str
    about: str
    address: str
    licence: str
    layout: str
    read: Callable[..., Dataset]
    wordings: tuple[str, ...] = ()
    of_others: bool = False

    def folder(self, data: Path) -> Path:
        return data if self.of_others else data / self.name


SOURCES: dict[str, Source] = {
    source.name: source
    for source in (
        Source(
            "financebench", "questions on filings, with the pages that answer them",
            "https://github.com/patronus-ai/financebench", "CC BY-NC 4.0; the filings are public",
            "the repository as it is, or questions.jsonl and pdfs/", published.read_financebench,
        ),
        Source(
            "mmlongbench", "questions on slides, reports, papers and scans, some without an answer",
            "https://github.com/mayubo2333/MMLongBench-Doc", "CC BY-NC 4.0",
            "the repository with its data/documents, or questions.jsonl and pdfs/", published.read_mmlongbench,
        ),
        Source(
            "sec10q", "questions on quarterly reports, a third over several reports",
            "https://github.com/docugami/KG-RAG-datasets", "MIT",
            "qna_data.csv and docs/ of sec-10-q", published.read_sec10q,
        ),
        Source(
            "cuad", "contracts and the text of 41 kinds of clauses",
            "https://www.atticusprojectai.org/cuad", "CC BY 4.0",
            "pdfs/ and clauses.jsonl with {doc, clause, spans} of each clause that a contract has", published.read_cuad,
            published.WORDINGS,
        ),
        Source(
            "statutes_zh", "lay questions on Chinese law and the articles that answer them",
            "https://github.com/oneal2000/STARD (questions), https://github.com/LawRefBook/Laws (laws)",
            "MIT (questions)",
            "queries.json of the questions and the laws' folders in laws/", published.read_statutes_zh,
        ),
        Source(
            "hips", "legal books with outlines written by people",
            "https://github.com/anybass/HiPS", "CC BY-NC 4.0; the books CC BY-NC-ND",
            "PDFs and their .toc", outlines.read_hips,
        ),
        Source(
            "outlines", "filings, releases, papers, slides and manuals with outlines written by hand",
            "the PDFs of the other sets, https://github.com/patronus-ai/financebench first", "that of the documents",
            "NAME.toc with rows level,heading,page for PDFs of the other sets", outlines.read_outlines,
        ),
        Source(
            "bookmarks", "manuals, theses, standards and reports in many languages with their authors' outlines",
            "https://www.debian.org/doc/ and public repositories (sources in index.csv)", "that of the documents",
            "PDFs and their .toc, with index.csv", outlines.read_bookmarks,
        ),
        Source(
            "people", "questions as people put them, on documents of all kinds", "this harness",
            "the questions as this project; the documents as the other sets", "the other sets' folders",
            custom.read_people,
            of_others=True,
        ),
    )
}  # fmt: skip
NAMES = (*SOURCES, "custom")
_SETS = "sets"
"""The folder of data sets that share one layout. Each set is named sets/NAME."""


def data_folder(path: str | Path | None = None) -> Path:
    """Return the data folder: ``path``, or that of PAGEINDEX_EVAL_DATA. Raise NotFoundError without one."""
    folder = path or os.environ.get(VARIABLE)
    if not folder or not Path(folder).is_dir():
        raise NotFoundError(
            "The folder of the evaluation data is not set.", f"Name the folder of the data with --data or {VARIABLE}."
        )
    return Path(folder)


def load(
    name: str,
    folder: str | Path | None = None,
    *,
    docs: str | Path | None = None,
    questions: str | Path | None = None,
    wording: str | None = None,
) -> Dataset:
    """Load a data set by name, from ``folder`` or PAGEINDEX_EVAL_DATA.

    "custom" reads the user's ``docs`` (a folder) and ``questions`` (JSONL). ``wording`` is one of ``Source.wordings``.
    Raise UsageError for an unknown name or combination, NotFoundError if the set is missing, and DocumentError if
    nothing in the set is valid. Invalid entries are listed in the ``left_out`` of the result.
    """
    if wording is not None and (name not in SOURCES or wording not in SOURCES[name].wordings):
        wordings = [f"{source.name}: {', '.join(source.wordings)}" for source in SOURCES.values() if source.wordings]
        raise UsageError(
            f"The data set '{name}' has no wording '{wording}' of the questions.",
            f"Choose one of: {'; '.join(wordings)}.",
        )
    if name == "custom":
        if docs is None or questions is None:
            raise UsageError(
                "The data set 'custom' needs documents and questions.", "Give --docs DIR and --questions FILE."
            )
        return checked(custom.read_custom(Path(docs), Path(questions)))
    if docs is not None or questions is not None:
        raise UsageError(
            f"--docs and --questions cannot be used with '{name}'.",
            "Use these options only with the data set 'custom'.",
        )
    source = SOURCES.get(name) or _shared_layout(name)
    if source is None:
        raise UsageError(
            f"The data set '{name}' does not exist.", f"The data sets are: {', '.join(NAMES)}, {_SETS}/NAME."
        )
    root = source.folder(data_folder(folder))
    if not root.is_dir():
        raise NotFoundError(
            f"The folder {root} of the data set is missing.", f"Get it from {source.address} ({source.layout})."
        )
    try:
        return checked(source.read(root) if wording is None else source.read(root, wording))
    except NotFoundError as error:
        raise NotFoundError(error.message, f"Complete the set from {source.address} ({source.layout}).") from error


def sets_of(data: Path) -> tuple[str, ...]:
    """Return the names "sets/NAME" of the folders in ``data``/sets with documents and questions.

    They are sorted.
    """
    return tuple(
        f"{_SETS}/{file.parent.name}"
        for file in sorted((data / _SETS).glob("*/questions.jsonl"))
        if (file.parent / "docs").is_dir()
    )


def _shared_layout(name: str) -> Source | None:
    """Return the source of a data set with a name "sets/NAME", None for other names."""
    folder, _, own = name.partition("/")
    if folder != _SETS or not own or Path(own).name != own or own == "..":
        return None

    def read(root: Path) -> Dataset:
        return replace(custom.read_custom(root / "docs", root / "questions.jsonl"), name=name)

    layout = "docs/ and questions.jsonl, as of custom"
    return Source(name, "questions and documents of any kind", f"{_SETS}/README", "see there", layout, read)


def checked(dataset: Dataset) -> Dataset:
    """Return the set without questions that repeat an id or name a missing document.

    Raise DocumentError if the set has no documents, a repeated file name, or no valid question.
    """
    name = dataset.name
    if not dataset.files and not dataset.left_out:
        raise DocumentError(
            "the data set has no documents.",
            "Put the files of the data set where the layout of the data set expects them.",
            file=name,
        )
    twice = [name for name, times in Counter(path.name for path in dataset.files).items() if times > 1]
    if twice:
        raise DocumentError(
            f"two documents have the file name {twice[0]}.", "Rename one of the two documents.", file=name
        )
    names = {path.name for path in dataset.files}
    usable: dict[str, EvalQuestion] = {}
    left_out = list(dataset.left_out)
    for question in dataset.questions:
        absent = next((document for document in question.documents if document not in names), None)
        if absent is not None:
            left_out.append(f"question {question.id} means {absent}, which is not among the documents.")
        elif question.id in usable:
            left_out.append(f"the question id {question.id} is used more than once.")
        else:
            usable[question.id] = question
    if not usable and not dataset.outlines:
        if not left_out:
            raise DocumentError("the data set has no questions.", "Add at least one question.", file=name)
        entries = counted(len(left_out), "entry", "entries")
        raise DocumentError(
            f"none of the {entries} is valid. The first problem: {left_out[0]}",
            "Correct the entries of the file.",
            file=name,
        )
    return replace(dataset, questions=tuple(usable.values()), left_out=tuple(left_out))
