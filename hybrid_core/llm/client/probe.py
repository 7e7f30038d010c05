"""One cheap call that finds out whether a model works, before anything depends on it."""

from __future__ import annotations

import struct
import zlib

from pydantic import BaseModel

from hybrid_core.errors import ReplyError
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.prompts import prompt

_SIDE = 64  # pixels; some vision models refuse smaller images
_TOKENS = 500  # models that think first need some even for a word
_TASKS = {False: ("Reply with the word: ready.", "ready"), True: ("Which colour is the image?", "red")}


class Word(BaseModel):
    """The reply to the prompt ``check``."""

    word: str


def probe(model: ChatModel, *, vision: bool) -> tuple[str, float]:
    """Ask for one word, with ``vision`` for the colour of an image. Returns what was learnt, in one line, and the
    seconds that it took: it has the time of any call, for a server may load the model first.

    Raises ChatError as ``ask`` does (a bad key, a missing model, images refused), ReplyError also where the image was
    taken but not seen.
    """
    task, expected = _TASKS[vision]
    written = prompt("check")
    messages = written.messages({"task": task})
    if vision:
        messages[-1] = type(messages[-1])("user", messages[-1].text, (_red(),))
    reply = model.ask(messages, Word, prompt=written.id, max_tokens=_TOKENS, scope=CallScope(patient=True))
    word = reply.value.word.strip() if reply.value else ""
    if vision and expected not in word.lower():
        message = f"{model.name} does not see images: it calls a red one '{word[:40]}'."
        raise ReplyError(message, "Choose a vision model.", text=reply.text)
    seconds = reply.usage.seconds
    return f"{model.name} answers in {seconds:.1f} s" + (", sees images" if vision else ""), seconds


def _red() -> bytes:
    """A red square as a PNG file."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", _SIDE, _SIDE, 8, 2, 0, 0, 0)  # 8 bits, RGB
    rows = (b"\0" + b"\xff\0\0" * _SIDE) * _SIDE
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
