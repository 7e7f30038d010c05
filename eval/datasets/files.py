"""What the adapters share: finding a set's files, and reading entries; bad ones are left out and named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from hybrid_core.errors import DocumentError, NotFoundError

T = TypeVar("T")


def documents(folder: Path, *suffixes: str) -> tuple[Path, ...]:
    """The files below a folder with one of these endings (any case), sorted by path. Raises NotFoundError."""
    if not folder.is_dir():
        raise NotFoundError(f"{folder} is missing.", "The documents belong there.")
    found = (path for path in folder.rglob("*") if path.suffix.lower() in suffixes and not path.name.startswith("."))
    return tuple(sorted(found))


def text(path: Path) -> str:
    """A file of UTF-8, with or without a byte order mark. Raises NotFoundError and DocumentError."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise NotFoundError(f"{path} is missing.", "Name a file that is there, or complete the set.") from None
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"{path} is not UTF-8 ({error.reason} at byte {error.start}).", "Convert it to UTF-8."
        ) from error


def lines(path: Path, make: Callable[[Mapping[str, Any], int], T], left_out: list[str]) -> Iterator[T]:
    """``make(object, line number)`` of every line of a JSONL file; empty lines are passed over.

    A line with something wrong (no JSON, no object, what ``make`` objects to) is left out, and ``left_out`` says why.
    """

    def read(line: str, number: int) -> T:
        return make(_object(json.loads(line)), number)

    for number, line in enumerate(text(path).split("\n"), 1):
        if line.strip():
            yield from kept(f"{path.name}, line {number}", left_out, read, line, number)


def entries(path: Path, make: Callable[[Mapping[str, Any], int], T], left_out: list[str]) -> Iterator[T]:
    """``make(object, number)`` of every object in a JSON list, numbered from 1; bad ones as in ``lines``.

    Raises DocumentError where the file is no JSON list.
    """
    found = at(str(path), json.loads, text(path))
    if not isinstance(found, list):
        raise DocumentError(f"{path}: not a JSON list.", "Write [{…}, {…}].")
    for number, entry in enumerate(found, 1):
        yield from kept(f"{path.name}, entry {number}", left_out, lambda e, n: make(_object(e), n), entry, number)


def kept(place: str, left_out: list[str], make: Callable[..., T], *given: Any) -> Iterator[T]:
    """``make(*given)``, or nothing where its content is wrong: ``left_out`` then says where and why."""
    try:
        yield at(place, make, *given)
    except DocumentError as error:
        left_out.append(error.message)


def at(place: str, make: Callable[..., T], *given: Any) -> T:
    """``make(*given)``; what is wrong with the content is raised as DocumentError that names the place."""
    try:
        return make(*given)
    except KeyError as error:
        problem = f"the field {error} is missing"
    except json.JSONDecodeError as error:
        problem = f"no valid JSON ({error.msg}, line {error.lineno}, column {error.colno})"
    except (ValueError, TypeError, AttributeError, SyntaxError, RecursionError) as error:
        problem = str(error)
    raise DocumentError(f"{place}: {problem}.", "Mend it and try again.")


def physical(page: object) -> int:
    """A page number from 1. Raises ValueError for anything else."""
    if isinstance(page, bool) or not isinstance(page, int) or page < 1:
        raise ValueError(f"'{page}' is no page; pages are whole numbers from 1")
    return page


def words(value: object, name: str) -> str:
    """Text that says something. Raises ValueError."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"'{name}' must be a text that is not empty")
    return value.strip()


def _object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value
