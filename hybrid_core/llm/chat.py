"""What is said to chat models, and what they reply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel

from hybrid_core.types.usage import Usage

Role = Literal["system", "user", "assistant"]
T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn. ``images`` are whole PNG or JPEG files, shown before the text."""

    role: Role
    text: str
    images: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """``value`` is what ``ask`` made of the text (never None there), None from ``say``."""

    text: str
    value: T | None
    usage: Usage
    finished: bool = True  # False where ``max_tokens`` cut the text off
