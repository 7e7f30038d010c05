"""Embeddings from any server with OpenAI's interface (OpenAI, vLLM, Ollama, LiteLLM, …)."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from hybrid_core.errors import ModelError, UsageError
from hybrid_core.extras import require
from hybrid_core.models.breaker import Breaker, Failure
from hybrid_core.models.embedder import EmbedderId, Kind, Vectors, checked_texts, fingerprint, in_batches, unit_rows
from hybrid_core.models.remote import TOO_MUCH, Retries, asked_wait, clean, public_url, safe_cause

DEFAULT_URL = "https://api.openai.com/v1"
MAX_INPUTS = 128  # per request
MAX_CHARACTERS = 8_000  # per text; OpenAI's models take 8,192 tokens
_REQUEST_CHARACTERS = 200_000  # OpenAI takes 300,000 tokens in one request
_UNANSWERED = 2  # tries of a request without any answer, where somebody waits
_SHORTEST = 200  # a text refused as too long is halved, but not below this


class OpenAIEmbedder:
    """An ``Embedder`` over HTTP. Queries and documents are sent alike, each cut at ``MAX_CHARACTERS``.

    A text that the server still calls too long is halved until it is taken, which depends on no other text. A question
    fails at once where the one before it did, until the server has rested; documents are tried patiently.
    The key stays out of messages, logs and reprs. A server other than OpenAI's may be asked without one.
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        batch_size: int | None = None,
        timeout: float = 60,
        retries: Retries = Retries(),
    ) -> None:
        if not api_key and not base_url:
            raise UsageError("OpenAI's embeddings need an API key, and none is set.", "Set it, or a server's base URL.")
        if not timeout > 0:
            raise UsageError(f"timeout is {timeout}.", "It must be above 0 seconds.")
        self._model = model
        self._url, secrets = public_url(base_url or DEFAULT_URL, DEFAULT_URL, "embeddings server")
        self._secrets = [secret for secret in (api_key, *secrets) if secret]
        self._name = f"openai:{model}@{self._url}"
        self._batch_size = min(batch_size or MAX_INPUTS, MAX_INPUTS)
        self._retries = retries
        self._breaker = Breaker()
        self._closed = threading.Event()
        self._id: EmbedderId | None = None
        self._sdk: Any = require("openai", "openai")
        self._client: Any = self._sdk.OpenAI(
            api_key=api_key or "none", base_url=base_url or DEFAULT_URL, timeout=timeout, max_retries=0
        )

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self._name!r})"

    @property
    def id(self) -> EmbedderId:
        """Asks the server for one vector, to learn the dimension, where nothing was embedded before."""
        return self._id or self._learn(self._embed([" "], patient=False))

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        cut = [text.strip()[:MAX_CHARACTERS] or " " for text in checked_texts(texts, kind)]
        if not cut:
            return unit_rows([], self._name, self.id.dimension)
        vectors = self._embed(cut, patient=kind == "document")
        self._learn(vectors)
        return vectors

    def close(self) -> None:
        self._closed.set()
        self._client.close()

    def _embed(self, texts: Sequence[str], *, patient: bool) -> Vectors:
        call = partial(self._fitting, patient=patient)
        rows = in_batches(texts, self._batch_size, call, _REQUEST_CHARACTERS)
        return unit_rows(rows, self._name, self._id.dimension if self._id else None)

    def _learn(self, vectors: Vectors) -> EmbedderId:
        if self._id is None:
            dimension = vectors.shape[1]
            made = fingerprint("openai", self._url, self._model, MAX_CHARACTERS, dimension)
            self._id = EmbedderId(self._name, dimension, made)
        return self._id

    def _fitting(self, batch: list[str], *, patient: bool) -> list[Any]:
        """One vector per text; what is too much for the server is halved, first the batch, then the text."""
        try:
            return self._answered(batch, patient)
        except _Failure as failure:
            half = (len(batch) + 1) // 2
            if not failure.too_much or (len(batch) == 1 and len(batch[0]) <= _SHORTEST):
                raise
        if len(batch) > 1:
            return self._fitting(batch[:half], patient=patient) + self._fitting(batch[half:], patient=patient)
        return self._fitting([batch[0][: len(batch[0]) // 2]], patient=patient)

    def _answered(self, batch: list[str], patient: bool) -> list[Any]:
        """One request, tried again where that may help; none where the one before failed and nobody is patient."""
        if not patient and (refused := self._breaker.refuses(self._name)) is not None:
            why, rest = refused
            raise _Failure(why.resting(rest), why.advice, retryable=why.retryable)
        limits = self._retries
        began, tried = time.monotonic(), 0
        while not self._closed.is_set():
            tried += 1
            try:
                rows = self._send(batch)
            except _Failure as failure:
                asked = failure.asked
                most = limits.tries if patient or failure.answered else min(limits.tries, _UNANSWERED)
                if not failure.retryable or asked > limits.longest_asked or tried >= most:
                    failure.message += f" It was tried {tried} times." if tried > 1 else ""
                    failure.message += f" The server asks to wait {asked:.0f} s." if asked else ""
                    if failure.retryable and tried > 1:
                        why = Failure(failure.message, failure.advice, "connection", retryable=True)
                        self._breaker.failed(self._name, why, began)
                    raise
            else:
                self._breaker.answered(self._name)
                return rows
            wait = min(limits.longest_wait, limits.first_wait * 2 ** (tried - 1)) * random.uniform(0.5, 1)
            self._closed.wait(asked * random.uniform(1, 1.1) if asked else wait)
        raise UsageError(f"{self._name} is closed.", "Load it again.")

    def _send(self, batch: list[str]) -> list[Any]:
        sdk = self._sdk
        try:
            # "float" because not every server knows the SDK's default, base64
            answer = self._client.embeddings.create(model=self._model, input=batch, encoding_format="float")
        except sdk.APIStatusError as error:
            raise self._refused(error) from safe_cause(error, self._secrets)
        except sdk.APITimeoutError as error:
            message = f"{self._name} did not answer in time."
            raise _Failure(message, "Try again later.", retryable=True, answered=False) from error
        except sdk.APIConnectionError as error:
            said = clean(error.__cause__ or error, self._secrets)
            advice = "Check the network and the base URL, or try again later."
            message = f"{self._name} cannot be reached ({said})."
            raise _Failure(message, advice, retryable=True, answered=False) from safe_cause(error, self._secrets)
        except (sdk.OpenAIError, ValueError, TypeError, RuntimeError) as error:  # not JSON, or closed meanwhile
            message = f"{self._name} gave no usable answer ({type(error).__name__}: {clean(error, self._secrets)})."
            raise _Failure(message, _NOT_EMBEDDINGS) from safe_cause(error, self._secrets)
        return self._rows(getattr(answer, "data", None), len(batch))

    def _rows(self, data: Any, count: int) -> list[Any]:
        """The vectors in the order of the texts, which the answer may not keep."""
        if not isinstance(data, list) or not all(hasattr(item, "embedding") for item in data):
            raise _Failure(f"{self._name} answered with something other than embeddings.", _NOT_EMBEDDINGS)
        if len(data) != count:
            raise _Failure(f"{self._name} answered {count} texts with {len(data)} vectors.", _NOT_EMBEDDINGS)
        numbered = {str(getattr(item, "index", "")): item.embedding for item in data}
        if len(numbered) == 1:  # some servers number none, or all alike, and keep the order
            return [item.embedding for item in data]
        try:
            return [numbered[str(i)] for i in range(count)]
        except KeyError as error:
            message = f"{self._name} numbered {count} vectors {', '.join(list(numbered)[:8])}, which tells no order."
            raise _Failure(message, _NOT_EMBEDDINGS) from error

    def _refused(self, error: Any) -> _Failure:
        status = error.status_code
        said = clean(error, self._secrets)
        message = f"{self._name} refused ({said})." if status < 500 else f"{self._name} failed ({said})."
        if status in (401, 403):
            return _Failure(message, "Check the API key, and that it may use this model.")
        if status == 404:
            return _Failure(message, "Check the model's name and the base URL (it usually ends in /v1).")
        if status == 429 and "insufficient_quota" in (error.code, error.type):
            return _Failure(message, "Check the account's plan and billing.")
        if status != 429 and (status == 413 or any(words in said.lower() for words in TOO_MUCH)):
            return _Failure(message, "Set a smaller batch size, or a model that takes longer texts.", too_much=True)
        if status in (408, 409, 429) or status >= 500:
            asked = asked_wait(error.response.headers)
            return _Failure(message, "Try again later.", retryable=True, asked=asked)
        return _Failure(message, "Check that this server offers embeddings with this model.")


_NOT_EMBEDDINGS = "Check the base URL (it usually ends in /v1) and that this model makes embeddings."


class _Failure(ModelError):
    """One request that failed. ``asked``: seconds the server asks to wait, 0 where it does not. ``answered``: it said
    anything at all.
    """

    def __init__(
        self, message: str, advice: str, *, retryable: bool = False, asked: float = 0.0, too_much: bool = False,
        answered: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(message, advice, retryable=retryable)
        self.answered = answered
        self.asked = asked
        self.too_much = too_much
