"""What the tests of chat models send, and what their servers answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from hybrid_core.llm.chat import Message
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.client import Retries

KEY = "sk-very-secret-0123456789"
PNG = b"\x89PNG\r\n\x1a\n picture"
QUICK = Retries(tries=3, first_wait=0.01, longest_wait=0.02)
QUESTION = [Message("system", "Be brief."), Message("user", "Which page?")]
Interface = Literal["openai", "anthropic"]
both = pytest.mark.parametrize("interface", ["openai", "anthropic"])


class Found(BaseModel):
    page: int = Field(ge=1)
    why: str | None = None
    sure: bool = True


GOOD = '{"page": 12, "why": null, "sure": true}'

Connect = Callable[..., ChatModel]
