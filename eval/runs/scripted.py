"""Scripted models, which need no endpoint and stand for a real model.

One answers from the gold evidence and shows the most that a model can add. Another guesses and shows the minimum. Both
read only what a real model would be shown.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import random
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel

from eval.datasets.corpus import letters
from hybrid_core.llm.chat import Completion, Request
from hybrid_core.llm.client.chat_model import ChatModel

Rule = Callable[[Request], "Completion | BaseModel | dict[str, Any] | str"]
"""A function that returns the reply of a scripted model. Models and dictionaries become JSON."""


class ScriptedEndpoint:
    """An ``Endpoint`` without a network. All requests are recorded in ``requests``."""

    def __init__(self, rule: Rule, name: str = "rules") -> None:
        self._rule = rule
        self._name = f"scripted:{name}"
        self.requests: list[Request] = []

    @property
    def name(self) -> str:
        return self._name

    def complete(self, request: Request, timeout: float, on_text: Callable[[str], None] | None = None) -> Completion:
        self.requests.append(request)
        reply = self._rule(request)
        if not isinstance(reply, Completion):
            text = as_text(reply)
            reply = Completion(text, True, tokens(request), len(text) // 4)
        if on_text is not None:
            for piece in pieces(reply.text):
                on_text(piece)
        return reply

    def close(self) -> None:
        pass


def as_text(reply: BaseModel | dict[str, Any] | str) -> str:
    if isinstance(reply, BaseModel):
        return reply.model_dump_json()
    return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)


def tokens(request: Request) -> int:
    """Return the token count that a scripted model reports for a request.

    It is one token for four characters, and 500 tokens for an image.
    """
    return sum(len(m.text) // 4 + 500 * len(m.images) for m in request.messages)


def pieces(text: str) -> list[str]:
    """Split a text into words, in which it is streamed."""
    return re.findall(r"\s*\S+|\s+$", text)


_DOCUMENT = re.compile(r"^(D\d+) · (.+?) · ")
_SECTION = re.compile(r"^\s*(?:\d+\. )?((D\d+)\.\d+) .*? · pages? (\d+)(?:-(\d+))?(?= ·|$)(.*)")
_PAGE = re.compile(r"^\s*page (\d+)(?: · |$)")
_INLINE = re.compile(r"((D\d+)\.\d+) [^|]*? \((\d+)(?:-(\d+))?(?:, (\d+) parts)?\)(?= \||$| · \[)")
_HOLDS = re.compile(r"^(D\d+)(\.\d+)?(?: .*·)? holds:$")
_READ = re.compile(r"^(D\d+) page (\d+):$", re.MULTILINE)
_PASSAGE = re.compile(r"^(D\d+) page (\d+), a passage: ", re.MULTILINE)
_ALSO = re.compile(r" \[also (D\d+ page \d+(?:, D\d+ page \d+)*)\]$", re.MULTILINE)
_FURTHER = re.compile(r"^(D\d+) · .+ · less likely page (\d+)\b", re.MULTILINE)
_DATA = r":\n<<<data (\w+)>>>\n(.*?)\n<<<end \1>>>"
_READ_BEFORE = re.compile(r"^Read before this round: (.*)$", re.MULTILINE)
_ONE = re.compile(r"(D\d+) page (\d+)")


@dataclass(frozen=True, slots=True)
class ShownSection:
    """A section in an outline. ``more`` is True if it has parts that are not shown."""

    name: str
    document: str
    pages: range
    more: bool


@dataclass(slots=True)
class ShownOutline:
    """The contents of an outline in a prompt, as parsed by a scripted model.

    ``pages`` are the pages, as (document, page), with their own line. ``read`` are those whose text is shown, and
    ``passages`` those of which a passage is shown.
    """

    names: dict[str, str] = field(default_factory=dict)
    sections: dict[str, ShownSection] = field(default_factory=dict)
    pages: set[tuple[str, int]] = field(default_factory=set)
    opened: set[str] = field(default_factory=set)
    read: set[tuple[str, int]] = field(default_factory=set)
    passages: set[tuple[str, int]] = field(default_factory=set)

    def way_to(self, document: str, page: int) -> str:
        """Return the name of the section to open in order to see a page, "" if the page is visible."""
        if (document, page) in self.pages | self.read | self.passages:
            return ""
        around = [
            section for section in self.sections.values() if section.document == document and page in section.pages
        ]
        if not around:
            return document
        deepest = min(around, key=lambda section: len(section.pages))
        return deepest.name if deepest.more else ""


def shown_in(prompt: str) -> ShownOutline:
    """Parse the outline and the passages in a prompt."""
    return shown_outline(data_of(prompt, "Outline"), data_of(prompt, "opened and read so far"))


def shown_outline(outline: str, seen: str) -> ShownOutline:
    """Parse an outline, and the sections and pages that were opened and read so far.

    If a section is shown twice, the last line counts.
    """
    parsed = ShownOutline()
    document = ""
    for line in f"{outline}\n{seen}".split("\n"):
        if match := _HOLDS.match(line):
            document = match[1]
            parsed.opened.add(match[1] + (match[2] or ""))
            if section := _SECTION.match(line):
                name, of, first, last, _ = section.groups()
                parsed.sections[name] = ShownSection(name, of, _range(first, last), False)
        elif document_match := _DOCUMENT.match(line):
            document = document_match[1]
            parsed.names[document_match[1]] = document_match[2]
        elif section := _SECTION.match(line):
            name, of, first, last, rest = section.groups()
            parsed.sections[name] = ShownSection(name, of, _range(first, last), "not shown" in rest)
        elif page := _PAGE.match(line):
            parsed.pages.add((document, int(page[1])))
        for name, of, first, last, parts in _INLINE.findall(line):
            parsed.sections.setdefault(name, ShownSection(name, of, _range(first, last), bool(parts)))
    for name in parsed.opened & parsed.sections.keys():
        held_one = parsed.sections[name]
        parsed.sections[name] = ShownSection(name, held_one.document, held_one.pages, False)
    parsed.passages = {(of, int(number)) for of, number in _PASSAGE.findall(seen)}
    parsed.passages |= {(of, int(number)) for also in _ALSO.findall(seen) for of, number in _ONE.findall(also)}
    parsed.pages |= {(of, int(number)) for of, number in _FURTHER.findall(seen)}
    parsed.read = {(of, int(number)) for of, number in _READ.findall(seen)}
    for before in _READ_BEFORE.findall(seen):
        parsed.read |= {(of, int(number)) for of, number in _ONE.findall(before)}
    return parsed


def data_of(prompt: str, name: str) -> str:
    """Return the block of data with this name in a prompt, "" if there is none."""
    block = re.search(name + _DATA, prompt, re.DOTALL)
    return block[2] if block else ""


def _range(first: str, last: str) -> range:
    return range(int(first), int(last or first) + 1)


_ROUTE_DOCUMENT = re.compile(r"^(d\d+) · (.+?)(?: · |$)", re.MULTILINE)
_FIELD = re.compile(r"^(\S.*?) \((?:text|number|date), .*?\): (.*)$", re.MULTILINE)
_VALUE = re.compile(r'"(?:[^"\\]|\\.)*"')
SHOWN = {"Picks": "Documents", "Conditions": "Fields"}
"""The schemas of replies, each with the heading of the text that the model is shown."""


def pick_known(title: str, shown: str, documents: Collection[str]) -> dict[str, Any]:
    """Return a reply that chooses the right documents, given as file names.

    If the prompt asks for documents, choose those that are shown. If it asks for conditions on fields, return one on
    their names.
    """
    if title == "Picks":
        return _picks(short for short, name in _ROUTE_DOCUMENT.findall(shown) if name in documents)
    names = [name for name in _fields(shown).get("name", ()) if any(full.startswith(name) for full in documents)]
    conditions = [{"field": "name", "operator": "contains", "values": names}] if names else []
    return {"reasoning": "it is known", "conditions": conditions}


def guessed(title: str, shown: str, rng: random.Random) -> dict[str, Any]:
    """Return a random choice of documents: one of those shown, or one value of one field."""
    if title == "Picks":
        names = [short for short, _ in _ROUTE_DOCUMENT.findall(shown)]
        return _picks(rng.sample(names, min(1, len(names))))
    fields = _fields(shown)
    name = rng.choice(list(fields))
    condition = {"field": name, "operator": "is", "values": [rng.choice(fields[name])]}
    return {"reasoning": "a guess", "conditions": [condition]}


def _picks(names: Any) -> dict[str, Any]:
    return {"reasoning": "as scripted", "documents": list(names)[:3]}


def _fields(shown: str) -> dict[str, list[str]]:
    return {name: [json.loads(value) for value in _VALUE.findall(values)] for name, values in _FIELD.findall(shown)}


_OUTLINE_DOCUMENT = re.compile(r"^(D\d+) · (.+?) · ", re.MULTILINE)
_PART = re.compile(r"^(\d+)\. (?:(?:.*? · )??pages? (\d+)(?:-(\d+))?(?= ·|:|$)|D\d+ page (\d+):)", re.MULTILINE)
_SOURCE = re.compile(r"^Source (\d+): (.+), page (\d+)\b", re.MULTILINE)
_SOURCE_HEAD = re.compile(r"^Source (\d+): .*\n?", re.MULTILINE)
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_CUT, _MAY_READ = "…", "You may read more"
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z(])")
_LAST = "This is the last round"
_ALIKE = 0.96  # difflib's ratio of a question and its corrected spelling
_NOT_THERE = "NOT IN THE SOURCES"

T = TypeVar("T")
Pages = Collection[tuple[str, int]]  # (file name, page)


@dataclass(slots=True)
class Oracle:
    """A scripted model that knows the gold pages and answers of the questions.

    ``gold`` and ``answers`` map questions' texts to these; they are filled later. It names a gold page only of a shown
    document, and only after it has opened every section that hides the page. With ``reads`` it also must have been
    shown the page's text. It answers only if a gold page is among the sources, and cites gold pages for each sentence.
    With ``reads`` it first requests all truncated sources, and answers only if they contain the answer or all of its
    numbers.
    """

    gold: Mapping[str, Pages] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    reads: bool = False

    def __call__(self, request: Request) -> dict[str, Any] | str:
        text = request.messages[-1].text
        question = data_of(text, "Question")
        gold = _find_by_question(self.gold, question) or ()
        if request.schema is None:
            return self._answer(question, text, [number for number, *place in _sources(text) if tuple(place) in gold])
        if shown_as := SHOWN.get(request.title):
            return pick_known(request.title, data_of(text, shown_as), {document for document, _ in gold})
        names = dict(_OUTLINE_DOCUMENT.findall(text))
        if request.title == "PicksReply":
            wanted_names = {document for document, _ in gold}
            return {"thinking": "it is known", "documents": [d for d, name in names.items() if name in wanted_names]}
        gold_pages = {(short, page) for short, name in names.items() for document, page in gold if document == name}
        if request.title == "Ratings":
            (short,) = names or ("",)
            document_pages = [page for document, page in gold_pages if document == short]
            ratings = [
                {"part": number, "probability": float(any(page in pages for page in document_pages))}
                for number, pages in _part_pages(text).items()
            ]
            return {"reasoning": "it is known", "ratings": ratings}
        shown = shown_in(text)
        if request.title == "NodeList":
            return {"thinking": "it is known", "node_list": _deepest(shown, gold_pages)}
        ways = {place: shown.way_to(*place) for place in sorted(gold_pages)}
        expand = list(dict.fromkeys(way for way in ways.values() if way and way not in shown.opened))
        seen = [place for place, way in ways.items() if not way]
        named = [place for place in seen if place in shown.read or not self.reads]
        unread = [place for place in seen if self.reads and place not in shown.read]
        if _LAST in text:
            expand, unread = [], []
        pages = [{"document": short, "page": page} for short, page in named[:5]]
        read = [{"document": short, "page": page} for short, page in unread[:4]]
        return {"reasoning": "it is known", "expand": expand[:4], "read": read, "pages": pages, "sections": []}

    def _answer(self, question: str, text: str, cited: list[int]) -> str:
        reference = " ".join((_find_by_question(self.answers, question) or "").split())
        if not reference or not cited:
            return _NOT_THERE
        if self.reads:
            texts = _source_texts(text)
            if not stands(reference, "\n".join(texts[number] for number in cited)):
                cut = [f"READ source {number}" for number in cited if _CUT in texts[number].split("\n")]
                return "\n".join(cut) if cut and _MAY_READ in text else _NOT_THERE
        marks = "".join(f"[[source:{number}]]" for number in cited)
        return " ".join(f"{sentence.rstrip('.')} {marks}." for sentence in _SENTENCE.split(reference))


def guess(request: Request) -> dict[str, Any] | str:
    """Return a random reply, the same one for equal requests.

    It contains some of the shown pages, sections or documents, and random probabilities. An answer contains a made-up
    number and cites a source that was not in the prompt.
    """
    text = request.messages[-1].text
    rng = random.Random(hashlib.sha256(text.encode()).digest())
    if request.schema is None:
        numbers = [number for number, *_ in _sources(text)] or [1]
        figure = f"{rng.uniform(1000, 9999):,.1f}"
        return (
            f"It was {figure} million [[source:{rng.choice(numbers)}]]. The notes say so [[source:{max(numbers) + 7}]]."
        )
    if shown_as := SHOWN.get(request.title):
        return guessed(request.title, data_of(text, shown_as), rng)
    if request.title == "Ratings":
        return {
            "reasoning": "a guess",
            "ratings": [{"part": number, "probability": rng.random()} for number in _part_pages(text)],
        }
    if request.title == "PicksReply":
        names = [name for name, _ in _OUTLINE_DOCUMENT.findall(text)]
        return {"thinking": "a guess", "documents": rng.sample(names, min(1, len(names)))}
    outline = shown_in(text)
    shown = list(outline.sections.values())
    if request.title == "NodeList":
        return {"thinking": "a guess", "node_list": [section.name for section in rng.sample(shown, min(3, len(shown)))]}
    places = [*sorted(outline.pages), *((section.document, rng.choice(section.pages)) for section in shown)]
    chosen = rng.choices(places, k=3) if places else []
    pages = [{"document": document, "page": page} for document, page in chosen]
    return {"reasoning": "a guess", "expand": [], "read": [], "pages": pages, "sections": []}


def scripted(name: str, gold: Mapping[str, Pages], answers: Mapping[str, str] | None = None) -> ChatModel | None:
    """Return the scripted model with a name from ``eval.runs.plan.MODELS``, None for "".

    ``gold`` and ``answers`` map questions' texts to gold pages and answers, and may be filled later.
    """
    if not name:
        return None
    known_answers = {} if answers is None else answers
    oracle = Oracle(gold, known_answers, reads=name == "scripted:reader")
    answer = guess if name == "scripted:random" else oracle
    return ChatModel(ScriptedEndpoint(answer, name.removeprefix("scripted:")))


def _find_by_question(by_question: Mapping[str, T], question: str) -> T | None:
    """Return the value of a question, also if the search has corrected the question's spelling."""
    if question not in by_question:
        question = next(iter(difflib.get_close_matches(question, by_question, 1, _ALIKE)), "")
    return by_question.get(question)


def stands(answer: str, text: str) -> bool:
    """Return whether a text contains all numbers of an answer, or its letters if it has no numbers."""
    if numbers := _numbers(answer):
        return numbers <= _numbers(text)
    return letters(answer) in letters(text)


def _numbers(text: str) -> set[float]:
    return {float(number.replace(",", "")) for number in _NUMBER.findall(text)}


def _sources(text: str) -> list[tuple[int, str, int]]:
    """Return (number, file name, page) of the sources in a prompt for an answer."""
    return [(int(number), name, int(page)) for number, name, page in _SOURCE.findall(data_of(text, "Sources"))]


def _source_texts(text: str) -> dict[int, str]:
    """Return the texts of the sources by their numbers."""
    parts = _SOURCE_HEAD.split(data_of(text, "Sources"))
    return {int(number): body for number, body in zip(parts[1::2], parts[2::2], strict=True)}


def _deepest(shown: ShownOutline, pages: Collection[tuple[str, int]]) -> list[str]:
    """Return the names of the innermost shown sections that contain the pages."""
    names = []
    for document, page in sorted(pages):
        around = [
            section for section in shown.sections.values() if section.document == document and page in section.pages
        ]
        names += [min(around, key=lambda section: len(section.pages)).name] if around else []
    return list(dict.fromkeys(names))


def _part_pages(text: str) -> dict[int, range]:
    """Return the page range of each part in a prompt's list of parts, by the part's number."""
    parts = {}
    for number, first, last, page in _PART.findall(data_of(text, "Parts") or data_of(text, "Pages")):
        start = int(first or page)
        parts[int(number)] = range(start, int(last or start) + 1)
    return parts
