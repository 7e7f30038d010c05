"""Embeddings from any server with OpenAI's API (OpenAI, vLLM, Ollama, LiteLLM, …)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from hybrid_core.embed.embedder import EmbedderId, Kind, Vectors, checked_texts, fingerprint, in_batches, unit_rows
from hybrid_core.errors import EndpointError, EndpointFailure, UsageError
from hybrid_core.llm.adapters.sdk import address, network_errors, translated
from hybrid_core.llm.client.client import Client, Retries
from hybrid_core.llm.client.limiter import Limiter
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.system import require

DEFAULT_URL = "https://api.openai.com/v1"
ENDINGS = ("/embeddings",)  # paths that the SDK adds to the base URL
MAX_INPUTS = 128  # texts per request
MAX_CHARACTERS = 8_000  # characters per text; OpenAI's models accept 8,192 tokens
_REQUEST_CHARACTERS = 200_000  # OpenAI accepts 300,000 tokens in one request
_SHORTEST = 200  # a text that is refused as too long is halved down to this length
_ADVICE: Mapping[EndpointFailure, str] = {
    "key": "Check the API key (embedding_api_key). It is sent only to the server that embedding_base_url names.",
    "timeout": "Try again later.",
    "request": "Check that this server offers embeddings with this model.",
    "reply": "Check the base URL (it usually ends in /v1) and that this model makes embeddings.",
}


class OpenAIEmbedder:
    """An ``Embedder`` over HTTP. Queries and documents are sent alike, each cut at ``MAX_CHARACTERS``.

    A text that the server still refuses as too long is halved until it is accepted. Other texts in the same request are
    not affected. Failures raise EndpointError. Requests for documents are retried for longer than those for queries
    (see ``Client``). The key never appears in messages, logs and reprs. Servers other than OpenAI's may work without a
    key.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        batch_size: int | None = None,
        timeout: float = 60,
        limiter: Limiter | None = None,
        retries: Retries = Retries(),
    ) -> None:
        if not api_key and not base_url:
            raise UsageError(
                "OpenAI's embeddings need an API key, and none is set.",
                "Set embedding_api_key, or embedding_base_url for another server.",
            )
        self._model = model
        server = address(base_url or DEFAULT_URL, DEFAULT_URL, "embeddings server", ENDINGS)
        self._url = server.name
        self._secrets = [secret for secret in (api_key, *server.secrets) if secret]
        self._name = f"openai:{model}@{self._url}"
        self._batch_size = min(batch_size or MAX_INPUTS, MAX_INPUTS)
        self._calls = Client(self._name, limiter or Limiter(8), retries, timeout)
        self._id: EmbedderId | None = None
        self._sdk: Any = require("openai", "openai")
        self._client: Any = self._sdk.OpenAI(**server.options(api_key or "none"))

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self._name!r})"

    @property
    def id(self) -> EmbedderId:
        """Return the embedder's identity. If nothing was embedded before, request one vector to learn the dimension."""
        return self._id or self._learn(self._embed([" "], CallScope(patient=True)))

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        cut = [text.strip()[:MAX_CHARACTERS] or " " for text in checked_texts(texts, kind)]
        if not cut:
            return unit_rows([], self._name, self.id.dimension)
        vectors = self._embed(cut, CallScope(patient=kind == "document"))
        self._learn(vectors)
        return vectors

    def close(self) -> None:
        self._calls.close()
        self._client.close()

    def _embed(self, texts: Sequence[str], scope: CallScope) -> Vectors:
        call = partial(self._embed_batch, scope=scope)
        rows = in_batches(texts, self._batch_size, call, _REQUEST_CHARACTERS)
        return unit_rows(rows, self._name, self._id.dimension if self._id else None)

    def _learn(self, vectors: Vectors) -> EmbedderId:
        if self._id is None:
            dimension = vectors.shape[1]
            digest = fingerprint("openai", self._url, self._model, MAX_CHARACTERS, dimension)
            self._id = EmbedderId(self._name, dimension, digest)
        return self._id

    def _embed_batch(self, batch: list[str], scope: CallScope) -> list[Any]:
        """Return one vector per text. If the server refuses a batch as too long, split it; halve a single text."""
        try:
            return self._calls.send(partial(self._request, batch), scope=scope)[0]
        except EndpointError as error:
            if error.failure != "too long" or (len(batch) == 1 and len(batch[0]) <= _SHORTEST):
                raise
        if len(batch) > 1:
            half = (len(batch) + 1) // 2
            return self._embed_batch(batch[:half], scope) + self._embed_batch(batch[half:], scope)
        return self._embed_batch([batch[0][: len(batch[0]) // 2]], scope)

    def _request(self, batch: list[str], timeout: float) -> list[Any]:
        try:
            # "float", since not every server supports the SDK's default, base64
            answer = self._client.embeddings.create(
                model=self._model, input=batch, encoding_format="float", timeout=timeout
            )
        except (self._sdk.OpenAIError, *network_errors(), ValueError, TypeError, RuntimeError) as error:
            meaning = translated(self._name, error, self._secrets, timeout=timeout, kind=EndpointError, advice=_ADVICE)
            raise meaning from meaning.__cause__
        return self._rows(getattr(answer, "data", None), len(batch))

    def _rows(self, data: Any, count: int) -> list[Any]:
        """Return the vectors of a response in the order of the texts; the response may have another order."""
        if not isinstance(data, list) or not all(hasattr(item, "embedding") for item in data):
            raise self._unusable("it contains no embeddings")
        if len(data) != count:
            raise self._unusable(f"it contains {len(data)} vectors, but {count} texts were sent")
        numbered = {str(getattr(item, "index", "")): item.embedding for item in data}
        if len(numbered) == 1:  # some servers number none, or all alike, and preserve the order
            return [item.embedding for item in data]
        places = [str(place) for place in range(count)]
        if not numbered.keys() >= set(places):
            raise self._unusable(
                f"its {count} vectors have the numbers {', '.join(list(numbered)[:8])}, so their order is unknown"
            )
        return [numbered[place] for place in places]

    def _unusable(self, reason: str) -> EndpointError:
        return EndpointError(f"The answer of {self._name} cannot be used: {reason}.", _ADVICE["reply"], failure="reply")
