"""Read the files of data sets: documents, entries of JSON files, labelled answers, and kinds.

Invalid entries are left out and reported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml

from eval.records.questions import LabelledAnswer, Verdict
from hybrid_core.errors import DocumentError, NotFoundError

T = TypeVar("T")


def documents(folder: Path, *suffixes: str) -> tuple[Path, ...]:
    """Return the files below a folder with a supported suffix, sorted by path. Raise NotFoundError."""
    if not folder.is_dir():
        raise NotFoundError(f"The folder {folder} is missing.", "Put the documents of the data set into this folder.")
    paths = (path for path in folder.rglob("*") if path.suffix.lower() in suffixes and not path.name.startswith("."))
    return tuple(sorted(paths))


def text(path: Path) -> str:
    """Read a UTF-8 file with or without a byte order mark. Raise NotFoundError and DocumentError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise NotFoundError(
            f"The file {path} is missing.", "Name an existing file, or complete the data set."
        ) from None
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"{path} is not UTF-8 ({error.reason} at byte {error.start}).", "Convert the file to UTF-8."
        ) from error


def lines(path: Path, make: Callable[[Mapping[str, Any], int], T], left_out: list[str]) -> Iterator[T]:
    """Yield ``make(object, line number)`` for every line of a JSONL file.

    Invalid lines are left out, with the reason in ``left_out``. Empty lines are skipped.
    """

    def read(line: str, number: int) -> T:
        return make(_object(json.loads(line)), number)

    for number, line in enumerate(text(path).split("\n"), 1):
        if line.strip():
            yield from usable_entries(f"{path.name}, line {number}", left_out, read, line, number)


def entries(path: Path, make: Callable[[Mapping[str, Any], int], T], left_out: list[str]) -> Iterator[T]:
    """Yield ``make(object, number)`` for every object in a JSON list, numbered from 1.

    Invalid objects are left out, with the reason in ``left_out``. Raise DocumentError if the file is not a JSON list.
    """
    rows = at(str(path), json.loads, text(path))
    if not isinstance(rows, list):
        raise DocumentError("the file does not contain a JSON list.", "Write a list of objects: [{…}, {…}].", file=path)
    for number, entry in enumerate(rows, 1):
        yield from usable_entries(
            f"{path.name}, entry {number}", left_out, lambda e, n: make(_object(e), n), entry, number
        )


def usable_entries(place: str, left_out: list[str], make: Callable[..., T], *arguments: Any) -> Iterator[T]:
    """Yield the result of ``make`` once, or nothing if it finds the entry invalid.

    The reason is then added to ``left_out``. ``place`` names the entry in it.
    """
    try:
        yield at(place, make, *arguments)
    except DocumentError as error:
        left_out.append(error.message)


def at(place: str, make: Callable[..., T], *arguments: Any) -> T:
    """Return the result of ``make``. If it fails, raise DocumentError that names ``place``."""
    try:
        return make(*arguments)
    except KeyError as error:
        problem = f"the field {error} is missing"
    except json.JSONDecodeError as error:
        problem = f"the line is not valid JSON ({error.msg}, line {error.lineno}, column {error.colno})"
    except (ValueError, TypeError, AttributeError, SyntaxError, RecursionError) as error:
        problem = str(error)
    raise DocumentError(f"{problem}.", "Correct this line of the file, and try again.", file=place)


def physical(page: object) -> int:
    """Check that a value is a page number, which counts from 1, and return it. Raise ValueError for anything else."""
    if isinstance(page, bool) or not isinstance(page, int) or page < 1:
        raise ValueError(f"'{page}' is not the number of a page; pages are whole numbers from 1")
    return page


def words(value: object, name: str) -> str:
    """Check that a value is a non-empty text, and return it. Raise ValueError for anything else."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"'{name}' must be a text that is not empty")
    return value.strip()


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("the line is not a JSON object")
    return value


@cache
def _kinds() -> dict[str, str]:
    listed = yaml.safe_load(Path(__file__).with_name("kinds.yaml").read_text(encoding="utf-8"))
    return {str(name): str(kind) for name, kind in listed.items()}


def kind_of(dataset: str) -> str:
    """Return the kind of documents in a data set. A set that is not listed is a kind of its own."""
    return _kinds().get(dataset, dataset)


LABELS: Mapping[str, Verdict] = {
    "right": "right", "partly": "partly", "wrong": "wrong",
    "correct answer": "right", "incorrect answer": "wrong", "failed to answer": "wrong", "refusal": "wrong",
}  # fmt: skip


def label(written: object) -> Verdict:
    """Return the verdict that a human label stands for. Raise ValueError for an unknown label."""
    verdict = LABELS.get(str(written).strip().lower())
    if verdict is None:
        raise ValueError(f"'{written}' is not a known label; the labels are {', '.join(LABELS)}")
    return verdict


def published_results(folder: Path, left_out: list[str]) -> Iterator[LabelledAnswer]:
    """Yield the labelled answers in FinanceBench's results/*.jsonl, none if the folder is missing.

    They are answers of models, labelled by the authors of the set.
    """
    for path in sorted(folder.glob("*.jsonl")):

        def answer(entry: Mapping[str, Any], _: int, run: str = path.stem) -> LabelledAnswer:
            text_given = "" if entry["model_answer"] is None else str(entry["model_answer"])
            return LabelledAnswer(
                f"{run}/{entry['financebench_id']}", words(entry["question"], "question"), str(entry["gold_answer"]),
                text_given, label(entry["label"]),
            )  # fmt: skip

        yield from lines(path, answer, left_out)


def own_labels(entry: Mapping[str, Any], id: str) -> Iterator[LabelledAnswer]:
    """Yield the labelled answers of a question in the set ``custom``.

    They are in "labelled": [{"answer", "label"}]. The reference answer in "answer" is not one of them.
    """
    for number, labelled in enumerate(entry.get("labelled", ()), 1):
        reference = words(entry.get("answer"), "answer")
        yield LabelledAnswer(
            f"{id}/{number}", entry["question"], reference, str(labelled["answer"]), label(labelled["label"])
        )
