"""Shared parts of the adapters for OpenAI's and Anthropic's SDKs: addresses of servers, and error conversion."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from hybrid_core.errors import ChatError, EndpointError, EndpointFailure, UsageError
from hybrid_core.system import require

TOO_MUCH = (
    "context length, context_length, context size, context limit, input length, maximum length, prompt length, "
    "too long, too large, too many tokens, token limit, maximum number of tokens, max allowed tokens, "
    "max_tokens_per_request, batch size"
).split(", ")  # phrases in the errors of servers if a request or one of its texts is too long

_FILTER_SIGNS = (
    "content_filter", "content filter", "content management policy", "content policy", "safety system", "usage polic",
)  # fmt: skip
_USED_UP = ("insufficient_quota", "billing", "credit balance", "exceeded your current quota")
# words in errors with the status 400 or 422, or with none
_KEY_SIGNS = re.compile(
    r"api[ _]key (not valid|invalid)|(invalid|incorrect)[ _]api[ _]key|api_key_invalid|authentication_error"
)
_MODEL_SIGNS = re.compile(
    r"(invalid|unknown|no such|not a valid)[ _]model\b|model[ _](id |identifier |name )?(is invalid|not[ _]found)"
)
_RATE_SIGNS = re.compile(r"rate[ _]limit|too many requests|resource_exhausted")
_WAIT = re.compile(r"(?:retry|try again) in (\d+(?:\.\d+)?) ?s\b|retrydelay\W+(\d+(?:\.\d+)?)s\b", re.IGNORECASE)
_BARE = re.compile(r"Error code: \d+")  # a message of OpenAI's SDK that does not quote the response
_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)
_SHORTEST_SECRET = 4  # characters; a shorter "key" is a placeholder that occurs in ordinary words
_AZURE = (".azure.com", ".azure.us", ".azure.cn")
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


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a model server.

    ``name`` is the URL without secrets, which may be shown and stored. Requests go to ``base_url`` with the parameters
    ``query``.
    """

    name: str
    base_url: str = field(repr=False)
    query: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

    def options(self, api_key: str) -> dict[str, Any]:
        """Return the arguments of an SDK's client for this server. Azure expects its keys in a header of its own."""
        host = urlsplit(self.base_url).hostname or ""
        headers = {"api-key": api_key} if host.endswith(_AZURE) else {}
        return {
            "api_key": api_key, "base_url": self.base_url, "max_retries": 0,
            "default_query": dict(self.query), "default_headers": headers,
        }  # fmt: skip


def address(url: str, example: str, server: str, endings: Sequence[str] = ()) -> Address:
    """Return the address in a setting. Raise UsageError if it is not a URL.

    ``endings`` are paths that the SDK adds itself. They are removed, since documentation often gives whole addresses.
    """
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(f"The base URL of the {server} is not a URL.", f"Write it like {example}.")
    path = parts.path.rstrip("/")
    for ending in endings:
        path = path.removesuffix(ending)
    query = dict(parse_qsl(parts.query))
    secrets = tuple(secret for secret in (parts.password, *query.values()) if secret)
    host = parts.netloc.rpartition("@")[2]
    return Address(f"{parts.scheme}://{host}{path}", f"{parts.scheme}://{parts.netloc}{path}", query, secrets)


def retry_after(headers: Any, message: str = "") -> float:
    """Return the seconds that a server asks to wait, 0 if it does not.

    They are in the header Retry-After (a number or a date) or retry-after-ms, or in the error message.
    """
    header = headers.get("retry-after", "")
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (TypeError, ValueError):
            seconds = 0.0
    if not header:
        asked_wait = _WAIT.search(message)
        milliseconds = str(headers.get("retry-after-ms", ""))
        seconds = float(asked_wait[1] or asked_wait[2]) if asked_wait else 0.0
        seconds = int(milliseconds) / 1000 if milliseconds.isdecimal() else seconds
    return max(seconds, 0.0) if math.isfinite(seconds) else 0.0


def whole_message(error: BaseException) -> str:
    """Return an error's message in one line. Add the response if the SDK does not quote it."""
    text = str(error)
    body = getattr(error, "body", None)
    if body and _BARE.fullmatch(text):
        quoted = _TAGS.sub(" ", body) if isinstance(body, str) else json.dumps(body, ensure_ascii=False)
        text = f"{text} - {quoted}"
    return " ".join(text.split())


def clean_message(text: str, secrets: Sequence[str]) -> str:
    """Return the beginning of a message without secrets, since some servers repeat the key."""
    for secret in secrets:
        if len(secret) >= _SHORTEST_SECRET:
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
    text = whole_message(error)
    reason = clean_message(text, secrets)
    wait = 0.0
    status = getattr(error, "status_code", 0)
    if status >= 400:
        words = f"{text} {getattr(error, 'code', '')} {getattr(error, 'type', '')}"
        failure = _failure_of_status(status, words)
        verb = "refused" if status < 500 else "failed"
        message = f"{name} {verb} ({reason})."
        wait = retry_after(error.response.headers, text) if failure in _RETRYABLE else 0.0
    elif "Timeout" in raised:
        failure, message = "timeout", f"{name} did not answer within {timeout:g} s."
    elif status or raised == "APIError":  # an error event within a stream
        failure = _failure_of_words(text) or "overload"
        message = f"{name} failed in the middle of an answer ({reason})."
    elif "Connection" in raised or isinstance(error, network_errors()):
        failure = "connection"
        message = f"{name} cannot be reached ({clean_message(whole_message(error.__cause__ or error), secrets)})."
    else:
        failure, message = "reply", f"{name} gave no usable answer ({reason})."
    what_to_do = {**_ADVICE, **advice}[failure]
    meaning = kind(message, what_to_do, failure=failure, retryable=failure in _RETRYABLE, wait=wait)
    meaning.__cause__ = safe_cause(error, secrets)
    return meaning


def refusal(name: str, reason: str) -> ChatError:
    """Return the error for a model or content filter that declines to answer."""
    return ChatError(f"{name} declined to answer ({reason[:300]}).", _ADVICE["refusal"], failure="refusal")


def reported(name: str, problem: Any, secrets: Sequence[str]) -> ChatError:
    """Return the error that a response with the status 200 contains in place of an answer."""
    code = problem.get("code") if isinstance(problem, dict) else None
    text = problem if isinstance(problem, str) else json.dumps(problem, ensure_ascii=False)
    status = code if isinstance(code, int) and 400 <= code < 600 else 0
    failure = _failure_of_status(status, text) if status else _failure_of_words(text) or "overload"
    message = f"{name} failed ({clean_message(text, secrets)})."
    return ChatError(message, _ADVICE[failure], failure=failure, retryable=failure in _RETRYABLE)


def unusable(name: str, why: str) -> ChatError:
    """Return the error for a response in an unexpected format."""
    return ChatError(f"{name} gave no usable answer ({why}).", _ADVICE["reply"], failure="reply")


def _failure_of_status(status: int, reason: str) -> EndpointFailure:
    failure = _BY_STATUS.get(status, "overload" if status >= 500 else "request")
    words = _failure_of_words(reason)
    if words == "quota":  # some servers call a limit per minute a quota, but say when to try again
        return "rate limit" if status == 429 and _WAIT.search(reason) else "quota"
    if words in ("refusal", "too long") and status not in (401, 403, 429):
        return words
    return words if failure == "request" and words in ("key", "model") else failure


def _failure_of_words(reason: str) -> EndpointFailure | None:
    reason = reason.lower()
    if any(words in reason for words in _USED_UP):
        return "quota"
    if any(words in reason for words in _FILTER_SIGNS):
        return "refusal"
    if any(words in reason for words in TOO_MUCH):
        return "too long"
    signs: dict[EndpointFailure, re.Pattern[str]] = {
        "key": _KEY_SIGNS,
        "model": _MODEL_SIGNS,
        "rate limit": _RATE_SIGNS,
    }
    return next((failure for failure, words in signs.items() if words.search(reason)), None)


def network_errors() -> tuple[type[Exception], ...]:
    """Return the network errors of the HTTP library of both SDKs, which may occur while a stream is read."""
    http = require("httpx2", "openai")
    return (http.TransportError, http.StreamError, OSError)
