"""Logs: values that say what a log line is about, and the formats of log lines.

``about`` sets the request, job, library and document of all lines that the same task or thread logs. The values follow
into coroutines and into threads that run in a copied context.
"""

from __future__ import annotations

import json
import logging
import logging.handlers
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import TracebackType
from typing import IO, Any, Literal

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

_ROOMS = ("hybrid_core", "indexers", "retrievers", "hybrid_pageindex", "eval")
_FIELDS = (  # of the context and of ``extra``, in the order in which a line has them
    "request_id", "job", "library", "document", "kind", "stage", "method", "route", "status", "seconds", "caller",
    "tool", "question",
)  # fmt: skip
_LEAST_SECRET = 6  # characters; a shorter secret would be found in ordinary words
_LEAST_QUESTION = 4
_QUESTIONS = 32  # latest questions of one task that are hidden
_HIDDEN = "***"
_HANDLER = "pageindex"


@dataclass(frozen=True, slots=True)
class _Context:
    """Values of all log lines of a task, and the questions to hide. Nested contexts share the list ``questions``."""

    values: Mapping[str, str | int] = field(default_factory=dict)
    questions: list[str] = field(default_factory=list)


_context: ContextVar[_Context | None] = ContextVar("pageindex_log", default=None)


@contextmanager
def about(**values: str | int) -> Iterator[None]:
    """Add values, such as the id of a job, to all lines that are logged within this context. Skip empty values."""
    token = _context.set(_context_with(values))
    try:
        yield
    finally:
        _context.reset(token)


def begin_about(**values: str | int) -> None:
    """Add values, such as the id of a job, to all further log lines of the current task."""
    _context.set(_context_with(values))


def _context_with(values: Mapping[str, str | int]) -> _Context:
    outer = _context.get() or _Context()
    return _Context({**outer.values, **{name: value for name, value in values.items() if value != ""}}, outer.questions)


def current_request() -> str:
    """Return the id of the request that is being answered, "" if there is none."""
    context = _context.get()
    return str(context.values.get("request_id", "")) if context else ""


def hide_question(text: str) -> None:
    """Replace a question by *** in the log lines of the current task, unless the formatter shows questions.

    It is also hidden in lines of an enclosing ``about``, so that an error logged there does not show it.
    """
    context = _context.get()
    if context is None:
        _context.set(context := _Context())
    if len(text) >= _LEAST_QUESTION and text not in context.questions:
        context.questions.append(text)
        del context.questions[:-_QUESTIONS]


class LogFormatter(logging.Formatter):
    """A formatter that hides secrets, and questions unless ``questions`` is set."""

    def __init__(self, secrets: Sequence[str] = (), *, questions: bool = False) -> None:
        super().__init__()
        long = {secret for secret in secrets if len(secret) >= _LEAST_SECRET}
        self._secrets, self._questions = sorted(long, key=len, reverse=True), questions

    def values(self, record: logging.LogRecord) -> dict[str, Any]:
        """Return the values that say what a record is about, from its context and its ``extra``."""
        context = _context.get()
        values = {**(context.values if context else {}), **record.__dict__}
        names = (name for name in _FIELDS if name != "question" or self._questions)
        return {name: self.hide(values[name]) for name in names if name in values}

    def hide(self, value: Any) -> Any:
        """Return a value without secrets and questions."""
        if not isinstance(value, str):
            return value
        for secret in self._secrets:
            value = value.replace(secret, _HIDDEN)
        context = _context.get()
        if context is not None and not self._questions:
            for question in context.questions:
                value = value.replace(question, _HIDDEN)
        return value

    def time(self, record: logging.LogRecord) -> str:
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        return f"{seconds}.{int(record.msecs):03d}Z"

    def exception(self, record: logging.LogRecord) -> dict[str, str]:
        """Return the type, message and traceback of a record's exception, {} if it has none."""
        kind, error, _ = record.exc_info or (None, None, None)
        if kind is None and not record.exc_text:
            return {}
        traceback = record.exc_text or self.formatException(record.exc_info)  # type: ignore[arg-type]
        named = {"type": kind.__qualname__, "message": str(error)} if kind else {}
        return {name: self.hide(text) for name, text in (named | {"traceback": traceback}).items()}


class JsonFormatter(LogFormatter):
    """Format a record as a line of JSON: time, level, logger, message, the values of its context, and the exception."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": self.time(record), "level": record.levelname.lower(), "logger": record.name,
            "message": self.hide(record.getMessage()), **self.values(record),
        }  # fmt: skip
        if exception := self.exception(record):
            line["exception"] = exception
        return json.dumps(line, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace").decode()


class TextFormatter(LogFormatter):
    """Format a record as a line of text: time, level, logger, message, and values; a traceback follows below."""

    def format(self, record: logging.LogRecord) -> str:
        values = " ".join(f"{name}={value}" for name, value in self.values(record).items())
        head = f"{self.time(record)} {record.levelname} {record.name}: {self.hide(record.getMessage())}"
        traceback = self.exception(record).get("traceback", "")
        return "\n".join(filter(None, (f"{head} [{values}]" if values else head, traceback)))


class PlainFormatter(LogFormatter):
    """Format a record as its message and a traceback, without time and level, for commands that a person runs."""

    def format(self, record: logging.LogRecord) -> str:
        traceback = self.exception(record).get("traceback", "")
        return "\n".join(filter(None, (self.hide(record.getMessage()), traceback)))


class _Stderr(logging.StreamHandler[IO[str]]):
    """A handler that writes to the current ``sys.stderr``, even if that was replaced after the setup."""

    def __init__(self, formatter: logging.Formatter) -> None:
        logging.Handler.__init__(self)
        self.set_name(_HANDLER)
        self.setFormatter(formatter)

    @property
    def stream(self) -> IO[str]:  # type: ignore[override]
        return sys.stderr


class Forwarder(logging.handlers.QueueHandler):
    """A handler that passes records to ``send``, so that another process can log them with ``log_here``."""

    def __init__(self, send: Callable[[logging.LogRecord], None]) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self._send = send

    def enqueue(self, record: logging.LogRecord) -> None:
        self._send(record)


def log_here(record: logging.LogRecord) -> None:
    """Log a record of another process, as if the calling thread had logged it."""
    logger = logging.getLogger(record.name)
    if logger.isEnabledFor(record.levelno):
        logger.handle(record)


def set_up(formatter: LogFormatter, level: LogLevel) -> None:
    """Write the logs of this process to stderr. Replace an earlier setup.

    ``level`` is the level of this project's loggers. Other packages log only warnings and errors, since their debug
    messages may contain prompts and headers.
    """
    root = logging.getLogger()
    root.handlers = [handler for handler in root.handlers if handler.get_name() != _HANDLER]
    root.addHandler(_Stderr(formatter))
    for room in _ROOMS:
        logging.getLogger(room).setLevel(level.upper())
    as_lines = isinstance(formatter, JsonFormatter)
    logging.captureWarnings(as_lines)
    sys.excepthook = _log_uncaught if as_lines else sys.__excepthook__
    threading.excepthook = _log_thread_uncaught if as_lines else threading.__excepthook__


def written_as_json() -> bool:
    """Return whether the logs on stderr are JSON lines. If so, no other text should be written there."""
    return any(isinstance(handler.formatter, JsonFormatter) for handler in logging.getLogger().handlers)


def _log_uncaught(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    logging.getLogger(__name__).critical("The process ends because of an error.", exc_info=(kind, error, traceback))


def _log_thread_uncaught(uncaught: threading.ExceptHookArgs) -> None:
    if uncaught.exc_value is not None and not isinstance(uncaught.exc_value, SystemExit):
        name = uncaught.thread.name if uncaught.thread else "?"
        error = (uncaught.exc_type, uncaught.exc_value, uncaught.exc_traceback)
        logging.getLogger(__name__).error("The thread %s ended because of an error.", name, exc_info=error)
