"""Replies kept in the cache, so that the same question to the same model is paid for once."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor

from hybrid_core.errors import StoreError
from hybrid_core.llm.client.endpoint import Request
from hybrid_core.store.cache.cache import Cache

_GATHER = 0.2  # seconds in which replies gather before they are written in one transaction


class ReplyCache:
    """Safe for several threads.

    Replies are written by a thread of its own, several in one transaction, so that calls do not wait for the disk: one
    that is killed loses the replies of its last moment.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._lock = threading.Lock()
        self._waiting: dict[str, bytes] = {}  # not yet written
        self._hurry = threading.Event()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="reply-cache")

    def get(self, key: str) -> str | None:
        with self._lock:
            held = self._waiting.get(f"reply/{key}")
        held = self._cache.get(f"reply/{key}") if held is None else held
        return None if held is None else held.decode("utf-8")

    def put(self, key: str, text: str) -> None:
        with self._lock:
            idle = not self._waiting
            self._waiting[f"reply/{key}"] = text.encode("utf-8", "replace")
            if idle:
                self._writer.submit(self._write)

    def flush(self) -> None:
        """Wait until everything is written."""
        self._hurry.set()
        self._writer.submit(self._hurry.clear).result()

    def _write(self) -> None:
        while True:
            self._hurry.wait(_GATHER)
            with self._lock:
                together = dict(self._waiting)
            try:
                with contextlib.suppress(StoreError):  # a reply that cannot be kept has been given all the same
                    self._cache.put(together)
            finally:
                with self._lock:
                    self._waiting = {key: kept for key, kept in self._waiting.items() if key not in together}
                    more = bool(self._waiting)  # asked within the lock: whoever puts next sees whether somebody writes
            if not more:
                return


def request_key(model: str, prompt: str, request: Request) -> str:
    """A hash of everything that decides a reply: the model, the version of the prompt, the messages and the schema."""
    messages = [
        [message.role, message.text, *(hashlib.sha256(image).hexdigest() for image in message.images)]
        for message in request.messages
    ]
    said = json.dumps([model, prompt, messages, request.schema, request.max_tokens], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()
