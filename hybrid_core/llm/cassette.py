"""Recorded replies: a JSONL file of requests (hashed) and what the model said, to be played without it."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hybrid_core.errors import ChatError, UsageError
from hybrid_core.llm.client.endpoint import Completion, Endpoint, Request


class Recorder:
    """An ``Endpoint`` that writes down what another one answers: appends a line per answer, failures are not kept.

    A line holds the name of the model, the request without its images, and the completion; keys, headers and URLs with
    secrets are no part of these.
    """

    def __init__(self, endpoint: Endpoint, path: Path) -> None:
        self._endpoint = endpoint
        self._path = path
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._endpoint.name

    def complete(self, request: Request, timeout: float, on_text: Callable[[str], None] | None = None) -> Completion:
        made = self._endpoint.complete(request, timeout, on_text)
        asked = [{"role": m.role, "text": m.text, "images": len(m.images)} for m in request.messages]
        entry = {"key": request_hash(request), "model": self.name, "messages": asked, "reply": asdict(made)}
        line = json.dumps(entry, ensure_ascii=False) + "\n"
        with self._lock:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(line)
            except OSError as error:
                raise UsageError(
                    f"{self._path}: cannot be written ({error}).", "Set another record_replies."
                ) from error
        return made

    def close(self) -> None:
        self._endpoint.close()


class Player:
    """An ``Endpoint`` that answers from a recording and calls nothing.

    A request that was recorded more than once gets its replies in their order, then the last one again. Raises
    UsageError for a file that is no recording; ``complete`` raises ChatError ("cassette") for a request it lacks.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._replies: dict[str, list[Completion]] = defaultdict(list)
        self._lock = threading.Lock()
        self._name = "recorded"
        try:
            for line in path.read_text(encoding="utf-8").splitlines():
                entry: dict[str, Any] = json.loads(line)
                self._replies[entry["key"]].append(Completion(**entry["reply"]))
                self._name = f"recorded:{entry['model']}"
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise UsageError(
                f"{path}: no recording of replies ({error}).", "Make one with record_replies set to this path."
            ) from error

    @property
    def name(self) -> str:
        return self._name

    def complete(self, request: Request, timeout: float, on_text: Callable[[str], None] | None = None) -> Completion:
        with self._lock:
            held = self._replies.get(request_hash(request))
            if not held:
                last = " ".join(request.messages[-1].text.split())[:80]
                raise ChatError(
                    f"{self._path} holds no reply to this request (it ends in: {last}).",
                    "Record it again: the documents, the question or a prompt have changed.",
                    failure="cassette",
                )
            made = held.pop(0) if len(held) > 1 else held[0]
        if on_text is not None:
            on_text(made.text)
        return made

    def close(self) -> None:
        pass


def request_hash(request: Request) -> str:
    """A hash over roles, words, images and schema; how words are spaced and the limit of tokens make no difference."""
    messages = [
        [m.role, " ".join(m.text.split()), *(hashlib.sha256(image).hexdigest() for image in m.images)]
        for m in request.messages
    ]
    said = json.dumps([messages, request.schema], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:32]
