"""Question sets in the format of this project: ``custom``, a user's own set, and ``people``.

``people`` has questions on documents of the other sets. They refer to parts by page, number or name, and ask for a
document's subject, about two documents, or for documents of a library. They were written by hand from the documents,
before the rules that answer them. Half of each kind of document are held out: no rule was designed by looking at their
questions. Questions "asked later" were written after the rules were complete. Questions "in other words" (on the
documents of "about") were written before their rule, as were those on "two of one time".
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eval.datasets.files import documents, lines, own_labels, physical, words
from eval.records.questions import Dataset, EvalQuestion, Gold, LabelledAnswer
from hybrid_core.errors import NotFoundError
from hybrid_core.system import exists
from hybrid_pageindex.engine.index.formats import suffixes_read


def read_custom(docs: Path, questions: Path) -> Dataset:
    """Read a user's documents and questions; ``questions`` is a JSONL file.

    Each line is an object: {"question", "answer"?, "evidence": [{"doc", "page"?}], "id"?, "kind"?, "group"?, "lang"?,
    "doc"?, "candidates"?, "labelled"?: [{"answer", "label"}]}. Evidence names right pages by the first key that it has:
    "page" (from 1), "turns" (turns that begin with "[n] "), "text" (pages with at least half of it), "section" (title).
    Without any, every page of the document is right. "doc" or "candidates" restrict the question to documents.

    Document names may lack their suffix. Empty evidence means that the documents do not contain the answer. Lines with
    malformed JSON, an unknown document or a page below 1 are left out. Raise NotFoundError, and DocumentError for a
    file that is not UTF-8.
    """
    if not (exists(docs) and docs.is_dir()):
        raise NotFoundError(f"The folder {docs} does not exist.", "Name the folder of the documents with --docs.")
    files = tuple(path for path in documents(docs, *suffixes_read()) if path.resolve() != questions.resolve())
    named = _names(files)
    labelled: list[LabelledAnswer] = []
    left_out: list[str] = []

    def question(entry: Mapping[str, Any], line: int) -> EvalQuestion:
        if not isinstance(entry["evidence"], list):
            raise ValueError("'evidence' must be a list")
        gold = tuple(_gold(e, named) for e in entry["evidence"])
        built = EvalQuestion(
            str(entry.get("id", line)), words(entry["question"], "question"), gold,
            answer=str(entry.get("answer", "")), kind=str(entry.get("kind", "")), group=str(entry.get("group", "")),
            answerable=bool(gold), within=_within(entry, named), language=str(entry.get("lang", "")),
        )  # fmt: skip
        labelled.extend(list(own_labels(entry, built.id)))
        return built

    dataset_questions = tuple(lines(questions, question, left_out))
    return Dataset("custom", files, dataset_questions, labelled=tuple(labelled), left_out=tuple(left_out))


def _names(files: tuple[Path, ...]) -> dict[str, str]:
    """Return the file name of each document by its name with and without suffix, "" if ambiguous."""
    named = {path.name: path.name for path in files}
    for path in files:
        named[path.stem] = path.name if named.get(path.stem, path.name) == path.name else ""
    return named


def _gold(entry: object, named: Mapping[str, str]) -> Gold:
    if not isinstance(entry, dict):
        raise ValueError('each piece of evidence must be an object of the form {"doc", "page"}')
    document = _document(entry["doc"], named)
    if entry.get("page") is not None:
        return Gold(document, physical(entry["page"]))
    if turns := entry.get("turns"):
        return Gold(document, match="turns", turns=tuple(map(int, turns)))
    if text := str(entry.get("text") or "").strip():
        return Gold(document, text=text, match="half")
    if section := str(entry.get("section") or "").strip():
        return Gold(document, match="section", section=section)
    return Gold(document, match="document")


def _within(entry: Mapping[str, Any], named: Mapping[str, str]) -> tuple[str, ...]:
    candidates = entry.get("candidates") or ([entry["doc"]] if entry.get("doc") else [])
    if not isinstance(candidates, list):
        raise ValueError("'candidates' must be a list")
    return tuple(_document(candidate, named) for candidate in candidates)


def _document(value: object, named: Mapping[str, str]) -> str:
    name = words(value, "doc")
    if not named.get(name):
        raise ValueError(
            f"the document '{name}' "
            + (
                "is ambiguous, because several files have this name without their suffix"
                if name in named
                else "is not in the folder"
            )
        )
    return named[name]


FILE = Path(__file__).with_name("people.jsonl")
HELD_OUT = " (held out)"


def read_people(root: Path) -> Dataset:
    """Read the set ``people``. Missing documents and their questions are left out.

    ``root`` contains the folders of the other sets. The lines of the file are documents, {"path", "key"?, "held_out"?},
    then questions, {"kind", "question", "gold", "held_out"?}. Gold names a document by its key, with a page, the
    beginning of a text, or neither. A question without "held_out" is held out if one of its documents is.
    """
    left_out: list[str] = []
    documents: dict[str, Mapping[str, Any]] = {}
    files: list[Path] = []

    def entry(row: Mapping[str, Any], number: int) -> EvalQuestion | None:
        if "path" not in row:
            return _people_question(row, number, documents)
        path = root / words(row["path"], "path")
        if not path.is_file():
            raise ValueError(f"{row['path']} is missing")
        files.append(path)
        documents[row.get("key", row["path"])] = row
        return None

    questions = [question for question in lines(FILE, entry, left_out) if question is not None]
    if not files:
        raise NotFoundError(
            f"The folder {root} contains none of the documents that the questions name.",
            "Put the documents of the data sets into this folder.",
        )
    return Dataset("people", tuple(files), tuple(questions), left_out=tuple(left_out))


def _people_question(entry: Mapping[str, Any], number: int, documents: Mapping[str, Mapping[str, Any]]) -> EvalQuestion:
    gold = [
        piece
        for key, where in entry["gold"].items()
        for piece in _people_gold(Path(documents[key]["path"]).name, where)
    ]
    held_out = entry.get("held_out", any(documents[key].get("held_out") for key in entry["gold"]))
    return EvalQuestion(
        f"people-{number}",
        words(entry["question"], "question"),
        tuple(gold),
        kind=words(entry["kind"], "kind") + (HELD_OUT if held_out else ""),
        group=gold[0].document,
    )


def _people_gold(document: str, where: str | list[int]) -> list[Gold]:
    if isinstance(where, str):
        return [Gold(document, text=where)]
    return [Gold(document, physical(page)) for page in where] or [Gold(document)]
