"""Replies of chat models: parsed into a schema, and cached so that equal requests are paid once."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from hybrid_core.errors import StoreError
from hybrid_core.llm.chat import Request
from hybrid_core.store.cache import Cache

T = TypeVar("T", bound=BaseModel)
_THINKING_BLOCK = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCED_BLOCK = re.compile(r"```[\w-]*\s*\n(.*?)```", re.DOTALL)
_START = re.compile(r"[{\[]")
_STRING = re.compile(r'("(?:\\.|[^"\\])*")', re.DOTALL)
_NULLS = re.compile(r"\b(None|NaN|undefined)\b")
_TRUTHS = re.compile(r"\b(True|False)\b")
_COMMA = re.compile(r",(\s*[}\]])")
_DECODER = json.JSONDecoder(strict=False)  # models put line ends into strings
_STARTS = 50  # maximum number of positions at which JSON is searched for
_UNSUPPORTED_KEYS = ("title", "default", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
                "minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems")  # fmt: skip

_GATHER = 0.2  # seconds during which replies are collected for one transaction


@lru_cache(256)
def json_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a model in the strict subset that endpoints can enforce.

    Every field is required, and no other field is allowed. The subset has no limits of values; pydantic checks these.
    Each call returns the same object: do not change it.
    """
    strict = _strict(model.model_json_schema())
    assert isinstance(strict, dict)
    return strict


def _strict(node: Any, *, names: bool = False) -> Any:
    """Return a node of a JSON schema converted to the strict subset that endpoints can enforce.

    With ``names`` the node's keys are names of fields, not keywords of the schema.
    """
    if isinstance(node, list):
        return [_strict(item) for item in node]
    if not isinstance(node, dict):
        return node
    strict = {
        key: _strict(value, names=not names and key in ("properties", "$defs"))
        for key, value in node.items()
        if names or key not in _UNSUPPORTED_KEYS
    }
    if not names and strict.get("type") == "object" and "properties" in strict:
        strict |= {"required": list(strict["properties"]), "additionalProperties": False}
    return strict


def instruction(schema: dict[str, Any]) -> str:
    """Return the prompt text that describes the schema, for endpoints that cannot enforce it."""
    written = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return f"Reply with one JSON value that fits this JSON schema, and nothing else:\n{written}"


def read_reply(text: str, model: type[T]) -> T:
    """Return the first JSON value in a reply that fits the pydantic model, parsed.

    The reply may contain reasoning, code fences and text around the value. The value may contain trailing commas,
    Python's None, True and False, and line ends in strings. Raise ValueError with a one-line description of the
    problem, which can be sent to the chat model.
    """
    answer = _THINKING_BLOCK.sub("", text).strip()
    if not answer:
        raise ValueError("it is empty.")
    problem = ""
    for source in [*_FENCED_BLOCK.findall(answer), answer]:
        for value in _json_values(source):
            try:
                return model.model_validate(value)
            except ValidationError as error:
                problem = problem or _describe(error)
    raise ValueError(problem or "the reply contains no complete JSON value.")


def _json_values(text: str) -> Iterator[Any]:
    """Yield every outermost JSON object or array in a text, in order."""
    at = 0
    for _ in range(_STARTS):
        start = _START.search(text, at)
        if start is None:
            return
        cleaned = _repair_json(text[start.start() :])
        try:
            value, length = _DECODER.raw_decode(cleaned)
        except (ValueError, RecursionError):
            at = start.start() + 1
            continue
        yield value
        text, at = cleaned, length


def _repair_json(text: str) -> str:
    """Replace syntax that is invalid in JSON, outside of strings."""
    parts = _STRING.split(text)
    for i in range(0, len(parts), 2):
        plain = _TRUTHS.sub(lambda match: match[1].lower(), _NULLS.sub("null", parts[i]))
        parts[i] = _COMMA.sub(r"\1", plain)
    return "".join(parts)


def _describe(error: ValidationError) -> str:
    """Return the first problems of a validation, without the input and links to pydantic's documentation."""
    problems = [
        f"{'.'.join(map(str, problem['loc'])) or 'the value'}: {problem['msg']}" for problem in error.errors()[:5]
    ]
    return "; ".join(problems) + "."


class ReplyCache:
    """A cache of replies, safe for several threads. Keys come from ``request_key`` and ``part_key``.

    A separate thread writes complete replies, several in one transaction, so that calls do not wait for the disk. A
    killed process loses its newest replies.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._lock = threading.Lock()
        self._waiting: dict[str, bytes] = {}  # replies that are not written yet
        self._hurry = threading.Event()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="reply-cache")

    def get(self, key: str) -> str | None:
        with self._lock:
            value = self._waiting.get(key)
        value = self._cache.get(key) if value is None else value
        return None if value is None else value.decode("utf-8")

    def put(self, key: str, text: str) -> None:
        with self._lock:
            idle = not self._waiting
            self._waiting[key] = text.encode("utf-8", "replace")
            if idle:
                self._writer.submit(self._write)

    def put_part(self, key: str, text: str) -> None:
        """Store a model's answer about a part of a document. It is on disk when the call returns.

        If it cannot be written, nothing is stored and no error is raised.
        """
        with contextlib.suppress(StoreError):  # the reply is returned even if it cannot be stored
            self._cache.put({key: text.encode("utf-8", "replace")})

    def flush(self) -> None:
        """Wait until all stored replies are written to disk."""
        self._hurry.set()
        self._writer.submit(self._hurry.clear).result()

    def _write(self) -> None:
        while True:
            self._hurry.wait(_GATHER)
            with self._lock:
                batch = dict(self._waiting)
            try:
                with contextlib.suppress(StoreError):  # the reply is returned even if it cannot be stored
                    self._cache.put(batch)
            finally:
                with self._lock:
                    self._waiting = {key: value for key, value in self._waiting.items() if key not in batch}
                    # read within the lock, so that the next ``put`` knows whether a writer runs
                    more = bool(self._waiting)
            if not more:
                return


def request_key(model: str, prompt: str, request: Request) -> str:
    """Return a cache key: a hash of all that determines a reply.

    It covers the model, the version of the prompt, the messages, the schema and the token limit.
    """
    messages = [
        [message.role, message.text, *(hashlib.sha256(image).hexdigest() for image in message.images)]
        for message in request.messages
    ]
    content = json.dumps([model, prompt, messages, request.schema, request.max_tokens], sort_keys=True)
    return f"reply/{hashlib.sha256(content.encode()).hexdigest()}"


def part_key(kind: str, *decisive: str | bytes) -> str:
    """Return a cache key: a hash of all that determines a model's answer about a part of a document.

    It covers model, prompt and contents, but not page numbers. So an unchanged part (a page, a section) is paid for
    once.
    """
    digest = hashlib.sha256()
    for part in decisive:
        data = part.encode("utf-8", "replace") if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return f"part/{kind}/{digest.hexdigest()[:40]}"
