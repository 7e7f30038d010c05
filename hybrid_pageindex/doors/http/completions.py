"""What chat programs send to an OpenAI-compatible endpoint, and what they expect to hear."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, Field, StrictBool

from hybrid_core.types.conversations import Citation
from hybrid_core.types.usage import Usage
from hybrid_pageindex.doors.http.errors import Refusal
from hybrid_pageindex.doors.http.events import Event
from hybrid_pageindex.doors.http.fields import Fault
from hybrid_pageindex.doors.http.models import QUESTION, Strict
from hybrid_pageindex.services.conversations.memory import Exchange
from hybrid_pageindex.services.conversations.naming import title_of

_MARK = re.compile(r"\[\[source:(\d+)\]\]")
_OPEN = re.compile(r"\[(?:\[(?:s(?:o(?:u(?:r(?:c(?:e(?::\d*\]?)?)?)?)?)?)?)?)?$")
_SOURCES = "\n\n**Sources**\n"
_LINKED = re.compile(r"/documents/([^/\s)]+)/pages/(\d+)")
_NUMBERS = re.compile(r"\s?\[\d+\]")
# Open WebUI asks for titles, tags, follow-ups and queries as JSON; LibreChat for titles in the other two ways.
_TASK = re.compile(
    r"\s*(?:### Task:.*?\bJSON\b|Provide a concise, 5-word-or-less title|Analyze this conversation and provide:)",
    re.DOTALL,
)
_WANTED = re.compile(r'\{\s*"(\w+)"\s*:')
_SAID = re.compile(r"^\s*(?:user|human)\s*:\s*(.+)$", re.IGNORECASE | re.MULTILINE)
_CONVERSATION = re.compile(r"(?:<chat_history>|Conversation:)(.*)", re.DOTALL)


class Part(BaseModel):
    """A part of a message: of pictures, sound and files none is read, and none is dropped without a word."""

    type: Literal["text", "input_text", "output_text", "refusal"] = "text"
    text: str = ""


class Said(Strict):
    """What a program adds to its messages beyond these is not read."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.type in ("text", "input_text"))
        return self.content or ""


class StreamOptions(Strict):
    include_usage: StrictBool = False


class ResponseFormat(BaseModel):
    """Answers are text with citations: other forms are refused."""

    type: Literal["text"]


class CompletionBody(Strict):
    """``model`` is a library by its name or alias. ``temperature``, ``max_tokens`` and the like are checked and not
    applied: what is asked of the model is the server's affair. What would change the form of an answer is refused.
    """

    model: Annotated[str, Field(min_length=1, max_length=200)]
    messages: Annotated[list[Said], Field(min_length=1, max_length=2000)]
    stream: StrictBool | None = False
    stream_options: StreamOptions | None = None
    metadata: dict[str, Any] | None = None
    n: Literal[1] | None = None
    response_format: ResponseFormat | None = None
    tools: Annotated[list[dict[str, Any]], Field(max_length=1000)] | None = None
    tool_choice: Literal["none", "auto"] | None = None
    functions: Annotated[list[dict[str, Any]], Field(max_length=1000)] | None = None
    function_call: Literal["none", "auto"] | None = None
    stop: Annotated[list[str], Field(max_length=0)] | None = None
    logprobs: Literal[False] | None = None
    modalities: list[Literal["text"]] | None = None
    audio: None = None
    web_search_options: None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    seed: int | None = None
    user: str | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The last question, and what was said before it."""

    question: str
    said: tuple[Exchange, ...]


def asked(body: CompletionBody) -> Asked:
    """Raises Refusal where nothing is asked, or more than a question."""
    turns = [one for one in body.messages if one.role in ("user", "assistant") and one.text.strip()]
    if not turns or turns[-1].role != "user":
        raise _unfit("invalid_value", "The last message is no question.", "Send one of the role user.")
    if len(turns[-1].text) > QUESTION:
        advice = "Upload documents to the library instead of sending them along."
        why = f"The question has {len(turns[-1].text):,} characters; {QUESTION:,} are read."
        raise _unfit("string_above_max_length", why, advice)
    said, question = list[Exchange](), ""
    for turn in turns[:-1]:
        if turn.role == "user":
            question = turn.text
        elif question:
            said.append(_exchange(question, turn.text))
            question = ""
    return Asked(turns[-1].text.strip(), tuple(said))


def _unfit(code: str, message: str, advice: str) -> Refusal:
    return Refusal(400, code, message, advice, faults=[Fault("messages", "body", message)])


def _exchange(question: str, answer: str) -> Exchange:
    """An answer of ours as it came back: without its marks, its list of sources as the pages it rests on."""
    text, _, sources = answer.partition(_SOURCES)
    pages = tuple((doc, int(page)) for doc, page in _LINKED.findall(sources))
    return Exchange(question, _NUMBERS.sub("", text), question, pages)


def errand(body: CompletionBody) -> str | None:
    """The reply to what a program asks for itself (titles, tags, follow-ups, queries), by rule; None for a question."""
    users = [one.text for one in body.messages if one.role == "user"]
    text = users[-1] if users else ""
    task = str((body.metadata or {}).get("task", ""))
    if not task and not (len(users) == 1 and _TASK.match(text)):
        return None
    about = _CONVERSATION.search(text)
    first = _SAID.search(about[1] if about else text)
    title = title_of(first[1] if first else (about[1] if about else "").strip().split("\n")[0]) or "Conversation"
    wanted = _WANTED.search(text)
    name = wanted[1] if wanted else {"title_generation": "title", "tags_generation": "tags"}.get(task, "")
    if not name:
        return title if "title" in text.lower() or "title" in task else ""
    values: dict[str, Any] = {"title": title, "text": "", "emoji": "", "prompt": ""}
    return json.dumps({name: values.get(name, [])}, ensure_ascii=False)


class Marks:
    """``[[source:3]]`` becomes ``[3]`` as an answer comes; what may be the beginning of a mark waits for its end."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell, self._held = tell, ""

    def __call__(self, piece: str) -> None:
        text = _MARK.sub(r"[\1]", self._held + piece)
        begun = _OPEN.search(text)
        self._held = begun[0] if begun else ""
        if shown := text[: len(text) - len(self._held)]:
            self._tell(shown)

    def end(self) -> None:
        if self._held:
            self._tell(self._held)
            self._held = ""


def marked(text: str) -> str:
    return _MARK.sub(r"[\1]", text)


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources that an answer cites, for people as a list under it and for programs."""

    cited: Sequence[Citation]
    names: dict[str, str] = field(default_factory=dict)
    base: str = ""

    @property
    def listed(self) -> str:
        """Markdown; "" where nothing is cited."""
        lines = [f"[{one.number}] [{_label(one)}]({self._link(one)}) {_path(one)}".rstrip() for one in self.cited]
        return f"{_SOURCES}\n" + "  \n".join(lines) if lines else ""

    def annotations(self, text: str) -> list[dict[str, Any]]:
        """Where the text cites which page."""
        by_number = {one.number: one for one in self.cited}
        body = text.partition(_SOURCES)[0]
        return [
            {
                "type": "url_citation",
                "url_citation": {
                    "start_index": match.start(), "end_index": match.end(), "url": self._link(by_number[int(match[1])]),
                    "title": _label(by_number[int(match[1])]),
                },
            }
            for match in re.finditer(r"\[(\d+)\]", body)
            if int(match[1]) in by_number
        ]  # fmt: skip

    def shapes(self) -> list[dict[str, Any]]:
        return [
            {
                "number": one.number, "library": self.names.get(one.library, one.library), "doc_id": one.doc_id,
                "doc_name": one.doc_name, "page": one.page, "label": one.label, "section_path": list(one.section_path),
                "quote": one.quote, "url": self._link(one),
            }
            for one in self.cited
        ]  # fmt: skip

    def _link(self, one: Citation) -> str:
        library = quote(self.names.get(one.library, one.library), safe="")
        return f"{self.base}/api/v1/libraries/{library}/documents/{quote(one.doc_id, safe='')}/pages/{one.page}/picture"


def _label(one: Citation) -> str:
    label = f" ({one.label})" if one.label and one.label != str(one.page) else ""
    return re.sub(r"([\[\]\\])", r"\\\1", f"{one.doc_name}, page {one.page}{label}")


def _path(one: Citation) -> str:
    return " › ".join(one.section_path).replace("[", "\\[")


@dataclass(frozen=True, slots=True)
class Reply:
    """The frame of one completion."""

    model: str
    id: str = field(default_factory=lambda: f"chatcmpl-{uuid.uuid4().hex}")
    created: int = field(default_factory=lambda: int(time.time()))

    def whole(self, text: str, usage: Usage, **more: Any) -> dict[str, Any]:
        sources = more.pop("sources", None)
        message = {"role": "assistant", "content": text, "refusal": None, **more}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
        shape = self._frame("chat.completion") | {"choices": [choice], "usage": _usage(usage)}
        return shape if sources is None else shape | {"sources": sources}

    def piece(self, finish: str | None = None, sources: Any = None, **delta: Any) -> Chunk:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        shape = self._frame("chat.completion.chunk") | {"choices": [choice]}
        return Chunk("", shape if sources is None else shape | {"sources": sources})

    def spent(self, usage: Usage) -> Chunk:
        return Chunk("", self._frame("chat.completion.chunk") | {"choices": [], "usage": _usage(usage)})

    def _frame(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}


@dataclass(frozen=True, slots=True)
class Chunk(Event):
    """An event without a name, as OpenAI's clients read them."""

    def encoded(self) -> bytes:
        text = self.data if isinstance(self.data, str) else json.dumps(self.data, ensure_ascii=False)
        return f"data: {text}\n\n".encode("utf-8", "replace")


DONE = Chunk("", "[DONE]")


def _usage(usage: Usage) -> dict[str, int]:
    given, made = usage.input_tokens, usage.output_tokens
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}
