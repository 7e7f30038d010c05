"""Models that need no endpoint: one answers from the gold and shows the ceiling of the tree reasoning, one guesses and
shows its floor. Both read what any model is shown, and nothing else of the library.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from hybrid_core.models.caller import Caller
from hybrid_core.models.chat import ChatModel
from hybrid_core.models.endpoint import Request
from hybrid_core.models.fakes import ScriptedEndpoint

_DATA = r":\n<<<data (\w+)>>>\n(.*?)\n<<<end \1>>>"
_DOCUMENT = re.compile(r"^(D\d+) · (.+?) · ", re.MULTILINE)
_SECTION = re.compile(r"^\s*(?:\d+\. )?((D\d+)\.\d+) .*? · pages? (\d+)(?:-(\d+))?(?= ·|$)(.*)", re.MULTILINE)
_PART = re.compile(r"^(\d+)\. (?:(?:.*? · )??pages? (\d+)(?:-(\d+))?(?= ·|:|$)|D\d+ page (\d+):)", re.MULTILINE)
_HIDDEN = "sections inside not shown"
_LAST = "This is the last round"

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
    """Answers from the gold pages of questions by their texts, which are filled in once they are known.

    It names a gold page only of a document that is shown, and only after it has opened every section that hides it.
    """

    gold: dict[str, Pages] = field(default_factory=dict)

    def __call__(self, request: Request) -> dict[str, Any]:
        text = request.messages[-1].text
        asked = self.gold.get(_data(text, "Question"), ())
        names = dict(_DOCUMENT.findall(text))
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
        found, hidden = [], []
        for short, page in sorted(wanted):
            around = [section for section in shown if section.document == short and page in section.pages]
            if around:
                deepest = min(around, key=lambda section: len(section.pages))
                found.append({"document": short, "page": page})
                hidden += [deepest.name] if deepest.more else []
        expand = [] if _LAST in text else hidden[:4]
        return {"reasoning": "it is known", "expand": expand, "read": [], "pages": found[:5], "sections": []}


def guess(request: Request) -> dict[str, Any]:
    """Three random pages of random sections that are shown, or random probabilities; the same for the same request."""
    text = request.messages[-1].text
    rng = random.Random(hashlib.sha256(text.encode()).digest())
    if request.title == "Ratings":
        return {
            "reasoning": "a guess",
            "ratings": [{"part": number, "probability": rng.random()} for number in _parts(text)],
        }
    sections = rng.choices(shown, k=3) if (shown := _outline(text)) else []
    pages = [{"document": section.document, "page": rng.choice(section.pages)} for section in sections]
    return {"reasoning": "a guess", "expand": [], "read": [], "pages": pages, "sections": []}


def scripted(name: str, gold: dict[str, Pages]) -> ChatModel | None:
    """One of eval.plan.MODELS, None for "". ``gold`` may be filled later."""
    if not name:
        return None
    answer = guess if name == "scripted:random" else Oracle(gold)
    return Caller(ScriptedEndpoint(answer, name.removeprefix("scripted:")))


def _data(text: str, name: str) -> str:
    found = re.search(name + _DATA, text, re.DOTALL)
    return found[2] if found else ""


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
