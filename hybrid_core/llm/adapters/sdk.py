"""Shared parts of the adapters for OpenAI's and Anthropic's SDKs: URLs without secrets, and error conversion."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from hybrid_core.errors import ChatError, EndpointError, EndpointFailure, UsageError
from hybrid_core.system import require

TOO_MUCH = (
    "context length, context_length, input length, maximum length, too long, too large, too many tokens, token limit, "
    "max_tokens_per_request, batch size"
).split(", ")  # phrases in the errors of servers if a request or one of its texts is too long

_FILTER_SIGNS = ("content_filter", "content management policy", "content policy", "safety system")
_USED_UP = ("insufficient_quota", "billing", "credit balance", "exceeded your current quota")
_ADVICE: dict[EndpointFailure, str] = {
    "key": "Check the API key, and whether it may use this model.",
    "model": "Check the model's name and the base URL (for OpenAI's interface it usually ends in /v1).",
    "quota": "Check the account's plan and billing.",
    "rate limit": "Try again later, or allow fewer calls at once (max_concurrent_calls, max_calls_per_minute).",
    "overload": "Try again later.",
    "timeout": "Try again later, or raise the setting model_timeout.",
    "connection": "Check the network and the base URL, or try again later.",
    "too long": "Choose a model with a longer context, or send less text at once.",
    "refusal": "Choose another model for this document or question.",
    "reply": "Check the base URL (it usually ends in /v1) and that this model answers chats.",
    "request": "Check that this model accepts such requests. Requests with images need a vision model.",
}
_BY_STATUS: dict[int, EndpointFailure] = {
    401: "key",
    402: "quota",
    403: "key",
    404: "model",
    408: "overload",  # a time-out within the server, which is reachable
    409: "overload",
    413: "too long",
    429: "rate limit",
}
_RETRYABLE = ("rate limit", "overload", "timeout", "connection")


def public_url(url: str, example: str, server: str) -> tuple[str, tuple[str | None, ...]]:
    """Return a URL that may be shown and stored, and the secrets in it. Raise UsageError if it is not a URL."""
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(f"The base URL of the {server} is not a URL.", f"Write it like {example}.")
    host = parts.netloc.rpartition("@")[2]
    secrets = (parts.password, *(value for _, value in parse_qsl(parts.query)))
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}", secrets


def retry_after(headers: Any) -> float:
    """Return the seconds of a Retry-After header (a number or a date), 0 if there is none or it is malformed."""
    header = headers.get("retry-after", "")
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (TypeError, ValueError):
            return 0.0
    return max(seconds, 0.0) if math.isfinite(seconds) else 0.0


def clean_message(error: BaseException, secrets: Sequence[str]) -> str:
    """Return an error's message in one line, without secrets, since some servers repeat the key."""
    text = " ".join(str(error).split())
    for secret in secrets:
        text = text.replace(secret, "***")
    return text[:300] or "no reason was given"


def safe_cause(error: BaseException, secrets: Sequence[str]) -> BaseException | None:
    """Return the error, to be set as the cause of another one. Return None if its message contains a secret."""
    return None if any(secret in str(error) for secret in secrets) else error


def translated(
    name: str,
    error: Any,
    secrets: Sequence[str],
    *,
    timeout: float = 0,
    kind: type[EndpointError] = ChatError,
    advice: Mapping[EndpointFailure, str] = {},
) -> EndpointError:
    """Return an SDK's exception as an error of type ``kind``, caused by it unless its message contains a secret.

    ``advice`` maps kinds of failure to advice that replaces the usual advice, which is written for chat models.
    """
    raised = type(error).__name__
    reason = clean_message(error, secrets)
    wait = 0.0
    if hasattr(error, "status_code"):
        failure = _failure_of_status(
            error.status_code, f"{reason} {getattr(error, 'code', '')} {getattr(error, 'type', '')}"
        )
        verb = "refused" if error.status_code < 500 else "failed"
        message = f"{name} {verb} ({reason})."
        wait = retry_after(error.response.headers) if failure in _RETRYABLE else 0.0
    elif "Timeout" in raised:
        failure, message = "timeout", f"{name} did not answer within {timeout:g} s."
    elif raised == "APIError":  # an error event within a stream
        failure, message = (
            _failure_of_words(reason) or "overload",
            f"{name} failed in the middle of an answer ({reason}).",
        )
    elif "Connection" in raised or isinstance(error, network_errors()):
        failure, message = (
            "connection",
            f"{name} cannot be reached ({clean_message(error.__cause__ or error, secrets)}).",
        )
    else:
        failure, message = "reply", f"{name} gave no usable answer ({reason})."
    what_to_do = {**_ADVICE, **advice}[failure]
    meaning = kind(message, what_to_do, failure=failure, retryable=failure in _RETRYABLE, wait=wait)
    meaning.__cause__ = safe_cause(error, secrets)
    return meaning


def refusal(name: str, reason: str) -> ChatError:
    """Return the error for a model or content filter that declines to answer."""
    return ChatError(f"{name} declined to answer ({reason[:300]}).", _ADVICE["refusal"], failure="refusal")


def unusable(name: str, why: str) -> ChatError:
    """Return the error for a response in an unexpected format."""
    return ChatError(f"{name} gave no usable answer ({why}).", _ADVICE["reply"], failure="reply")


def _failure_of_status(status: int, reason: str) -> EndpointFailure:
    reason = reason.lower()
    words = _failure_of_words(reason)
    if words == "quota" or (words in ("refusal", "too long") and status not in (401, 403, 429)):
        return words
    return _BY_STATUS.get(status, "overload" if status >= 500 else "request")


def _failure_of_words(reason: str) -> EndpointFailure | None:
    reason = reason.lower()
    if any(words in reason for words in _USED_UP):
        return "quota"
    if any(words in reason for words in _FILTER_SIGNS):
        return "refusal"
    return "too long" if any(words in reason for words in TOO_MUCH) else None


def network_errors() -> tuple[type[Exception], ...]:
    """Return the network errors of the HTTP library of both SDKs, which may occur while a stream is read."""
    http = require("httpx2", "openai")
    return (http.TransportError, http.StreamError, OSError)
