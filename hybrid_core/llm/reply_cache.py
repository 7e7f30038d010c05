"""Replies kept in the cache of a home, whole or part by part, so that the same is paid for once."""

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
    """Safe for several threads. Keys are those of ``request_key`` and ``part_key``.

    Whole replies are written by a thread of its own, several in one transaction, so that calls do not wait for the
    disk: one that is killed loses the replies of its last moment.
    """

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._lock = threading.Lock()
        self._waiting: dict[str, bytes] = {}  # not yet written
        self._hurry = threading.Event()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="reply-cache")

    def get(self, key: str) -> str | None:
        with self._lock:
            held = self._waiting.get(key)
        held = self._cache.get(key) if held is None else held
        return None if held is None else held.decode("utf-8")

    def put(self, key: str, text: str) -> None:
        with self._lock:
            idle = not self._waiting
            self._waiting[key] = text.encode("utf-8", "replace")
            if idle:
                self._writer.submit(self._write)

    def put_part(self, key: str, text: str) -> None:
        """What was made of a part of a reply; durable when this returns."""
        with contextlib.suppress(StoreError):  # as above
            self._cache.put({key: text.encode("utf-8", "replace")})

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
    """Everything that decides a reply, hashed: the model, the version of the prompt, the messages and the schema."""
    messages = [
        [message.role, message.text, *(hashlib.sha256(image).hexdigest() for image in message.images)]
        for message in request.messages
    ]
    said = json.dumps([model, prompt, messages, request.schema, request.max_tokens], sort_keys=True)
    return f"reply/{hashlib.sha256(said.encode()).hexdigest()}"


def part_key(kind: str, *decisive: str | bytes) -> str:
    """A key from everything that decides what a model says of one part of a document (a page, a section), so that an
    unchanged part is paid for once: the model's name, the prompt's id, the contents. No page numbers.
    """
    digest = hashlib.sha256()
    for one in decisive:
        data = one.encode("utf-8", "replace") if isinstance(one, str) else one
        digest.update(len(data).to_bytes(8, "little") + data)
    return f"part/{kind}/{digest.hexdigest()[:40]}"
