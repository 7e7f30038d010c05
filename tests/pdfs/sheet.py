"""Pages written from top to bottom, and the words on them."""

from __future__ import annotations

import hashlib
import random
import textwrap
from collections.abc import Sequence
from pathlib import Path

import pymupdf

WIDTH, HEIGHT, LEFT, RIGHT = 595.0, 842.0, 72.0, 523.0
_DATE = "D:20250301090000Z"
_SUBJECTS = (
    "The maintenance crew", "Our regional office", "The supervisory board", "A customer in the north",
    "The calibration laboratory", "Each field engineer", "The purchasing team", "An outside reviewer",
)  # fmt: skip
_VERBS = ("examined", "scheduled", "described", "replaced", "documented", "postponed", "compared", "approved")
_OBJECTS = (
    "the spare parts in the eastern store", "the shift plan for the winter months", "a set of worn couplings",
    "the drawings of the second hall", "the agreement with the carrier", "the readings of the night shift",
    "the training of new colleagues", "the list of open complaints",
)  # fmt: skip
_ENDS = ("before the season began", "after a long discussion", "without delay", "as the plan had foreseen")

Outline = tuple[tuple[int, str, int], ...]


def prose(topic: str, seed: int, sentences: int = 8) -> str:
    """Plain sentences about a topic, different for every seed."""
    pick = random.Random(f"{topic}/{seed}").choice
    kinds = (_SUBJECTS, _VERBS, _OBJECTS, _ENDS)
    parts = [" ".join(map(pick, kinds)) + "." for _ in range(sentences - 1)]
    return " ".join([f"This part deals with {topic}.", *parts])


def landmark(topic: str, number: int) -> str:
    """A made-up word that stands on page ``number`` of ``numbered(..., topic)`` and nowhere else."""
    digest = hashlib.sha256(f"{topic}/{number}".encode()).hexdigest()[:10]
    return "zo" + digest.translate(str.maketrans("0123456789abcdef", "bdfghjklmnprtvwz")) + "ox"


class Sheet:
    """One page being written from top to bottom."""

    def __init__(self, document: pymupdf.Document, top: float = 96.0) -> None:
        self.page = document.new_page(width=WIDTH, height=HEIGHT)
        self.y = top

    def heading(self, text: str, size: float = 15.0) -> None:
        self.y += size + 4
        self.page.insert_text((LEFT, self.y), text, fontsize=size, fontname="hebo")
        self.y += 10

    def text(self, text: str, size: float = 10.5, font: str = "tiro", width: int = 88) -> None:
        lines = textwrap.wrap(text, width)
        self.y += size * 1.3
        self.page.insert_text((LEFT, self.y), lines, fontsize=size, fontname=font, lineheight=1.3)
        self.y += size * 1.3 * (len(lines) - 1) + 8

    def at(self, x: float, y: float, text: str, size: float = 9.0, font: str = "helv") -> None:
        self.page.insert_text((x, y), text, fontsize=size, fontname=font)

    def right(self, x: float, text: str, size: float = 10.0, font: str = "helv") -> None:
        self.at(x - pymupdf.get_text_length(text, fontname=font, fontsize=size), self.y, text, size, font)

    def row(self, label: str, cells: Sequence[str], font: str = "helv") -> None:
        """A table row: its label at the left margin, its cells right-aligned in columns of 75 points."""
        self.y += 15
        self.at(LEFT, self.y, label, 10, font)
        for i, cell in enumerate(cells):
            self.right(RIGHT - 75 * (len(cells) - 1 - i), cell, 10, font)

    def dots(self, title: str, label: str, indent: float = 0.0) -> None:
        """A line of a printed contents: title, dot leaders, label at the right margin."""
        self.y += 17
        used, dot = (pymupdf.get_text_length(text, "tiro", 10.5) for text in (title + label, "."))
        dots = "." * int((RIGHT - LEFT - indent - used - 12) / dot)
        self.at(LEFT + indent, self.y, f"{title} {dots}", 10.5, "tiro")
        self.right(RIGHT, label, 10.5, "tiro")


def save(document: pymupdf.Document, path: Path, title: str = "", **options: object) -> Path:
    document.set_metadata({"title": title, "author": "", "creationDate": _DATE, "modDate": _DATE})
    document.save(path, garbage=3, deflate=True, no_new_id=True, **options)
    document.close()
    return path
