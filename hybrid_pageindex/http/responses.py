"""Models of JSON responses that have no class in the engine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from typing import Any, Literal, get_type_hints

import pydantic
from pydantic import BaseModel, ConfigDict, create_model

from hybrid_core.types.access import Role
from hybrid_core.types.conversations import Conversation
from hybrid_core.types.documents import Document
from hybrid_core.types.jobs import JobStatus
from hybrid_core.types.notes import Note
from hybrid_pageindex.engine.health_checks import Check

_HINTS = get_type_hints(Document)


def _described(field: Field[Any]) -> Any:
    if field.default is MISSING and field.default_factory is MISSING:
        return ...
    return pydantic.Field(None) if field.default is MISSING else field.default


ShownDocument = create_model(  # so that new fields of Document are included
    "ShownDocument",
    __doc__="A document as every answer shows it; ``unread`` counts its pages without readable text.",
    published=(bool, ...),
    unread=(int, ...),
    **{field.name: (_HINTS[field.name], _described(field)) for field in fields(Document)},  # type: ignore[call-overload]
)


class DocumentPart(BaseModel):
    """A batch of a list of documents. ``cursor`` requests the next batch; it is "" at the end of the list."""

    documents: list[ShownDocument]  # type: ignore[valid-type]
    total: int
    cursor: str


class RemovedDocuments(BaseModel):
    """The removed documents. ``bin`` is the id of their entry in the bin, "" if they were deleted for good."""

    removed: list[ShownDocument]  # type: ignore[valid-type]
    bin: str


class DeletedLibraries(BaseModel):
    """The deleted libraries. ``bin`` is the id of their entry in the bin, "" if they were deleted for good.

    ``conversations_kept`` counts the conversations about them, which stay.
    """

    deleted: list[str]
    conversations_kept: int
    bin: str


class Rows(BaseModel):
    """A table. Each row contains its values in the order of ``columns``."""

    columns: list[str]
    rows: list[list[Any]]


class ClearedHome(BaseModel):
    cleared: list[str]


class EmptiedBin(BaseModel):
    """The number of deleted entries of the bin."""

    deleted: int


class RebuildAsked(BaseModel):
    """The number of ``files`` that were queued to be indexed again."""

    notes: list[Note]
    files: int


class DocumentRebuildAsked(BaseModel):
    notes: list[Note]
    files: list[Mapping[str, Any]]


class FileProblem(BaseModel):
    path: str
    why: Note


class IndexingAsked(BaseModel):
    """The number of ``files`` queued for indexing, and the ``problems`` of files that cannot be indexed."""

    files: int
    problems: list[FileProblem]
    notes: list[Note]


class ChecksShown(BaseModel):
    """The results of the health checks. ``ok`` is true if all ``checks`` passed."""

    model_config = ConfigDict(extra="allow")
    ok: bool
    checks: list[Check]


class JobMade(BaseModel):
    job: int


class BoxesOfQuote(BaseModel):
    """The boxes of a quote on a page. A box is left, top, right and bottom in points, as a list or as an object."""

    boxes: list[Any]


class HealthState(BaseModel):
    status: Literal["ok", "ending"]
    version: str
    source: str


class Readiness(BaseModel):
    """The readiness of the server: ``missing`` maps parts that do not work to the reasons."""

    ready: bool
    missing: Mapping[str, str] = pydantic.Field(default_factory=dict)


class SessionState(BaseModel):
    """The caller's roles by library id; "*" stands for all libraries."""

    name: str
    grants: Mapping[str, Role]


class ShownJob(BaseModel):
    """A job. ``state`` is a sentence that says what the job does or waits for."""

    id: int
    library: str
    kind: str
    subject: str
    status: JobStatus
    stage: str
    state: Note
    done: int
    total: int
    attempts: int
    paused: bool
    stalled: bool
    cause: Note
    priority: int
    worker: str | None
    created_at: str | None
    started_at: str | None
    finished_at: str | None
    request_id: str = ""


class JobDetail(ShownJob):
    options: Mapping[str, Any]
    needs: list[str]
    result: Mapping[str, Any]
    events: list[Mapping[str, Any]]


class WorkerShown(BaseModel):
    id: str
    host: str
    pid: int
    kind: str


class JobQueue(BaseModel):
    """The queue of jobs. A caller without access to all libraries receives only the field ``jobs``."""

    jobs: list[ShownJob]
    counts: Mapping[str, int] = pydantic.Field(default_factory=dict)
    paused: list[str] = pydantic.Field(default_factory=list)
    workers: list[WorkerShown] = pydantic.Field(default_factory=list)


class Decided(BaseModel):
    """The outcome of a decision about jobs: the numbers of the affected jobs, and a sentence about the outcome."""

    jobs: list[int]
    said: Note


class ConversationPart(BaseModel):
    """A batch of the list of conversations. ``next`` is the value of ``before`` for the next batch, null at the
    end.
    """

    conversations: list[Conversation]
    next: str | None


class ConversationRead(BaseModel):
    id: str
    title: str
    messages: list[Mapping[str, Any]]


class CancelledMessage(BaseModel):
    cancelled: bool


class DeletedConversations(BaseModel):
    deleted: list[str]


class ModelTest(BaseModel):
    ok: bool
    configured: bool
    detail: Any = None
    error: Mapping[str, Any] | None = None


class SampleState(BaseModel):
    """The sample library. ``library`` is its name, "" if it does not exist. ``offered`` is true if it can be
    created.
    """

    library: str
    offered: bool
    questions: list[str]


class CompletionOfOpenAI(BaseModel):
    """A chat completion in OpenAI's form. ``sources`` are the pages on which the answer is based."""

    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[Mapping[str, Any]]
    usage: Mapping[str, Any]
    sources: list[Mapping[str, Any]] = pydantic.Field(default_factory=list)


class ModelOfOpenAI(BaseModel):
    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    name: str


class ModelsOfOpenAI(BaseModel):
    object: Literal["list"]
    data: list[ModelOfOpenAI]
