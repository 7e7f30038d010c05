"""Published question sets.

FinanceBench: questions on filings and the pages that answer them (Islam et al. 2023, arXiv 2311.11944).
SEC 10-Q: questions on quarterly reports, a third over several reports (Docugami's KG-RAG data sets).
MMLongBench-Doc: questions on slides, reports, papers and scans, some unanswerable (Ma et al. 2024, arXiv 2407.01523).
CUAD: contracts and the text of 41 kinds of clauses in them (Hendrycks et al. 2021, arXiv 2103.06268).
STARD: lay questions on Chinese statutes and the articles that answer them (Su et al. 2024, arXiv 2406.15313).
"""

from __future__ import annotations

import ast
import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from eval.datasets.files import documents, entries, lines, physical, published_results, text, usable_entries, words
from eval.records.questions import Dataset, EvalQuestion, Gold

_COMPANY = re.compile(r"(.+?)_\d{4}")


def read_financebench(root: Path) -> Dataset:
    """Read the public repository of FinanceBench, or questions.jsonl beside pdfs/.

    The repository has data/ and pdfs/, and counts pages from 0; questions.jsonl counts them from 1. The repository's
    results/ contain answers of models, labelled by the authors of the set.
    """
    public = root / "data" / "financebench_open_source.jsonl"
    files = documents(root / "pdfs", ".pdf")
    left_out: list[str] = []
    source, make = (public, _published) if public.is_file() else (root / "questions.jsonl", _plain_question)
    questions = tuple(lines(source, make, left_out))
    labelled = tuple(published_results(root / "results", left_out))
    return Dataset("financebench", files, questions, labelled=labelled, left_out=tuple(left_out))


def _published(entry: Mapping[str, Any], _: int) -> EvalQuestion:
    gold = tuple(
        Gold(f"{e.get('doc_name') or entry['doc_name']}.pdf", physical(e["evidence_page_num"] + 1), e["evidence_text"])
        for e in entry["evidence"]
    )
    return _financebench_question(entry, entry["financebench_id"], entry["question_type"], gold)


def _plain_question(entry: Mapping[str, Any], _: int) -> EvalQuestion:
    gold = tuple(Gold(f"{e['doc']}.pdf", physical(e["page"])) for e in entry["evidence"])
    return _financebench_question(entry, entry["id"], entry["type"], gold)


def _financebench_question(entry: Mapping[str, Any], number: str, kind: str, gold: tuple[Gold, ...]) -> EvalQuestion:
    """Return a question of FinanceBench, with the company as its group.

    The company is the part of the document's name before the year.
    """
    if not gold:
        raise ValueError("the question names no evidence")
    company = _COMPANY.match(gold[0].document)
    group = company[1].upper() if company else Path(gold[0].document).stem
    return EvalQuestion(
        number, words(entry["question"], "question"), gold, answer=str(entry["answer"]), kind=kind, group=group
    )


def read_sec10q(root: Path) -> Dataset:
    """Read qna_data.csv beside docs/. Gold names documents, not pages; the group is the company's ticker."""
    files = documents(root / "docs", ".pdf")
    names = [path.name for path in files]
    source = root / "qna_data.csv"
    rows = csv.DictReader(io.StringIO(text(source), newline=""))
    left_out: list[str] = []
    questions = tuple(
        question
        for number, row in enumerate(rows, 1)
        for question in usable_entries(f"{source.name}, row {number}", left_out, _sec10q_question, row, number, names)
    )
    return Dataset("sec10q", files, questions, left_out=tuple(left_out))


def _sec10q_question(row: Mapping[str, str], number: int, names: list[str]) -> EvalQuestion:
    sources = expand(words(row["Source Docs"], "Source Docs"), names)
    return EvalQuestion(
        f"sec10q-{number}",
        words(row["Question"], "Question"),
        tuple(map(Gold, sources)),
        answer=row["Answer"],
        kind=row["Question Type"],
        group=Path(sources[0]).stem.split()[-1],
    )


def expand(patterns: str, names: list[str]) -> tuple[str, ...]:
    """Return the file names that comma-separated glob patterns match.

    Raise ValueError for a pattern without a match.
    """
    files: dict[str, None] = {}
    for pattern in (part.strip() for part in patterns.split(",")):
        fitting = [name for name in names if fnmatchcase(name, pattern) or fnmatchcase(Path(name).stem, pattern)]
        if not fitting:
            raise ValueError(f"no document of the data set matches '{pattern}'")
        files |= dict.fromkeys(fitting)
    return tuple(files)


_KINDS = {
    "Pure-text (Plain-text)": "text", "Generalized-text (Layout)": "layout", "Table": "table", "Chart": "chart",
    "Figure": "figure",
}  # fmt: skip
NOT_ANSWERABLE = "Not answerable"


def read_mmlongbench(root: Path) -> Dataset:
    """Read the public repository (data/samples.json and data/documents/), or questions.jsonl beside pdfs/.

    A question's kind is the source of its evidence: text, layout, table, chart or figure, "mixed" for several,
    "unknown" if the set does not state it, and "unanswerable". Evidence without pages names only the document.
    """
    public = root / "data" / "samples.json"
    questions: Iterator[EvalQuestion]
    left_out: list[str] = []
    if public.is_file():
        folder, questions = root / "data" / "documents", entries(public, _mmlongbench_question, left_out)
    else:
        folder, questions = root / "pdfs", lines(root / "questions.jsonl", _mmlongbench_question, left_out)
    return Dataset("mmlongbench", documents(folder, ".pdf"), tuple(questions), left_out=tuple(left_out))


def _mmlongbench_question(entry: Mapping[str, Any], number: int) -> EvalQuestion:
    document = words(entry.get("doc") or entry["doc_id"], "doc")
    answerable = entry["answer"] != NOT_ANSWERABLE
    pages = [physical(page) for page in _list(entry["evidence_pages"])]
    gold = tuple(Gold(document, page) for page in dict.fromkeys(pages)) or (Gold(document),)
    return EvalQuestion(
        f"mmlongbench-{number}",
        words(entry["question"], "question"),
        gold if answerable else (),
        answer=str(entry["answer"]),
        kind=_evidence_kind(_list(entry["evidence_sources"])) if answerable else "unanswerable",
        group=document,
        answerable=answerable,
        given=(document,),
    )


def _evidence_kind(sources: list[str]) -> str:
    if not sources:
        return "unknown"
    if unknown := [source for source in sources if source not in _KINDS]:
        raise ValueError(f"'{unknown[0]}' is not a known source of evidence")
    return _KINDS[sources[0]] if len(set(sources)) == 1 else "mixed"


def _list(written: object) -> list[Any]:
    """Parse a list, which the files of the set write as Python text."""
    values = ast.literal_eval(written) if isinstance(written, str) else written
    if not isinstance(values, list):
        raise ValueError(f"'{written}' is not a list")
    return values


WORDINGS = ("official", "short")
_OFFICIAL = (
    'Highlight the parts (if any) of this contract related to "{}" that should be reviewed by a lawyer. Details: {}'
)
_OMISSION = "<omitted>"  # marks text of the clause that a span skips


def read_cuad(root: Path, wording: str = "official") -> Dataset:
    """Read clauses.jsonl ({doc, clause, spans}) beside pdfs/.

    Gold is text, whose page is located after the contract is indexed. ``wording`` is "official" (the question as the
    set asks it) or "short" (only the clause's name). A question's kind is the clause, and its group the contract.
    """

    def question(entry: Mapping[str, Any], number: int) -> EvalQuestion:
        clause, document = words(entry["clause"], "clause"), words(entry["doc"], "doc")
        if clause not in descriptions():
            raise ValueError(f"the data set has no clause '{clause}'")
        text = _OFFICIAL.format(clause, descriptions()[clause]) if wording == "official" else clause
        spans = ast.literal_eval(entry["spans"]) if isinstance(entry["spans"], str) else entry["spans"]
        pieces = [piece.strip() for span in spans for piece in span.split(_OMISSION)]
        gold = tuple(Gold(document, text=piece) for piece in dict.fromkeys(pieces) if piece)
        return EvalQuestion(
            f"cuad-{number}", text, gold, kind=clause, group=document, answerable=bool(gold), given=(document,)
        )

    files = documents(root / "pdfs", ".pdf")
    left_out: list[str] = []
    questions = tuple(lines(root / "clauses.jsonl", question, left_out))
    return Dataset("cuad", files, questions, left_out=tuple(left_out))


@cache
def descriptions() -> dict[str, str]:
    """Return the official question of CUAD for each kind of clause."""
    texts = yaml.safe_load(Path(__file__).with_name("cuad_clauses.yaml").read_text(encoding="utf-8"))
    return dict(texts)


_ARTICLE = re.compile(r"(?P<law>.+?)(?P<number>第[零〇一二两三四五六七八九十百千\d]+条(?:之[一二三四五六七八九十]+)?)")
_TITLE = re.compile(r"^#\s+(.+)$", re.MULTILINE)
_DATE = re.compile(r"\(\d{4}-\d{2}-\d{2}\)$")
_STATE = "中华人民共和国"
_FOLDER_PAGE = "_index.md"  # a file in each folder for the web site of the law collection, without legal text


@dataclass(frozen=True, slots=True)
class _Law:
    file: str
    letters: str


def read_statutes_zh(root: Path) -> Dataset:
    """Read queries.json ({query_id, 问题, 相关法规: {law and article: its text}}) beside laws/**/*.md.

    Gold is the number and text of an article, in the newest file of the law that contains it literally. Articles of
    laws that are not in the folder are not gold; a question with only such articles is unanswerable. ``notes`` count
    these cases. A question's group is the file of its first gold (the civil code has one file for each book).
    """
    files, notes = _files(root / "laws")
    laws: dict[str, list[_Law]] = {}
    for path in files:
        content = text(path)
        title = _TITLE.search(content)
        name = title[1] if title else _DATE.sub("", path.stem)
        laws.setdefault(_law_name(name), []).append(_Law(path.name, _strip_punctuation(content)))
    absent: list[str] = []
    left_out: list[str] = []
    questions = tuple(entries(root / "queries.json", lambda entry, _: _statute_question(entry, laws, absent), left_out))
    if absent:
        without = sum(not question.answerable for question in questions)
        notes.append(
            f"{len(absent)} articles are missing, because their laws are not in the folder or have another wording "
            f"there; they do not count as gold. {without} questions have only such articles and count as unanswerable."
        )
    return Dataset("statutes_zh", files, questions, chinese=True, notes=tuple(notes), left_out=tuple(left_out))


def _files(folder: Path) -> tuple[tuple[Path, ...], list[str]]:
    """Return the files of laws, and notes on files that are left out.

    A law that occurs in two folders is returned once.
    """
    paths = documents(folder, ".md")
    laws = [path for path in paths if path.name != _FOLDER_PAGE]
    once = {path.name: path for path in reversed(laws)}
    notes = []
    if len(paths) > len(laws):
        notes.append(f"{len(paths) - len(laws)} files {_FOLDER_PAGE} contain no law and are left out.")
    if len(laws) > len(once):
        notes.append(f"{len(laws) - len(once)} laws are in two folders; the first file is used.")
    return tuple(path for path in laws if once[path.name] == path), notes


def _statute_question(entry: Mapping[str, Any], laws: Mapping[str, Sequence[_Law]], absent: list[str]) -> EvalQuestion:
    gold: list[Gold] = []
    names: list[str] = []
    for name, content in entry["相关法规"].items():
        article = _ARTICLE.fullmatch(name)
        if not article:
            raise ValueError(f"'{name}' must be the name of a law followed by the number of an article")
        names.append(_law_name(article["law"]))
        place = f"{article['number']} {words(content, name)}"
        holding = [law.file for law in laws.get(names[-1], ()) if _strip_punctuation(place) in law.letters]
        if holding:
            gold.append(Gold(max(holding, key=_dated), text=place))
        else:
            absent.append(name)
    if not names:
        raise ValueError("the question names no article")
    kind = "absent" if not gold else "one article" if len(names) == 1 else "several articles"
    return EvalQuestion(
        f"statutes-{entry['query_id']}",
        words(entry["问题"], "问题"),
        tuple(gold),
        kind=kind,
        group=Path(gold[0].document).stem if gold else names[0],
        answerable=bool(gold),
    )


def _dated(file: str) -> str:
    date = _DATE.search(Path(file).stem)
    return date[0] if date else ""


def _law_name(law: str) -> str:
    return _strip_punctuation(law).removeprefix(_STATE)


def _strip_punctuation(written: str) -> str:
    return re.sub(r"[\W_]+", "", written)
