"""Models that need no endpoint: one answers from the gold and shows the ceiling of what a model can add, one guesses
and shows the floor. Both read what any model is shown, and nothing else of the library.
"""

from __future__ import annotations

import difflib
import hashlib
import random
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from eval.datasets.locate import letters
from eval.runs.scripted.endpoint import ScriptedEndpoint
from eval.runs.scripted.outline import ShownOutline, data_of, shown_in
from eval.runs.scripted.routes import SHOWN, guessed, known
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.endpoint import Request

_DOCUMENT = re.compile(r"^(D\d+) · (.+?) · ", re.MULTILINE)
_PART = re.compile(r"^(\d+)\. (?:(?:.*? · )??pages? (\d+)(?:-(\d+))?(?= ·|:|$)|D\d+ page (\d+):)", re.MULTILINE)
_SOURCE = re.compile(r"^Source (\d+): (.+), page (\d+)\b", re.MULTILINE)
_SOURCE_HEAD = re.compile(r"^Source (\d+): .*\n?", re.MULTILINE)
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_CUT, _MAY_READ = "…", "You may read more"
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z(])")
_LAST = "This is the last round"
_ALIKE = 0.96  # difflib's ratio of a question and itself as it is mended
_NOT_THERE = "NOT IN THE SOURCES"

T = TypeVar("T")
Pages = Collection[tuple[str, int]]  # (file name, page)


@dataclass(slots=True)
class Oracle:
    """Answers from the gold pages and answers of questions by their texts, which are filled in once they are known.

    It names a gold page only of a document that is shown, and only after it has opened every section that hides it; one
    that ``reads`` only after it was shown the page's text. It answers only where a gold page is among the sources, and
    cites those pages for each sentence; one that ``reads`` only where the answer, or all of its numbers, stands in what
    they hold, after it has asked for all of those that are cut.
    """

    gold: Mapping[str, Pages] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    reads: bool = False

    def __call__(self, request: Request) -> dict[str, Any] | str:
        text = request.messages[-1].text
        question = data_of(text, "Question")
        asked = _of(self.gold, question) or ()
        if request.schema is None:
            return self._answer(question, text, [number for number, *place in _sources(text) if tuple(place) in asked])
        if shown_as := SHOWN.get(request.title):
            return known(request.title, data_of(text, shown_as), {document for document, _ in asked})
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
        shown = shown_in(text)
        if request.title == "NodeList":
            return {"thinking": "it is known", "node_list": _deepest(shown, wanted)}
        ways = {place: shown.way_to(*place) for place in sorted(wanted)}
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
        said = " ".join((_of(self.answers, question) or "").split())
        if not said or not cited:
            return _NOT_THERE
        if self.reads:
            texts = _source_texts(text)
            if not stands(said, "\n".join(texts[number] for number in cited)):
                cut = [f"READ source {number}" for number in cited if _CUT in texts[number].split("\n")]
                return "\n".join(cut) if cut and _MAY_READ in text else _NOT_THERE
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
        return guessed(request.title, data_of(text, shown_as), rng)
    if request.title == "Ratings":
        return {
            "reasoning": "a guess",
            "ratings": [{"part": number, "probability": rng.random()} for number in _parts(text)],
        }
    if request.title == "PicksReply":
        names = [name for name, _ in _DOCUMENT.findall(text)]
        return {"thinking": "a guess", "documents": rng.sample(names, min(1, len(names)))}
    outline = shown_in(text)
    shown = list(outline.sections.values())
    if request.title == "NodeList":
        return {"thinking": "a guess", "node_list": [one.name for one in rng.sample(shown, min(3, len(shown)))]}
    places = [*sorted(outline.pages), *((one.document, rng.choice(one.pages)) for one in shown)]
    chosen = rng.choices(places, k=3) if places else []
    pages = [{"document": document, "page": page} for document, page in chosen]
    return {"reasoning": "a guess", "expand": [], "read": [], "pages": pages, "sections": []}


def scripted(name: str, gold: Mapping[str, Pages], answers: Mapping[str, str] | None = None) -> ChatModel | None:
    """One of eval.runs.plan.MODELS, None for "". ``gold`` and ``answers`` are by the questions' texts and may be filled
    later.
    """
    if not name:
        return None
    known_answers = {} if answers is None else answers
    oracle = Oracle(gold, known_answers, reads=name == "scripted:reader")
    answer = guess if name == "scripted:random" else oracle
    return ChatModel(ScriptedEndpoint(answer, name.removeprefix("scripted:")))


def _of(known: Mapping[str, T], question: str) -> T | None:
    """What is known of a question, also where a search has mended its spelling."""
    if question not in known:
        question = next(iter(difflib.get_close_matches(question, known, 1, _ALIKE)), "")
    return known.get(question)


def stands(answer: str, text: str) -> bool:
    """Whether all numbers of an answer are in a text; of one that has none, whether its letters are."""
    if numbers := _numbers(answer):
        return numbers <= _numbers(text)
    return letters(answer) in letters(text)


def _numbers(text: str) -> set[float]:
    return {float(number.replace(",", "")) for number in _NUMBER.findall(text)}


def _sources(text: str) -> list[tuple[int, str, int]]:
    """(number, file name, page) of the sources that an answer is asked from."""
    return [(int(number), name, int(page)) for number, name, page in _SOURCE.findall(data_of(text, "Sources"))]


def _source_texts(text: str) -> dict[int, str]:
    """What the sources hold, by their numbers."""
    parts = _SOURCE_HEAD.split(data_of(text, "Sources"))
    return {int(number): said for number, said in zip(parts[1::2], parts[2::2], strict=True)}


def _deepest(shown: ShownOutline, wanted: Collection[tuple[str, int]]) -> list[str]:
    """The innermost section around each page."""
    names = []
    for document, page in sorted(wanted):
        around = [one for one in shown.sections.values() if one.document == document and page in one.pages]
        names += [min(around, key=lambda one: len(one.pages)).name] if around else []
    return list(dict.fromkeys(names))


def _parts(text: str) -> dict[int, range]:
    """The parts of a list and their pages."""
    parts = {}
    for number, first, last, page in _PART.findall(data_of(text, "Parts") or data_of(text, "Pages")):
        start = int(first or page)
        parts[int(number)] = range(start, int(last or start) + 1)
    return parts
