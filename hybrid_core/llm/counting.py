"""A model that is not asked: what its calls would take is counted, and it says as little as fits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from hybrid_core.llm.client.endpoint import Completion, Request
from hybrid_core.llm.reply_cache import ReplyCache
from hybrid_core.llm.token_estimate import estimate

PICTURE = 1600
"""Tokens of a picture, by the endpoints that count most: they scale down what is larger than 1,568 pixels."""
_TURN = 6  # tokens that mark a turn
_USUAL = {"PageSaid": 350, "SectionSummary": 70, "Check": 12, "Description": 50}  # tokens of a reply, or of an entry
_LEAST = 60
_SECTION = re.compile(r"^\[section (\d+)\]", re.MULTILINE)
_ENTRY = re.compile(r"^\d+\. Title: ", re.MULTILINE)
_SUMMARY = "What the section says of its matter, with the names and figures that stand in it. " * 3


class CountingEndpoint:
    """Answers in the name of another endpoint, so that what that one's replies were kept for is found kept. Tokens are
    estimates, rather too many: of inputs three bytes each, of outputs what is usual.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def complete(self, request: Request, timeout: float, on_text: Callable[[str], None] | None = None) -> Completion:
        text = "\n".join(message.text for message in request.messages)
        tokens = sum(estimate(message.text) + _TURN + PICTURE * len(message.images) for message in request.messages)
        if request.schema is not None:
            tokens += estimate(json.dumps(request.schema, ensure_ascii=False, separators=(",", ":")))
        sections = [int(number) for number in _SECTION.findall(text)] if request.title == "SectionSummaries" else []
        said = _least(request.schema or {}, request.schema or {})
        if sections:
            said = {"summaries": [{"section": one, "summary": _SUMMARY, "gaps": []} for one in sections]}
        usual = _USUAL.get(request.title, _LEAST)
        usual = max(usual, _USUAL["SectionSummary"] * len(sections), _USUAL["Check"] * len(_ENTRY.findall(text)))
        return Completion(json.dumps(said), True, tokens, min(usual, request.max_tokens))

    def close(self) -> None:
        pass


class SealedReplies(ReplyCache):
    """What was kept, and nothing more."""

    def put(self, key: str, text: str) -> None:
        pass

    def put_part(self, key: str, text: str) -> None:
        pass


def _least(schema: Mapping[str, Any], whole: Mapping[str, Any]) -> Any:
    """The smallest value that a schema of ``structured.json_schema`` allows."""
    if "$ref" in schema:
        return _least(whole["$defs"][schema["$ref"].rsplit("/", 1)[1]], whole)
    if "enum" in schema:
        return schema["enum"][0]
    if "anyOf" in schema:
        return _least(schema["anyOf"][0], whole)
    kind = schema.get("type")
    if kind == "object":
        return {name: _least(one, whole) for name, one in schema.get("properties", {}).items()}
    return {"array": [], "integer": 0, "number": 0, "boolean": False, "null": None}.get(str(kind), "-")
