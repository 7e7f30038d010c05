"""Questions of the enriching steps to a language model: answered from what is kept, counted, within a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from hybrid_core.errors import ChatError
from hybrid_core.llm.chat import ChatModel
from hybrid_core.llm.prompts import prompt
from hybrid_core.types.usage import Usage
from indexers.enrich.cache import PartCache, part_key

T = TypeVar("T", bound=BaseModel)
_HAN_SAMPLE, _HAN_SHARE = 20_000, 0.3


class Asker:
    """Asks one model about one document. Several threads may use it.

    ``deadline`` is in seconds over all its calls. ``most`` bounds its calls (None: no bound); a reply from
    ``cache`` is none.
    """

    def __init__(
        self,
        model: ChatModel,
        cache: PartCache,
        *,
        language: str = "",
        deadline: float | None = None,
        most: int | None = None,
    ) -> None:
        self.usage = Usage()
        self._model, self._cache, self._language = model, cache, language
        self._ends = None if deadline is None else time.monotonic() + deadline
        self._most = most
        self._asked = 0
        self._lock = threading.Lock()

    @property
    def left(self) -> bool:
        """Whether it may call once more."""
        return self._most is None or self._asked < self._most

    def key(self, name: str, *parts: str) -> str:
        """What a reply to a prompt about ``parts`` is kept by."""
        return part_key(name, self._model.name, prompt(name, self._language).id, *parts)

    def get(self, key: str) -> str | None:
        """A kept reply, counted as such."""
        held = self._cache.get(key)
        if held is not None:
            self._add(Usage(cached=1))
        return held

    def keeps(self, key: str) -> bool:
        """Whether there is a kept reply, which is not counted."""
        return self._cache.get(key) is not None

    def put(self, key: str, value: str) -> None:
        self._cache.put(key, value)

    def ask(self, name: str, schema: type[T], values: Mapping[str, str], *, keep: bool = True, tokens: int = 4000) -> T:
        """The model's reply to a prompt; ``keep``: also for the next time. Raises ChatError."""
        written = prompt(name, self._language)
        messages = written.messages(values)
        key = self.key(name, schema.__name__, *(message.text for message in messages)) if keep else ""
        if keep and (held := self._cache.get(key)) is not None:
            try:
                kept = schema.model_validate_json(held)
            except ValidationError:  # kept before the schema's own checks changed
                pass
            else:
                self._add(Usage(cached=1))
                return kept
        with self._lock:
            self._asked += 1
        deadline = None if self._ends is None else self._ends - time.monotonic()
        try:
            reply = self._model.ask(messages, schema, prompt=written.id, max_tokens=tokens, deadline=deadline)
        except ChatError as error:
            self._add(error.usage)
            raise
        self._add(reply.usage)
        if reply.value is None:
            raise ChatError("the model gave no answer.", failure="reply")
        if keep:
            self._cache.put(key, reply.value.model_dump_json())
        return reply.value

    def _add(self, usage: Usage) -> None:
        with self._lock:
            self.usage += usage


def language_of(texts: Sequence[str]) -> str:
    """The language whose prompts suit a document: "zh" where much of it is Chinese, else ""."""
    sample = "".join(texts)[:_HAN_SAMPLE]
    letters = sum(map(str.isalpha, sample))
    kana = sum("\u3040" <= c <= "\u30ff" for c in sample)  # Japanese is written with Han characters too
    han = sum("\u4e00" <= c <= "\u9fff" for c in sample)
    return "zh" if han > _HAN_SHARE * max(1, letters) and kana < 0.05 * han else ""
