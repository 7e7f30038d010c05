"""Which models improve documents, and how: what decides whether an improved version still serves."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.prompts import prompt
from hybrid_core.types.versions import Kind
from indexers.build.chunks import ChunkSize
from indexers.enrich.choose import Vision
from indexers.enrich.glance import PROMPT as GLANCE
from indexers.enrich.pages import PROMPT
from indexers.formats.drawing import Drawing

_SEEING = (PROMPT,)
_READING = (
    "headings-check", "headings-contents", "headings-place", "headings-read", "section-summaries",
    "document-description",
)  # fmt: skip
_VERSION = "1"  # of what is made of the replies: raising it has documents improved again


@dataclass(frozen=True, slots=True)
class EnrichModels:
    """What a run may ask. ``llm`` and ``vlm`` are None where none is wanted or it does not work.

    ``names`` has those that are wanted, ``notes`` say what does not work.
    """

    llm: ChatModel | None = None
    vlm: ChatModel | None = None
    names: Mapping[Kind, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EnrichOptions:
    """``documents`` and ``pages`` are how many of them models work on at once; ``sheet`` is how many pages stand on a
    contact sheet by which those are chosen that are seen, 0 for none.
    """

    vision: Vision = "auto"
    drawing: Drawing = field(default_factory=Drawing)
    documents: int = 8
    pages: int = 5
    sheet: int = 0
    chunks: ChunkSize = field(default_factory=ChunkSize)

    def tags(self, names: Mapping[Kind, str]) -> dict[Kind, str]:
        """For each model that is wanted, by its name a hash of everything that decides what it adds."""
        pictures: list[object] = [
            self.vision,
            self.drawing.dpi,
            self.drawing.format,
            self.drawing.side,
            self.drawing.tiles,
        ]
        decisive: dict[Kind, tuple[list[object], tuple[str, ...]]] = {"llm": ([], _READING), "vlm": (pictures, _SEEING)}
        if self.sheet:
            decisive["vlm"] = ([*pictures, self.sheet], (*_SEEING, GLANCE))
        return {
            kind: _hashed([_VERSION, names[kind], *more, [_ids(name) for name in prompts]])
            for kind, (more, prompts) in decisive.items()
            if kind in names
        }


def _ids(name: str) -> list[str]:
    return [prompt(name).id, prompt(name, "zh").id]


def _hashed(values: list[object]) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:8]
