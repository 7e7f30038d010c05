"""Models for section trees that need no endpoint: one answers from a human outline of the document and shows the
ceiling, one guesses and shows the floor. Both read what any model is shown.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.records.questions import Row
from eval.runs.trees import alike, fold
from hybrid_core.llm.chat import Request

_PAGE = re.compile(r"^\[page (\d+)\].*$", re.MULTILINE)
_ENTRY = re.compile(r"^(\d+)\. Title: (.*)$", re.MULTILINE)
_TITLE = re.compile(r"^(\d+)\. (.*)$", re.MULTILINE)
_LABEL = re.compile(r"\s+([0-9]+|[ivxlcIVXLC]+)$")
_SAME = 14  # letters at its beginning that a title shares with the page
_CHINESE = {"Pages": "页面"}  # as headings-read.zh.md has it
_DATA = r"[:：]\n<<<data (\w+)>>>\n(.*?)\n<<<end \1>>>"


@dataclass(frozen=True, slots=True)
class TreeOracle:
    """Answers from an outline. ``texts``: the document's pages, by which it knows again those it is shown."""

    outline: Sequence[Row]
    texts: Sequence[str]

    def __call__(self, request: Request) -> dict[str, Any]:
        asked = request.messages[-1].text
        if request.title == "FoundHeadings":
            shown = self._pages(data(asked, "Pages"))
            return {
                "headings": [
                    {"page": number, "level": level, "title": title}
                    for number, page in shown.items()
                    for level, title, at in self.outline
                    if at == page
                ]
            }
        if request.title == "ContentsEntries":
            rows = data(asked, "Rows").split("\n")
            found = [(level, title, row) for level, title, _ in self.outline if (row := _row(title, rows))]
            entries = [
                {"title": title, "level": level, "label": label[1] if (label := _LABEL.search(row)) else ""}
                for level, title, row in found
            ]
            return {"is_contents": bool(found), "entries": entries}
        if request.title == "Checks":
            return {
                "checks": [
                    {"entry": number, "begins": self._begins(title, passage)}
                    for number, title, passage in entries_of(data(asked, "Entries"))
                ]
            }
        shown = self._pages(data(asked, "Pages"))
        places = []
        for number, title in _TITLE.findall(data(asked, "Titles")):
            pages = {at for _, gold, at in self.outline if alike(fold(gold), fold(title))}
            places.append(
                {"entry": int(number), "page": next((one for one, page in shown.items() if page in pages), 0)}
            )
        return {"places": places}

    def _begins(self, title: str, passage: str) -> bool:
        page = self._known(passage)
        if _letters(title)[:_SAME] not in _letters(passage):
            return False
        return any(abs(at - page) <= 1 and alike(fold(gold), fold(title)) for _, gold, at in self.outline)

    def _pages(self, text: str) -> Mapping[int, int]:
        """The document's page of every page shown."""
        parts = _PAGE.split(text)
        return {int(number): self._known(said) for number, said in zip(parts[1::2], parts[2::2], strict=True)}

    def _known(self, shown: str) -> int:
        """The page that most of the shown lines are from, 0 where none is."""
        lines = {line.removesuffix(" …") for line in shown.strip().split("\n") if len(line) > 3}
        score, page = max((sum(line in text for line in lines), -at) for at, text in enumerate(self.texts, 1))
        return -page if score else 0


def guess(request: Request) -> dict[str, Any]:
    """Lines, pages and judgements by chance; the same for the same request."""
    asked = request.messages[-1].text
    rng = random.Random(hashlib.sha256(asked.encode()).digest())
    if request.title == "FoundHeadings":
        parts = _PAGE.split(data(asked, "Pages"))
        lines = [
            (int(number), line)
            for number, said in zip(parts[1::2], parts[2::2], strict=True)
            for line in said.strip().split("\n")
            if line
        ]
        chosen = rng.sample(lines, min(len(lines), len(parts)))
        return {"headings": [{"page": n, "level": rng.randint(1, 3), "title": line} for n, line in chosen]}
    if request.title == "ContentsEntries":
        rows = [row.strip() for row in data(asked, "Rows").split("\n")]
        return {
            "is_contents": rng.random() < 0.5,
            "entries": [{"title": row, "level": rng.randint(1, 3), "label": str(rng.randint(1, 99))} for row in rows],
        }
    if request.title == "Checks":
        entries = entries_of(data(asked, "Entries"))
        return {"checks": [{"entry": number, "begins": rng.random() < 0.5} for number, _, _ in entries]}
    pages = [int(number) for number in _PAGE.findall(data(asked, "Pages"))]
    titles = _TITLE.findall(data(asked, "Titles"))
    return {"places": [{"entry": int(number), "page": rng.choice([0, *pages])} for number, _ in titles]}


def entries_of(text: str) -> list[tuple[int, str, str]]:
    """Number, title and passage of each entry of a list that is to be checked."""
    parts = _ENTRY.split(text)
    return [
        (int(number), title, said.strip())
        for number, title, said in zip(parts[1::3], parts[2::3], parts[3::3], strict=True)
    ]


def data(text: str, name: str) -> str:
    """What a prompt shows under a heading between its fences."""
    found = re.search(f"(?:{name}|{_CHINESE.get(name, name)}){_DATA}", text, re.DOTALL)
    return found[2] if found else ""


def _row(title: str, rows: Sequence[str]) -> str:
    """The rows of printed contents over which a title runs, joined."""
    wanted = _letters(title)
    for at in range(len(rows)):
        joined = ""
        for row in rows[at : at + 4]:
            joined += " " + row
            if wanted and _letters(joined).startswith(wanted):
                return joined
    return ""


def _letters(text: str) -> str:
    return re.sub(r"\W+", "", text.lower())
