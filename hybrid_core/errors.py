"""All errors of this project. Every error says what happened, to what, and what to do.

Each interface, such as HTTP or the command line, translates them in one place.
"""

from __future__ import annotations

from typing import Literal

from hybrid_core.types.notes import Note
from hybrid_core.types.usage import Usage


class Advice(str):
    """Advice for the user in words that fit every interface.

    ``command`` is the same advice with command-line options.
    """

    command: str

    def __new__(cls, text: str, command: str = "") -> Advice:
        advice = super().__new__(cls, text)
        advice.command = command or text
        return advice


class PageIndexError(Exception):
    """Base of every error this project raises on purpose.

    ``advice`` is one sentence that tells the user what to do. ``retryable`` says whether the same
    call may succeed later without any change.
    """

    retryable = False

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".strip()

    @property
    def problem(self) -> str:
        """Return the message without the file name at its beginning."""
        return self.message

    @property
    def without_file(self) -> Note:
        """Return the message and its advice, without the file name at the beginning."""
        return Note.joined((self.problem, self.advice), "list.sentences")

    @property
    def note(self) -> Note:
        """Return the message with its advice."""
        return Note.joined((self.message, self.advice), "list.sentences")

    @property
    def command_advice(self) -> str:
        """Return the advice for users of the command line."""
        return self.advice.command if isinstance(self.advice, Advice) else self.advice


class UsageError(PageIndexError):
    """The call itself is invalid: an empty question, a bad page list, an unknown setting."""


class ConflictError(UsageError):
    """The call conflicts with the present state: a name is in use, or a job is in another state."""


class NotConfiguredError(UsageError):
    """The call needs a model, and the settings name none."""


class DocumentError(PageIndexError):
    """A file cannot be indexed or read: it is missing, damaged, encrypted, empty or over a limit.

    ``reason`` is a code from which an interface may make its own message. The message begins with the ``file``.
    """

    reason = "unreadable"

    def __init__(self, message: str, advice: str = "", *, file: object = "") -> None:
        super().__init__(message, advice)
        self._problem = message
        self.name_file(file)

    @property
    def problem(self) -> str:
        return self._problem

    def name_file(self, file: object) -> None:
        """Set the file that the message is about."""
        self.file = str(file)
        self.message = f"{self.file}: {self._problem}" if self.file else self._problem

    def name_original(self, copy: object, file: object) -> None:
        """Replace the path of a copy by the original ``file`` in the message."""
        self._problem = self._problem.replace(str(copy), str(file))
        self.name_file(file if self.file == str(copy) else self.file)


class EmptyFileError(DocumentError):
    """The file is empty."""

    reason = "empty"


class BrokenFileError(DocumentError):
    """The file does not have the structure of its format: it is cut off or damaged."""

    reason = "broken"


class UnsupportedFileError(DocumentError):
    """No parser supports files of this kind."""

    reason = "unsupported"


class PasswordError(DocumentError):
    """The file is encrypted, and the engine cannot open it even with a password."""

    reason = "encrypted"


class LockedError(PasswordError):
    """The file can be opened with its password, which is missing or wrong."""

    reason = "locked"


class ChangedError(DocumentError):
    """The file changed while it was read."""

    retryable = True
    reason = "changed"


class LimitError(DocumentError):
    """The file exceeds a limit (time, memory, pages)."""

    reason = "limit"


class NotFoundError(PageIndexError):
    """A library, document, page or section does not exist."""


class StoreError(PageIndexError):
    """The home, the folder of all stored data, cannot be read or written."""


class DamageError(StoreError):
    """A stored record is invalid: the catalog is damaged."""


class DiskFullError(StoreError):
    """The call cannot write because the disk is full."""


class ReadOnlyError(StoreError):
    """The home, the folder of all stored data, is read-only, so the call is refused. Reading still works."""


class SchemaError(StoreError):
    """A newer version of this software wrote the store."""


class IndexDamagedError(StoreError):
    """The search index is damaged, and will be rebuilt from the catalog."""


class IndexMissingError(IndexDamagedError):
    """The search index does not exist. It can be built from the catalog while searches continue without it."""


class OtherHistoryError(IndexDamagedError):
    """A copy of this catalog writes to the same shared index, so this process does not use the index."""


class BusyError(StoreError):
    """Another process holds the resource that this call needs."""

    retryable = True


class TurnRunningError(BusyError):
    """The conversation is still answering another question."""


class LeaseLostError(StoreError):
    """The job now belongs to another worker, or has ended, so this worker may not write its results."""


class UnreachableError(StoreError):
    """A server that stores part of the data cannot be reached."""

    retryable = True


class BrokenReadError(UnreachableError):
    """The connection to the catalog's database was lost during a read, which may be repeated."""


class Cancelled(PageIndexError):
    """The caller cancelled the work."""


class ModelError(PageIndexError):
    """A model cannot be loaded or reached, or its output is unusable (too few vectors, numbers that are NaN)."""

    def __init__(self, message: str, advice: str = "", *, retryable: bool = False) -> None:
        super().__init__(message, advice)
        self.retryable = retryable


EndpointFailure = Literal[
    "key",  # refused credentials
    "model",  # no such model, or the wrong URL
    "quota",  # the account is used up: waiting does not help
    "rate limit",
    "overload",  # the server fails or has too much to do
    "timeout",  # no answer in time, or the deadline of the call passed
    "connection",
    "too long",  # the messages exceed what the model takes
    "refusal",  # the model or a filter declines to answer
    "request",  # the endpoint does not take this kind of request (images, say)
    "reply",  # the reply is empty, cut off or in another form
    "cassette",  # a replayed recording does not hold this request
]


class EndpointError(ModelError):
    """A remote model returned no answer. ``failure`` is the kind of failure, ``usage`` the usage of all attempts."""

    def __init__(
        self, message: str, advice: str = "", *, failure: EndpointFailure, retryable: bool = False, wait: float = 0.0
    ) -> None:
        super().__init__(message, advice, retryable=retryable)
        self.failure = failure
        self.wait = wait  # seconds the endpoint asks to wait, 0 where it does not
        self.usage = Usage()


class ChatError(EndpointError):
    """A chat model returned no answer."""


class ReplyError(ChatError):
    """A chat model returned no usable answer, even after a request to correct it. ``text`` is its last answer."""

    def __init__(self, message: str, advice: str = "", *, text: str = "") -> None:
        super().__init__(message, advice, failure="reply")
        self.text = text
