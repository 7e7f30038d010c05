"""What the clients of remote models share: addresses without secrets, waits, errors in one clean line."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from hybrid_core.errors import UsageError

TOO_MUCH = (
    "context length, context_length, input length, maximum length, too long, too large, too many tokens, token limit, "
    "max_tokens_per_request, batch size"
).split(", ")  # how servers say that a request or a text in it is too long


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and how patiently a call is tried again. Waits are in seconds and double, with jitter."""

    tries: int = 5
    first_wait: float = 0.5
    longest_wait: float = 30.0  # between two tries, where the server asks for nothing else
    longest_asked: float = 120.0  # a server that asks for more (Retry-After) is not waited for


def public_url(url: str, example: str, server: str) -> tuple[str, tuple[str | None, ...]]:
    """A URL as it may be shown and stored, and the secrets that it held. Raises UsageError where it is none."""
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(f"The base URL of the {server} is not a URL.", f"It looks like {example}.")
    host = parts.netloc.rpartition("@")[2]
    secrets = (parts.password, *(value for _, value in parse_qsl(parts.query)))
    return f"{parts.scheme}://{host}{parts.path.rstrip('/')}", secrets


def asked_wait(headers: Any) -> float:
    """Seconds of a Retry-After header (a number or a date), 0 where there is none to be understood."""
    said = headers.get("retry-after", "")
    try:
        seconds = float(said)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(said).timestamp() - time.time()
        except (TypeError, ValueError):
            return 0.0
    return max(seconds, 0.0) if math.isfinite(seconds) else 0.0


def clean(error: BaseException, secrets: Sequence[str]) -> str:
    """What an error says in one line, without secrets (servers do echo keys)."""
    said = " ".join(str(error).split())
    for secret in secrets:
        said = said.replace(secret, "***")
    return said[:300] or "no reason was given"


def safe_cause(error: BaseException, secrets: Sequence[str]) -> BaseException | None:
    """The error as the cause of another, None where it would show a secret."""
    return None if any(secret in str(error) for secret in secrets) else error
