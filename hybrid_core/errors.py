"""The error family. Every error says what happened, to what, and what to do; doors map it once."""

from __future__ import annotations

from typing import Literal

from hybrid_core.types.usage import Usage


class Advice(str):
    """Advice for the user in words that fit every interface; ``command`` says it with the options of the command
    line.
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
    def command_advice(self) -> str:
        """The advice as the command line gives it."""
        return self.advice.command if isinstance(self.advice, Advice) else self.advice


class UsageError(PageIndexError):
    """The call itself is wrong: an empty question, a bad page list, an unknown setting."""


class ConflictError(UsageError):
    """The call does not fit what is there: a name in use, a job in another state."""


class NotConfiguredError(UsageError):
    """The call needs a model that no setting names."""


class DocumentError(PageIndexError):
    """A file cannot be indexed or read (missing, damaged, encrypted, empty, over a limit).

    ``reason`` is a code by which an interface says it in words of its own.
    """

    reason = "unreadable"


class EmptyFileError(DocumentError):
    """The file holds no byte."""

    reason = "empty"


class BrokenFileError(DocumentError):
    """The file is not what its format wants: it was cut off or damaged."""

    reason = "broken"


class UnsupportedFileError(DocumentError):
    """No parser reads files of this kind."""

    reason = "unsupported"


class PasswordError(DocumentError):
    """The file is encrypted, and no password opens it here."""

    reason = "encrypted"


class LockedError(PasswordError):
    """The file can be opened with its password, which is missing or wrong."""

    reason = "locked"


class ChangedError(DocumentError):
    """The file did not hold still while it was read."""

    retryable = True
    reason = "changed"


class LimitError(DocumentError):
    """The file was stopped by a limit (time, memory, pages)."""

    reason = "limit"


class NotFoundError(PageIndexError):
    """A library, document, page or section that does not exist."""


class StoreError(PageIndexError):
    """The home cannot be read or written."""


class DamageError(StoreError):
    """A stored record cannot be what was written: the catalog is damaged."""


class DiskFullError(StoreError):
    """The disk has no room for the writes of a call until somebody frees some."""


class ReadOnlyError(StoreError):
    """The home cannot be written, so the call is refused. Reads go on."""


class SchemaError(StoreError):
    """The store was written by a newer version of this software."""


class IndexDamagedError(StoreError):
    """The derived vector index cannot be trusted; it is rebuilt from the catalog."""


class IndexMissingError(IndexDamagedError):
    """There is no such index; it can be filled from the catalog while searches go on without it."""


class OtherHistoryError(IndexDamagedError):
    """A shared index holds another history of the catalog: it is left to whoever writes it."""


class BusyError(StoreError):
    """Somebody else holds what this call needs."""

    retryable = True


class TurnRunningError(BusyError):
    """A conversation answers another question just now."""


class LeaseLostError(StoreError):
    """A job was given to another worker, or has ended: what this one made of it is not written."""


class UnreachableError(StoreError):
    """A server that holds part of the store does not answer now."""

    retryable = True


class BrokenReadError(UnreachableError):
    """The connection to the catalog's database was lost in the middle of a read, which may be begun again."""


class Cancelled(PageIndexError):
    """The caller asked for the work to stop."""


class ModelError(PageIndexError):
    """A model cannot be loaded or reached, or what it answered is unusable (a wrong count, NaN)."""

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
    "reply",  # what came is empty, cut off or of another shape
    "cassette",  # a replayed recording does not hold this request
]


class EndpointError(ModelError):
    """A remote model gave no answer. ``failure`` says how, ``usage`` what was spent on trying."""

    def __init__(
        self, message: str, advice: str = "", *, failure: EndpointFailure, retryable: bool = False, wait: float = 0.0
    ) -> None:
        super().__init__(message, advice, retryable=retryable)
        self.failure = failure
        self.wait = wait  # seconds the endpoint asks to wait, 0 where it does not
        self.usage = Usage()


class ChatError(EndpointError):
    """A chat model gave no answer."""


class ReplyError(ChatError):
    """A chat model answered, but with nothing usable, also after it was told so. ``text`` is its last answer."""

    def __init__(self, message: str, advice: str = "", *, text: str = "") -> None:
        super().__init__(message, advice, failure="reply")
        self.text = text
