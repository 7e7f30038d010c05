"""Conversations with their messages, citations and events; notes on documents and feedback on results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from hybrid_core.types.locators import Box
from hybrid_core.types.notes import NONE, Note

Role = Literal["user", "assistant"]
MessageStatus = Literal["complete", "running", "interrupted", "cancelled", "failed"]
"""The status of an answer. ``interrupted`` means that the process that wrote it ended, ``failed`` that there was an
error; both can be tried again. Questions are always ``complete``.
"""
TitleFrom = Literal["rule", "model", "user"]
QuestionFrom = Literal["as asked", "model", "keywords"]
"""The origin of the question that was searched: unchanged, rewritten by a model, or extended by words of the previous
question.
"""
CitationState = Literal["current", "changed", "gone"]
"""Whether the cited document is still the same, has changed, or was deleted."""

MessageEventKind = Literal["begun", "question", "step", "sources", "text", "title", "ended", "state"]
"""``begun``: the answer begins, or begins again and earlier text is void. ``question``: the question that is searched.
``step``: a step of a model that searches for pages. ``sources``: the numbered pages. ``text``: the next piece of the
answer. ``title``: the conversation has got a title. ``ended``: the complete message. ``state``: the message so far, in
place of events that were deleted.
"""


@dataclass(frozen=True, slots=True)
class ConversationScope:
    """The documents that a conversation searches.

    ``libraries`` are library ids, () for all. ``documents`` are document ids; if there are any, only these are
    searched.
    """

    libraries: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation of one user. ``leaf`` is the id of its last message, 0 if it is empty.

    Times are in milliseconds since 1970.
    """

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
    """A source of an answer in a conversation.

    ``cited`` is True if a sentence of the answer cites the source. ``quote`` is its best passage, and ``boxes`` are the
    positions of this passage on the page, None until they are requested. ``library`` is a library id. ``doc_title`` is
    the current title of the document, "" if it has none or was deleted.
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
    """The fields of an answer besides its text and its sources.

    ``outcome`` is the status of an ``Answer``, ``why`` the reason for it. ``unsupported`` pairs each claim or
    calculation that the sources do not support with its problem.
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
    """A question or an answer in a conversation.

    ``parent`` is the id of the message before it, 0 for none. Messages with the same parent are branches: ``siblings``
    are their ids in order, including this message. ``searched`` is the question that was sent to the search. ``cause``
    is the reason why an answer is not complete. ``last_event`` is the number of the newest event of an answer.
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
        """Return the message as JSON values. A question has fewer fields than an answer."""
        shape = asdict(self)
        if self.role == "user":
            names = ("id", "conversation", "parent", "role", "text", "status", "created_at", "siblings")
            return {name: shape[name] for name in names}
        return shape


@dataclass(frozen=True, slots=True)
class MessageEvent:
    """An event of an answer that is being written. ``number`` counts from 1 within one message."""

    message: int
    number: int
    kind: MessageEventKind
    detail: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TurnFence:
    """The worker, and the number of its attempt (``claim``), that may write an answer. Other writes are refused."""

    conversation: str
    message: int
    worker: str
    claim: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary of a conversation up to and including the message with the id ``message``.

    ``version`` names the version of the code or the model that wrote it.
    """

    message: int
    text: str
    version: str


@dataclass(frozen=True, slots=True)
class UserNote:
    """A user's note on a library, a document, or a page (``page`` 0: the whole document).

    A ``quote`` are words of the page that the note highlights. ``occurrence`` is the number of the occurrence, from 0,
    and ``content_id`` the version of the document in which it was counted. Times are in milliseconds since 1970.
    """

    id: str
    library: str
    author: str
    title: str
    text: str
    doc_id: str
    page: int
    created_at: int
    changed_at: int
    quote: str = ""
    occurrence: int = 0
    content_id: str = ""


@dataclass(frozen=True, slots=True)
class Feedback:
    """A user's judgement of a result page. ``right`` is True if the page answers the question.

    ``document`` is the path of its document. If it is "", no page of the library answers the question.
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
