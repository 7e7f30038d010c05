"""How fast a model reads and writes: one call whose answer is streamed."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.prompts import prompt

_NUMBERS = 400  # read, about 1,000 tokens; new ones each time, for a server may keep what it has read
_TOKENS = 500  # models that think first need more than the reply has


@dataclass(frozen=True, slots=True)
class Speed:
    """Tokens per second; ``reading`` counts until the first piece of the answer, ``writing`` from then on."""

    reading: float
    writing: float

    def seconds(self, read: int, written: int) -> float:
        """What a call of so many tokens takes."""
        return read / self.reading + written / self.writing


def measure(model: ChatModel) -> Speed:
    """Tokens are those that the endpoint counts, else four characters each. A server that does not stream is taken to
    read in no time. Raises ChatError.
    """
    written = prompt("speed")
    numbers = " ".join(str(random.randint(1000, 9999)) for _ in range(_NUMBERS))
    messages = written.messages({"numbers": numbers})
    heard: list[float] = []
    began = time.monotonic()
    reply = model.say(
        messages,
        on_text=lambda _: heard.append(time.monotonic()),
        prompt=written.id,
        max_tokens=_TOKENS,
        scope=CallScope(patient=True),
    )
    ended = time.monotonic()
    read = reply.usage.input_tokens or sum(len(message.text) for message in messages) // 4
    made = reply.usage.output_tokens or len(reply.text) // 4
    first = heard[0] if len(heard) > 1 else began
    return Speed(read / max(first - began, 1e-6), max(1, made) / max(ended - first, 1e-6))
