"""Single calls that check whether a model works, and how fast it is."""

from __future__ import annotations

import random
import struct
import time
import zlib
from dataclasses import dataclass

from pydantic import BaseModel

from hybrid_core.errors import ReplyError
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.prompts import prompt

_SIDE = 64  # pixels; some vision models refuse smaller images
_MAX_TOKENS = 500  # reasoning models need more tokens than the reply has
_NUMBERS = 400  # numbers in the prompt, about 1,000 tokens; new ones each time, since a server may cache prompts
_TASKS = {False: ("Reply with the word: ready.", "ready"), True: ("Which colour is the image?", "red")}


class Word(BaseModel):
    """The reply to the prompt ``check``, which asks the model for one word."""

    word: str


def probe(model: ChatModel, *, vision: bool) -> tuple[str, float]:
    """Ask a model for one word, with ``vision`` for the colour of an image. Return a summary and the seconds taken.

    A server may load the model first, so the call has the usual timeout. Raise the errors of ``ask`` (a bad key, a
    missing model, images refused), and ReplyError if the model accepts the image but does not see it.
    """
    task, expected = _TASKS[vision]
    check_prompt = prompt("check")
    messages = check_prompt.messages({"task": task})
    if vision:
        messages[-1] = type(messages[-1])("user", messages[-1].text, (_red_image(),))
    reply = model.ask(messages, Word, prompt=check_prompt.id, max_tokens=_MAX_TOKENS, scope=CallScope(patient=True))
    word = reply.value.word.strip() if reply.value else ""
    if vision and expected not in word.lower():
        message = f"{model.name} cannot read images: it described a red image as '{word[:40]}'."
        raise ReplyError(message, "Choose a vision model.", text=reply.text)
    seconds = reply.usage.seconds
    abilities = ", sees images" if vision else ""
    abilities += "" if model.takes_schemas else ", refuses schemas, so that prompts describe them"
    return f"{model.name} answers in {seconds:.1f} s{abilities}", seconds


def _red_image() -> bytes:
    """Return a red square as a PNG file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)  # 8 bits, RGB
    rows = (b"\0" + b"\xff\0\0" * _SIDE) * _SIDE
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


@dataclass(frozen=True, slots=True)
class Speed:
    """The speed of a model in tokens per second.

    ``reading`` is the speed until the first piece of the answer, ``writing`` the speed after it.
    """

    reading: float
    writing: float

    def seconds(self, read: int, written: int) -> float:
        """Return the seconds of a call with these numbers of input and output tokens."""
        return read / self.reading + written / self.writing


def measure(model: ChatModel) -> Speed:
    """Measure the speed of a model by one streamed call. Raise ChatError if the call fails.

    Tokens are counted by the endpoint, else estimated as four characters each. For a server that does not stream, the
    reading time counts as 0.
    """
    speed_prompt = prompt("speed")
    numbers = " ".join(str(random.randint(1000, 9999)) for _ in range(_NUMBERS))
    messages = speed_prompt.messages({"numbers": numbers})
    arrivals: list[float] = []
    began = time.monotonic()
    reply = model.say(
        messages,
        on_text=lambda _: arrivals.append(time.monotonic()),
        prompt=speed_prompt.id,
        max_tokens=_MAX_TOKENS,
        scope=CallScope(patient=True),
    )
    ended = time.monotonic()
    input_tokens = reply.usage.input_tokens or sum(len(message.text) for message in messages) // 4
    output_tokens = reply.usage.output_tokens or len(reply.text) // 4
    first_piece = arrivals[0] if len(arrivals) > 1 else began
    return Speed(input_tokens / max(first_piece - began, 1e-6), max(1, output_tokens) / max(ended - first_piece, 1e-6))
