"""Conversations with their messages, citations and events; notes on documents and feedback on results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from hybrid_core.types.locators import Box
from hybrid_core.types.notes import NONE, Note

Role = Literal["user", "assistant"]
MessageStatus = Literal["complete", "running", "interrupted", "cancelled", "failed"]
"""Of an answer: ``interrupted`` where the process that made it ended, ``failed`` for an error; both can be tried
again. Questions are complete.
"""
TitleFrom = Literal["rule", "model", "user"]
QuestionFrom = Literal["as asked", "model", "keywords"]
"""How the question that was searched for was made: as it was asked, by a model, or with the last question's words."""
CitationState = Literal["current", "changed", "gone"]
"""Whether the document is still what was cited: another version of it is there now, or none."""

MessageEventKind = Literal["begun", "question", "step", "sources", "text", "title", "ended", "state"]
"""``begun``: a turn begins, also once more, so that earlier text counts no more. ``question``: what is searched for.
``step``: of a model that looks for the pages. ``sources``: the numbered pages. ``text``: the next piece of the answer.
``title``: the conversation has one now. ``ended``: the message as it is kept. ``state``: the message as it is so far,
in place of events that were folded away.
"""


@dataclass(frozen=True, slots=True)
class ConversationScope:
    """The scope of searches: library ids, () for all. With ``documents``, only these ids of them are searched."""

    libraries: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """``leaf`` is the message that it ends with now, 0 where it has none. Times are in ms since 1970."""

    id: str
    owner: str
    title: str
    title_from: TitleFrom
    scope: ConversationScope
    leaf: int
    created_at: int
    updated_at: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Citation:
    """A source of an answer. ``cited``: a sentence of the answer rests on it. ``quote`` is its best passage; ``boxes``
    are where that stands on the page, None where nobody has asked yet. ``library`` is its id. ``doc_title`` is the
    document's title as it is now, "" where there is none or the document is gone.
    """

    number: int
    library: str
    doc_id: str
    doc_name: str
    content_id: str
    sha256: str
    page: int
    label: str
    section_path: tuple[str, ...]
    quote: str
    cited: bool
    boxes: tuple[Box, ...] | None = None
    state: CitationState = "current"
    doc_title: str = ""


@dataclass(frozen=True, slots=True)
class TurnResult:
    """An answer's fields besides its text and sources: ``outcome`` and ``why`` as in ``Answer``, with the claims and
    calculations that the texts of the sources do not bear out, and the problems of these.
    """

    outcome: str = ""
    why: Note = NONE
    evidence: str = ""
    effort: str = ""
    model: str = ""
    unsupported: tuple[tuple[str, Note], ...] = ()
    notes: tuple[Note, ...] = ()
    usage: Mapping[str, Any] = field(default_factory=dict)
    timings_ms: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConversationMessage:
    """``parent`` is the message before it, 0 for none; messages with the same one are branches, and ``siblings`` are
    their ids in order, its own among them. ``searched`` is the question that was searched for, ``cause`` why an answer
    did not get done. ``last_event`` is the number of the newest event of an answer.
    """

    id: int
    conversation: str
    parent: int
    role: Role
    text: str
    status: MessageStatus
    created_at: int
    finished_at: int = 0
    searched: str = ""
    searched_from: QuestionFrom = "as asked"
    cause: str = ""
    result: TurnResult = TurnResult()
    citations: tuple[Citation, ...] = ()
    siblings: tuple[int, ...] = ()
    last_event: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form; a question has only its own fields."""
        shape = asdict(self)
        if self.role == "user":
            names = ("id", "conversation", "parent", "role", "text", "status", "created_at", "siblings")
            return {name: shape[name] for name in names}
        return shape


@dataclass(frozen=True, slots=True)
class MessageEvent:
    """``number`` counts from 1 within one message."""

    message: int
    number: int
    kind: MessageEventKind
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TurnFence:
    """The worker and the attempt that may write an answer: writes of any other are refused."""

    conversation: str
    message: int
    worker: str
    claim: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of everything up to and including a message; ``version`` names its author's version."""

    message: int
    text: str
    version: str


@dataclass(frozen=True, slots=True)
class UserNote:
    """About a library, one of its documents, or a page of it (``page`` 0: the document). Times are ms since 1970."""

    id: str
    library: str
    author: str
    title: str
    text: str
    doc_id: str
    page: int
    created_at: int
    changed_at: int


@dataclass(frozen=True, slots=True)
class Feedback:
    """A user's verdict on a result page: it answers the question or does not.

    Without a ``document`` (its path) nothing in the library answers.
    """

    id: str
    library: str
    author: str
    question: str
    answer: str
    document: str
    page: int
    right: bool
    at: int
