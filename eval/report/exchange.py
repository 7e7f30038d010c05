"""Exchange with other evaluation tools: export runs as TREC files, and import BEIR folders as custom question sets.

A TREC file has a line for each judgement (``query 0 item relevance``) or result (``query Q0 item rank score tag``).
White space separates the fields, so names that contain any are percent-encoded.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from eval.measures.retrieval import LEVELS, level_rankings
from eval.records.runs import Run, read_run
from hybrid_core.errors import DocumentError, NotFoundError, StoreError, UsageError
from hybrid_pageindex.cli.output import dump

_FIELD_CHARACTERS = "".join(map(chr, range(33, 127))).replace("%", "")  # visible, except the escape character
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LINE_BYTES = 50_000_000  # maximum bytes of one document of a corpus
_OTHER_FOLDER = "Name another folder with --out."
_QUERY_LIMIT = 1_000_000


def run_export(options: argparse.Namespace) -> int:
    """Write the judgements and results of a run in the format that TREC tools read."""
    run = read_run(options.run)
    written = write_trec(run, options.out or run.folder / "trec")
    if options.json:
        dump({"files": [str(file) for file in written]})
    else:
        sys.stdout.write("".join(f"{file}\n" for file in written))
    return 0


def write_trec(run: Run, folder: Path) -> list[Path]:
    """Write two files, judgements and results, for each of pages, sections and documents.

    A level for which the run has no gold is left out, and so are questions without gold, as in the measures. Raise
    UsageError if there is nothing to write, StoreError if the folder cannot be written.
    """
    written = list[Path]()
    tag = _field(run.name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for level in LEVELS:
            rankings = level_rankings(run.questions, level)
            if not rankings:
                continue
            for ending, lines in (
                ("qrels", _judgements({id: gold for id, (gold, _) in rankings.items()})),
                ("run", _results({id: items for id, (_, items) in rankings.items()}, tag)),
            ):
                file = folder / f"{level}.{ending}"
                file.write_text("".join(lines), encoding="utf-8")
                written.append(file)
    except OSError as error:
        raise StoreError(
            f"The folder {folder} cannot be written ({error.strerror}).", "Name another folder with --out."
        ) from error
    if not written:
        raise UsageError(
            f"The run {run.folder} has no questions with known right pages (gold).",
            "Export a run of a data set that names the right pages of its questions.",
        )
    return written


def _judgements(gold: Mapping[str, Iterable[str]]) -> Iterator[str]:
    for id, items in gold.items():
        yield from (f"{_field(id)} 0 {_field(item)} 1\n" for item in sorted(items))


def _results(ranked: Mapping[str, list[str]], tag: str) -> Iterator[str]:
    for id, items in ranked.items():
        for rank, item in enumerate(items, 1):
            yield f"{_field(id)} Q0 {_field(item)} {rank} {len(items) - rank + 1} {tag}\n"


def _field(name: str) -> str:
    return quote(name, safe=_FIELD_CHARACTERS) or "%"


def run_import(options: argparse.Namespace) -> int:
    """Convert a BEIR folder to documents and questions, and print how to measure them."""
    counts = read_beir(options.folder, options.out, options.split, options.documents)
    docs, questions = options.out / "documents", options.out / "questions.jsonl"
    if options.json:
        dump(counts | {"docs": str(docs), "questions_file": str(questions)})
    else:
        sys.stdout.write(
            f"{counts['documents']} documents, {counts['questions']} questions; {counts['left_out']} left out.\n"
            f"Measure them: hybrid-pageindex eval run custom --docs {docs} --questions {questions}\n"
        )
    return 0


def read_beir(folder: Path, out: Path, split: str = "test", limit: int = 0) -> dict[str, int]:
    """Convert a BEIR folder: write the corpus as files and the judged queries as a question set.

    Return counts of documents, questions and left-out entries. ``limit`` is the maximum number of documents, judged
    ones first; 0 takes all. A judgement above 0 makes a document right. Raise NotFoundError for a folder of another
    form, DocumentError for an invalid line, StoreError if ``out`` cannot be written, and UsageError if it contains
    documents.
    """
    qrels, corpus, queries = folder / "qrels" / f"{split}.tsv", folder / "corpus.jsonl", folder / "queries.jsonl"
    for file in (qrels, corpus, queries):
        if not file.is_file():
            raise NotFoundError(
                f"The file {file} is missing.",
                "Name a folder in the BEIR format, with corpus.jsonl, queries.jsonl and qrels/.",
            )
    relevant = _read_qrels(qrels)
    judged = {item for items in relevant.values() for item in items}
    if (out / "documents").exists():
        raise UsageError(f"The folder {out / 'documents'} already exists.", "Name another folder with --out.")
    try:
        (out / "documents").mkdir(parents=True)
        names = _write_corpus(corpus, out / "documents", judged, limit)
        left_out, count = len(judged - names.keys()), 0
        with (out / "questions.jsonl").open("w", encoding="utf-8") as target:
            for row in _json_lines(queries, ("_id", "text")):
                items = relevant.get(str(row["_id"]))
                evidence = [{"doc": names[item]} for item in items or () if item in names]
                if evidence:
                    entry = {"id": str(row["_id"]), "question": str(row["text"]), "evidence": evidence}
                    target.write(json.dumps(entry, ensure_ascii=False) + "\n")
                    count += 1
                elif items is not None:
                    left_out += 1
    except OSError as error:
        raise StoreError(f"The folder {out} cannot be written ({error.strerror}).", _OTHER_FOLDER) from error
    return {"documents": len(names), "questions": count, "left_out": left_out}


def _read_qrels(file: Path) -> dict[str, list[str]]:
    """Return the ids of the relevant documents of each query, by query id."""
    relevant: dict[str, list[str]] = {}
    with file.open(encoding="utf-8", newline="") as lines:
        for number, row in enumerate(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE), 1):
            if not row or (number == 1 and row[-1] == "score"):
                continue
            if len(row) != 3 or not re.fullmatch(r"-?\d{1,6}", row[2]):
                raise DocumentError(
                    f"{file.name}, line {number}: this line is not a relevance judgement.",
                    "Write the query, the document and the score, separated by tabs.",
                )
            if len(relevant) > _QUERY_LIMIT:
                raise DocumentError(
                    f"the folder contains more than {_QUERY_LIMIT:,} queries.",
                    "Use only a part of the queries.",
                    file=file.name,
                )
            if int(row[2]) > 0:
                relevant.setdefault(row[0], []).append(row[1])
    return relevant


def _write_corpus(corpus: Path, folder: Path, judged: set[str], limit: int) -> dict[str, str]:
    """Write each document of the corpus as Markdown. Return the file names by document id."""
    names: dict[str, str] = {}
    others = max(limit - len(judged), 0) if limit else None
    for row in _json_lines(corpus, ("_id", "text")):
        id = str(row["_id"])
        if id not in judged:
            if others == 0:
                continue
            others = None if others is None else others - 1
        plain = _PLAIN_NAME.fullmatch(id) is not None
        stem = id if plain else f"{quote(id, safe='')[:60]}-{hashlib.sha256(id.encode()).hexdigest()[:12]}"
        name = names[id] = f"{stem}.md"
        title = " ".join(str(row.get("title") or "").split())
        (folder / name).write_text(f"# {title}\n\n{row['text']}\n" if title else f"{row['text']}\n", encoding="utf-8")
    return names


def _json_lines(file: Path, needed: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    with file.open("rb") as lines:
        number = 0
        while line := lines.readline(_LINE_BYTES):
            number += 1
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if not isinstance(row, dict) or any(not isinstance(row.get(name), str | int) for name in needed):
                raise DocumentError(
                    f"{file.name}, line {number}: this line is not a JSON object with {' and '.join(needed)}."
                )
            yield row
