"""Reranking by a cross-encoder behind HTTP: servers with the route /rerank of Cohere, Jina, vLLM, llama.cpp or TEI."""

from __future__ import annotations

import math
import queue
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hybrid_core.embed.embedder import checked_texts
from hybrid_core.errors import EndpointError, EndpointFailure, UsageError
from hybrid_core.llm.adapters.sdk import address, network_errors, translated
from hybrid_core.llm.client.client import Client, Deadline, Retries
from hybrid_core.llm.client.limiter import Limiter
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.system import require

MAX_CHARACTERS = 8_000  # characters per text, as for embedders
_SHORTEST = 500  # texts that are refused as too long are halved down to this length
_EXAMPLE = "http://localhost:8000/v1"
_ADVICE: Mapping[EndpointFailure, str] = {
    "key": "Check the API key (rerank_api_key).",
    "model": "Check rerank_model and rerank_base_url. The engine adds /rerank to this address.",
    "timeout": "Raise the setting rerank_seconds, or choose a faster model.",
    "request": "Check that the server in rerank_base_url has the route /rerank.",
    "reply": "Check that the server in rerank_base_url has the route /rerank.",
    "connection": "Check rerank_base_url and the network.",
}


class RerankServer:
    """A model that scores texts against a question over HTTP. Several threads may use it.

    Requests have Cohere's form, which Jina, vLLM and llama.cpp share. If the server refuses it, they have the form of
    TEI from then on. The key never appears in messages, logs and reprs.
    """

    def __init__(
        self, model: str, base_url: str, *, api_key: str = "", seconds: float = 2.0, limiter: Limiter | None = None
    ) -> None:
        """Connect to ``base_url``, to which "/rerank" is added. One call takes at most ``seconds``."""
        server = address(base_url, _EXAMPLE, "reranking server", ("/rerank",))
        self._model, self._seconds = model, seconds
        self._secrets = [secret for secret in (api_key, *server.secrets) if secret]
        self.name = f"{model or 'reranker'}@{server.name}"
        self._calls = Client(self.name, limiter or Limiter(8), Retries(), seconds)
        self._tei = False
        self._sdk: Any = require("openai", "openai")
        self._client: Any = self._sdk.OpenAI(**server.options(api_key or "none"))

    def __repr__(self) -> str:
        return f"RerankServer({self.name!r})"

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the score of each text, float32 (n,); higher is better. Raise EndpointError if there is none in time.

        The scale of the scores is the model's own: probabilities or logits.
        """
        checked = [text[:MAX_CHARACTERS] for text in checked_texts(texts)]
        if not checked:
            return np.zeros(0, np.float32)
        outcome: queue.SimpleQueue[NDArray[np.float32] | Exception] = queue.SimpleQueue()
        ends = time.monotonic() + self._seconds

        def work() -> None:
            try:
                outcome.put(self._score(checked_texts([query], "query")[0], checked, ends))
            except Exception as error:  # noqa: BLE001 - raised in the thread that waits
                outcome.put(error)

        # The library's own timeout starts anew with each piece of data, so a slow server could exceed it.
        threading.Thread(target=work, name="rerank", daemon=True).start()
        try:
            result = outcome.get(timeout=self._seconds)
        except queue.Empty:
            message = f"{self.name} did not answer within {self._seconds:g} s."
            raise EndpointError(message, _ADVICE["timeout"], failure="timeout", retryable=True) from None
        if isinstance(result, Exception):
            raise result
        return result

    def close(self) -> None:
        self._calls.close()
        self._client.close()

    def _score(self, query: str, texts: list[str], ends: float) -> NDArray[np.float32]:
        try:
            return self._calls.send(
                lambda timeout: self._request(query, texts, timeout), scope=CallScope(), ends=Deadline(ends)
            )[0]
        except EndpointError as error:
            longest = max(map(len, texts))
            if error.failure != "too long" or longest <= _SHORTEST:
                raise
        return self._score(query, [text[: longest // 2] for text in texts], ends)

    def _request(self, query: str, texts: list[str], timeout: float) -> NDArray[np.float32]:
        began = time.monotonic()
        try:
            return self._post(query, texts, timeout, tei=self._tei)
        except EndpointError as error:
            left = timeout - (time.monotonic() - began)
            if error.failure != "request" or left <= 0:
                raise
            scores = self._post(query, texts, left, tei=not self._tei)
        self._tei = not self._tei
        return scores

    def _post(self, query: str, texts: list[str], timeout: float, *, tei: bool) -> NDArray[np.float32]:
        body: dict[str, Any] = {"query": query}
        body |= {"texts": texts, "truncate": True} if tei else {"documents": texts, "top_n": len(texts)}
        body |= {"model": self._model} if self._model and not tei else {}
        try:
            answer = self._client.post("/rerank", cast_to=object, body=body, options={"timeout": timeout})
        except (self._sdk.OpenAIError, *network_errors(), ValueError, TypeError, RuntimeError) as error:
            meaning = translated(self.name, error, self._secrets, timeout=timeout, kind=EndpointError, advice=_ADVICE)
            raise meaning from meaning.__cause__
        return self._read(answer, len(texts))

    def _read(self, answer: Any, count: int) -> NDArray[np.float32]:
        """Return the scores of a response in the order of the texts. The response is sorted by score."""
        rows = answer.get("results", answer.get("data")) if isinstance(answer, dict) else answer
        scores: dict[int, float] = {}
        for row in rows if isinstance(rows, list) else []:
            score = row.get("relevance_score", row.get("score")) if isinstance(row, dict) else None
            if isinstance(score, int | float) and math.isfinite(score) and isinstance(row.get("index"), int):
                scores[row["index"]] = float(score)
        if scores.keys() != set(range(count)):
            message = f"The answer of {self.name} cannot be used: it does not score each of the {count} texts."
            raise EndpointError(message, _ADVICE["reply"], failure="reply")
        return np.array([scores[place] for place in range(count)], np.float32)


def open_rerank_server(
    model: str, base_url: str, api_key: str, seconds: float, limiter: Limiter | None = None
) -> RerankServer:
    """Return the configured reranker. Raise UsageError if no address is configured."""
    if not base_url:
        raise UsageError(
            "The setting rerank is server, but no server is configured.",
            f"Set rerank_base_url, for example to {_EXAMPLE}, or set rerank to none.",
        )
    return RerankServer(model, base_url, api_key=api_key, seconds=seconds, limiter=limiter)
