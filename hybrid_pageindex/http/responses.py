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
    """Part of a list. ``cursor`` asks for the next part and is "" at the end."""

    documents: list[ShownDocument]  # type: ignore[valid-type]
    total: int
    cursor: str


class RemovedDocuments(BaseModel):
    """``bin`` is the id of their entry, by which they can be restored; "" where they were deleted for good."""

    removed: list[ShownDocument]  # type: ignore[valid-type]
    bin: str


class DeletedLibraries(BaseModel):
    """``conversations_kept`` counts those that were about the library; ``bin`` is the id of its entry, or ""."""

    deleted: list[str]
    conversations_kept: int
    bin: str


class Rows(BaseModel):
    """Every row has its values in the order of ``columns``."""

    columns: list[str]
    rows: list[list[Any]]


class ClearedHome(BaseModel):
    cleared: list[str]


class EmptiedBin(BaseModel):
    """``deleted`` counts the entries."""

    deleted: int


class RebuildAsked(BaseModel):
    """``files`` counts them."""

    notes: list[Note]
    files: int


class DocumentRebuildAsked(BaseModel):
    notes: list[Note]
    files: list[Mapping[str, Any]]


class FileProblem(BaseModel):
    path: str
    why: Note


class IndexingAsked(BaseModel):
    """``files`` counts those that are asked for; ``problems`` are files that cannot be."""

    files: int
    problems: list[FileProblem]
    notes: list[Note]


class ChecksShown(BaseModel):
    """``ok``: each of ``checks`` is."""

    model_config = ConfigDict(extra="allow")
    ok: bool
    checks: list[Check]


class JobMade(BaseModel):
    job: int


class BoxesOfQuote(BaseModel):
    """Each box is left, top, right and bottom in points, or has them as an object."""

    boxes: list[Any]


class HealthState(BaseModel):
    status: Literal["ok", "ending"]
    version: str
    source: str


class Readiness(BaseModel):
    """``missing`` names parts that do not work, with why."""

    ready: bool
    missing: Mapping[str, str] = pydantic.Field(default_factory=dict)


class SessionState(BaseModel):
    """Roles by the ids of libraries; "*" stands for all."""

    name: str
    grants: Mapping[str, Role]


class ShownJob(BaseModel):
    """``state`` says in words what a job does or waits for."""

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
    """Without a right to all libraries, ``jobs`` alone."""

    jobs: list[ShownJob]
    counts: Mapping[str, int] = pydantic.Field(default_factory=dict)
    paused: list[str] = pydantic.Field(default_factory=list)
    workers: list[WorkerShown] = pydantic.Field(default_factory=list)


class Decided(BaseModel):
    """Numbers of the jobs that the decision concerned, and what it means for them in words."""

    jobs: list[int]
    said: Note


class ConversationPart(BaseModel):
    """``next`` is ``before`` of the part that follows, null at the end."""

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
    """``library`` is the sample's name, "" where it is not there; ``offered``: it can be made."""

    library: str
    offered: bool
    questions: list[str]


class CompletionOfOpenAI(BaseModel):
    """Completion in OpenAI's form. ``sources`` are the pages that the answer rests on."""

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
