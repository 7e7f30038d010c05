"""The failures of OpenAI's and Anthropic's SDKs, which are built alike, as EndpointError or ChatError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hybrid_core.errors import ChatError, EndpointError, EndpointFailure
from hybrid_core.llm.client.remote import TOO_MUCH, asked_wait, clean, safe_cause
from hybrid_core.system.extras import require

_FILTERED = ("content_filter", "content management policy", "content policy", "safety system")
_USED_UP = ("insufficient_quota", "billing", "credit balance", "exceeded your current quota")
_ADVICE: dict[EndpointFailure, str] = {
    "key": "Check the API key, and that it may use this model.",
    "model": "Check the model's name and the base URL (for OpenAI's interface it usually ends in /v1).",
    "quota": "Check the account's plan and billing.",
    "rate limit": "Try again later, or allow fewer calls at once (max_concurrent_calls, max_calls_per_minute).",
    "overload": "Try again later.",
    "timeout": "Try again later, or allow more time (model_timeout).",
    "connection": "Check the network and the base URL, or try again later.",
    "too long": "Choose a model that takes longer texts, or send less at once.",
    "refusal": "Choose another model for this document or question.",
    "reply": "Check the base URL (it usually ends in /v1) and that this model answers chats.",
    "request": "Check that this model takes such requests; for images it must be a vision model.",
}
_BY_STATUS: dict[int, EndpointFailure] = {
    401: "key",
    402: "quota",
    403: "key",
    404: "model",
    408: "overload",  # the server's own limit, told by a server that answers
    409: "overload",
    413: "too long",
    429: "rate limit",
}
_RETRYABLE = ("rate limit", "overload", "timeout", "connection")


def translated(
    name: str,
    error: Any,
    secrets: Sequence[str],
    *,
    timeout: float = 0,
    kind: type[EndpointError] = ChatError,
    advice: Mapping[EndpointFailure, str] = {},
) -> EndpointError:
    """What an exception of the SDK means. Its cause is set unless that would show a secret.

    ``advice`` is put in place of what chats are advised.
    """
    raised = type(error).__name__
    said = clean(error, secrets)
    wait = 0.0
    if hasattr(error, "status_code"):
        failure = _by_status(error.status_code, f"{said} {getattr(error, 'code', '')} {getattr(error, 'type', '')}")
        verb = "refused" if error.status_code < 500 else "failed"
        message = f"{name} {verb} ({said})."
        wait = asked_wait(error.response.headers) if failure in _RETRYABLE else 0.0
    elif "Timeout" in raised:
        failure, message = "timeout", f"{name} did not answer within {timeout:g} s."
    elif raised == "APIError":  # an error event within a stream
        failure, message = _by_words(said) or "overload", f"{name} failed in the middle of an answer ({said})."
    elif "Connection" in raised or isinstance(error, network_errors()):
        failure, message = "connection", f"{name} cannot be reached ({clean(error.__cause__ or error, secrets)})."
    else:
        failure, message = "reply", f"{name} gave no usable answer ({said})."
    advised = {**_ADVICE, **advice}[failure]
    meaning = kind(message, advised, failure=failure, retryable=failure in _RETRYABLE, wait=wait)
    meaning.__cause__ = safe_cause(error, secrets)
    return meaning


def refusal(name: str, said: str) -> ChatError:
    """The model, or a filter before or behind it, declines."""
    return ChatError(f"{name} declined to answer ({said[:300]}).", _ADVICE["refusal"], failure="refusal")


def unusable(name: str, why: str) -> ChatError:
    """What came is no answer of this interface."""
    return ChatError(f"{name} gave no usable answer ({why}).", _ADVICE["reply"], failure="reply")


def _by_status(status: int, said: str) -> EndpointFailure:
    said = said.lower()
    words = _by_words(said)
    if words == "quota" or (words in ("refusal", "too long") and status not in (401, 403, 429)):
        return words
    return _BY_STATUS.get(status, "overload" if status >= 500 else "request")


def _by_words(said: str) -> EndpointFailure | None:
    said = said.lower()
    if any(words in said for words in _USED_UP):
        return "quota"
    if any(words in said for words in _FILTERED):
        return "refusal"
    return "too long" if any(words in said for words in TOO_MUCH) else None


def network_errors() -> tuple[type[Exception], ...]:
    """What the HTTP library under both SDKs raises, which they let through while a stream is read."""
    http = require("httpx2", "openai")
    return (http.TransportError, http.StreamError, OSError)
