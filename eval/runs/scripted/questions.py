"""Models that need no endpoint: one answers from the gold and shows the ceiling of what a model can add, one guesses
and shows the floor. Both read what any model is shown, and nothing else of the library.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from eval.runs.scripted.endpoint import ScriptedEndpoint
from eval.runs.scripted.routes import SHOWN, guessed, known
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.endpoint import Request

_DATA = r":\n<<<data (\w+)>>>\n(.*?)\n<<<end \1>>>"
_DOCUMENT = re.compile(r"^(D\d+) · (.+?) · ", re.MULTILINE)
_SECTION = re.compile(r"^\s*(?:\d+\. )?((D\d+)\.\d+) .*? · pages? (\d+)(?:-(\d+))?(?= ·|$)(.*)", re.MULTILINE)
_PART = re.compile(r"^(\d+)\. (?:(?:.*? · )??pages? (\d+)(?:-(\d+))?(?= ·|:|$)|D\d+ page (\d+):)", re.MULTILINE)
_SOURCE = re.compile(r"^Source (\d+): (.+), page (\d+)\b", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z(])")
_HIDDEN = "sections inside not shown"
_LAST = "This is the last round"
_NOT_THERE = "NOT IN THE SOURCES"

Pages = Collection[tuple[str, int]]  # (file name, page)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A section in an outline. ``more``: it has parts that are not shown."""

    name: str
    document: str
    pages: range
    more: bool


@dataclass(slots=True)
class Oracle:
    """Answers from the gold pages and answers of questions by their texts, which are filled in once they are known.

    It names a gold page only of a document that is shown, and only after it has opened every section that hides it; it
    answers only where a gold page is among the sources, and cites those pages for each sentence.
    """

    gold: Mapping[str, Pages] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, request: Request) -> dict[str, Any] | str:
        text = request.messages[-1].text
        question = _data(text, "Question")
        asked = self.gold.get(question, ())
        if request.schema is None:
            return self._answer(question, [number for number, *place in _sources(text) if tuple(place) in asked])
        if shown_as := SHOWN.get(request.title):
            return known(request.title, _data(text, shown_as), {document for document, _ in asked})
        names = dict(_DOCUMENT.findall(text))
        if request.title == "PicksReply":
            wanted_names = {document for document, _ in asked}
            return {"thinking": "it is known", "documents": [d for d, name in names.items() if name in wanted_names]}
        wanted = {(short, page) for short, name in names.items() for document, page in asked if document == name}
        if request.title == "Ratings":
            (short,) = names or ("",)
            held = [page for document, page in wanted if document == short]
            ratings = [
                {"part": number, "probability": float(any(page in pages for page in held))}
                for number, pages in _parts(text).items()
            ]
            return {"reasoning": "it is known", "ratings": ratings}
        shown = _outline(text)
        found, hidden, deepest_ones = [], [], []
        for short, page in sorted(wanted):
            around = [section for section in shown if section.document == short and page in section.pages]
            if around:
                deepest = min(around, key=lambda section: len(section.pages))
                found.append({"document": short, "page": page})
                deepest_ones.append(deepest.name)
                hidden += [deepest.name] if deepest.more else []
        if request.title == "NodeList":
            return {"thinking": "it is known", "node_list": list(dict.fromkeys(deepest_ones))}
        expand = [] if _LAST in text else hidden[:4]
        return {"reasoning": "it is known", "expand": expand, "read": [], "pages": found[:5], "sections": []}

    def _answer(self, question: str, cited: list[int]) -> str:
        said = " ".join(self.answers.get(question, "").split())
        if not said or not cited:
            return _NOT_THERE
        marks = "".join(f"[[source:{number}]]" for number in cited)
        return " ".join(f"{sentence.rstrip('.')} {marks}." for sentence in _SENTENCE.split(said))


def guess(request: Request) -> dict[str, Any] | str:
    """Random pages, sections or documents of those shown, random probabilities, and answers with a made-up number and a
    source that was not given; the same for the same request.
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
        return guessed(request.title, _data(text, shown_as), rng)
    if request.title == "Ratings":
        return {
            "reasoning": "a guess",
            "ratings": [{"part": number, "probability": rng.random()} for number in _parts(text)],
        }
    if request.title == "PicksReply":
        names = [name for name, _ in _DOCUMENT.findall(text)]
        return {"thinking": "a guess", "documents": rng.sample(names, min(1, len(names)))}
    shown = _outline(text)
    if request.title == "NodeList":
        return {"thinking": "a guess", "node_list": [one.name for one in rng.sample(shown, min(3, len(shown)))]}
    sections = rng.choices(shown, k=3) if shown else []
    pages = [{"document": section.document, "page": rng.choice(section.pages)} for section in sections]
    return {"reasoning": "a guess", "expand": [], "read": [], "pages": pages, "sections": []}


def scripted(name: str, gold: Mapping[str, Pages], answers: Mapping[str, str] | None = None) -> ChatModel | None:
    """One of eval.runs.plan.MODELS, None for "". ``gold`` and ``answers`` are by the questions' texts and may be filled
    later.
    """
    if not name:
        return None
    answer = guess if name == "scripted:random" else Oracle(gold, {} if answers is None else answers)
    return ChatModel(ScriptedEndpoint(answer, name.removeprefix("scripted:")))


def _data(text: str, name: str) -> str:
    found = re.search(name + _DATA, text, re.DOTALL)
    return found[2] if found else ""


def _sources(text: str) -> list[tuple[int, str, int]]:
    """(number, file name, page) of the sources that an answer is asked from."""
    return [(int(number), name, int(page)) for number, name, page in _SOURCE.findall(_data(text, "Sources"))]


def _outline(text: str) -> list[_Shown]:
    """The sections of the outline and of what was opened; a section shown twice counts by the last line."""
    seen = _data(text, "Outline") + "\n" + _data(text, "opened and read so far")
    sections = {}
    for name, document, first, last, rest in _SECTION.findall(seen):
        pages = range(int(first), int(last or first) + 1)
        sections[name] = _Shown(name, document, pages, _HIDDEN in rest and f"\n{name} holds:" not in f"\n{seen}")
    return list(sections.values())


def _parts(text: str) -> dict[int, range]:
    """The parts of a list and their pages."""
    parts = {}
    for number, first, last, page in _PART.findall(_data(text, "Parts") or _data(text, "Pages")):
        start = int(first or page)
        parts[int(number)] = range(start, int(last or start) + 1)
    return parts
