"""Progress reports while models improve a document, and the outcome of each step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from hybrid_core.types.usage import Usage

Stage = Literal["parse", "ocr", "refine", "describe", "tree", "summaries", "embed"]
StepName = Literal["pages", "tree", "sections", "description"]


@dataclass(frozen=True, slots=True)
class StepDone:
    """The work of a model in one step on a document: pages or sections done and failed, usage, and seconds."""

    step: StepName
    done: int = 0
    failed: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
