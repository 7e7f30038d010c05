"""Questions as people put them, on documents of the other sets: by page, number or name of a part, what a document is
about, two documents in one question, and which documents there are.

They were written by hand beside the documents, before the rules that answer them. Of each kind of document half are
held out: no rule was made by looking at their questions. Those «asked later» were written when the rules stood, those
«in other words», on the documents of «about», before the rule for them, as were those on «two of one time».
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eval.datasets.files import lines, physical, words
from eval.records.questions import Dataset, EvalQuestion, Gold
from hybrid_core.errors import NotFoundError

FILE = Path(__file__).with_name("people.jsonl")
HELD_OUT = " (held out)"


def read(root: Path) -> Dataset:
    """``root`` holds the other sets' folders. A document that is absent is left out, and so are its questions.

    The file's lines are documents, {"path", "key"?, "held_out"?}, then questions, {"kind", "question", "gold",
    "held_out"?}: gold is pages, or the beginning of a text, or nothing but the document, by the documents' keys. What
    says nothing of being held out is where one of its documents is.
    """
    left_out: list[str] = []
    documents: dict[str, Mapping[str, Any]] = {}
    files: list[Path] = []

    def entry(told: Mapping[str, Any], number: int) -> EvalQuestion | None:
        if "path" not in told:
            return _question(told, number, documents)
        path = root / words(told["path"], "path")
        if not path.is_file():
            raise ValueError(f"{told['path']} is missing")
        files.append(path)
        documents[told.get("key", told["path"])] = told
        return None

    questions = [question for question in lines(FILE, entry, left_out) if question is not None]
    if not files:
        raise NotFoundError(f"{root} holds none of the documents.", "They are those of the other sets.")
    return Dataset("people", tuple(files), tuple(questions), left_out=tuple(left_out))


def _question(told: Mapping[str, Any], number: int, documents: Mapping[str, Mapping[str, Any]]) -> EvalQuestion:
    gold = [one for key, where in told["gold"].items() for one in _gold(Path(documents[key]["path"]).name, where)]
    held_out = told.get("held_out", any(documents[key].get("held_out") for key in told["gold"]))
    return EvalQuestion(
        f"people-{number}",
        words(told["question"], "question"),
        tuple(gold),
        kind=words(told["kind"], "kind") + (HELD_OUT if held_out else ""),
        group=gold[0].document,
    )


def _gold(document: str, where: str | list[int]) -> list[Gold]:
    if isinstance(where, str):
        return [Gold(document, text=where)]
    return [Gold(document, physical(page)) for page in where] or [Gold(document)]
