"""Set up the logs of a process from its settings."""

from __future__ import annotations

from dataclasses import fields
from urllib.parse import unquote, urlsplit

from hybrid_core.logs import JsonFormatter, LogFormatter, PlainFormatter, TextFormatter, set_up
from hybrid_pageindex.config.settings import Settings


def start_logs(settings: Settings, *, serves: bool) -> None:
    """Write logs to stderr in the format of the settings.

    ``serves`` tells whether the command runs until it is stopped, like a server or worker. Text logs of other commands
    have neither time nor level.
    """
    kinds: dict[str, type[LogFormatter]] = {"json": JsonFormatter, "text": TextFormatter if serves else PlainFormatter}
    formatter = kinds[settings.log_format](secret_words(settings), questions=settings.log_questions)
    set_up(formatter, settings.log_level)


def secret_words(settings: Settings) -> list[str]:
    """Return the values of all secret settings, and the passwords inside their addresses."""
    secrets = [value for field in fields(settings) if not field.repr and (value := str(getattr(settings, field.name)))]
    passwords = [password for secret in secrets if (password := _password(secret))]
    return [*secrets, *passwords, *map(unquote, passwords)]


def _password(address: str) -> str:
    try:
        return urlsplit(address).password or ""
    except ValueError:  # not an address
        return ""
