"""Answers of a shape: the JSON schema asked for, and what can be read out of what a model replies."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

T = TypeVar("T", bound=BaseModel)
_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCED = re.compile(r"```[\w-]*\s*\n(.*?)```", re.DOTALL)
_START = re.compile(r"[{\[]")
_STRING = re.compile(r'("(?:\\.|[^"\\])*")', re.DOTALL)
_NULLS = re.compile(r"\b(None|NaN|undefined)\b")
_TRUTHS = re.compile(r"\b(True|False)\b")
_COMMA = re.compile(r",(\s*[}\]])")
_DECODER = json.JSONDecoder(strict=False)  # models put line ends into strings
_STARTS = 50  # places at which JSON is looked for
_UNSUPPORTED = ("title", "default", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
                "minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems")  # fmt: skip


@lru_cache(256)
def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The schema in the strict subset that endpoints can force: every field required, no others.

    Bounds that the subset lacks are left to pydantic. The same object each time: it is not to be changed.
    """
    strict = _strict(model.model_json_schema())
    assert isinstance(strict, dict)
    return strict


def _strict(node: Any, *, names: bool = False) -> Any:
    """``names``: the keys of this object are names of fields, not words of the schema."""
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {
        key: _strict(value, names=not names and key in ("properties", "$defs"))
        for key, value in node.items()
        if names or key not in _UNSUPPORTED
    }
    if not names and kept.get("type") == "object" and "properties" in kept:
        kept |= {"required": list(kept["properties"]), "additionalProperties": False}
    return kept


def instruction(schema: dict[str, Any]) -> str:
    """What tells a model of the schema where the endpoint cannot force it."""
    written = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return f"Reply with one JSON value that fits this JSON schema, and nothing else:\n{written}"


def read_reply(text: str, model: type[T]) -> T:
    """The first JSON value in a reply that fits the model.

    Understood: thoughts before it, code fences, words around it, trailing commas, Python's None, True and False, line
    ends in strings. Raises ValueError with one line that tells the model what is wrong.
    """
    said = _THOUGHT.sub("", text).strip()
    if not said:
        raise ValueError("it is empty.")
    problem = ""
    for source in [*_FENCED.findall(said), said]:
        for value in _values(source):
            try:
                return model.model_validate(value)
            except ValidationError as error:
                problem = problem or _told(error)
    raise ValueError(problem or "it holds no complete JSON value.")


def _values(text: str) -> Iterator[Any]:
    """Every outermost JSON object or array in a text, in order."""
    at = 0
    for _ in range(_STARTS):
        found = _START.search(text, at)
        if found is None:
            return
        cleaned = _cleaned(text[found.start() :])
        try:
            value, length = _DECODER.raw_decode(cleaned)
        except (ValueError, RecursionError):
            at = found.start() + 1
            continue
        yield value
        text, at = cleaned, length


def _cleaned(text: str) -> str:
    """What JSON does not know put right, outside of strings."""
    parts = _STRING.split(text)
    for i in range(0, len(parts), 2):
        plain = _TRUTHS.sub(lambda match: match[1].lower(), _NULLS.sub("null", parts[i]))
        parts[i] = _COMMA.sub(r"\1", plain)
    return "".join(parts)


def _told(error: ValidationError) -> str:
    """The first problems of a validation, without what was given or where pydantic explains them."""
    problems = [f"{'.'.join(map(str, one['loc'])) or 'the value'}: {one['msg']}" for one in error.errors()[:5]]
    return "; ".join(problems) + "."
