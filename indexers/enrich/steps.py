"""What is told of a document while models improve it, and of each step once it is done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hybrid_core.types.usage import Usage

Stage = Literal["parse", "ocr", "refine", "describe", "tree", "summaries", "embed"]
StepName = Literal["pages", "tree", "sections", "description"]


@dataclass(frozen=True, slots=True)
class StepDone:
    """What a model did for a document in one step: pages, sections, … ``done`` and ``failed``, and what it took."""

    step: StepName
    done: int = 0
    failed: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
