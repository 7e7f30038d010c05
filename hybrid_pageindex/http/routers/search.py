"""Routes for searches and answers, and for users' notes and feedback."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import PurePosixPath
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi import Path as PathParam
from pydantic import Field
from starlette.responses import Response

from hybrid_core.errors import UsageError
from hybrid_core.store.notes import Highlight
from hybrid_core.types.access import EVERYWHERE
from hybrid_core.types.answers import Answer
from hybrid_core.types.conversations import Feedback, UserNote
from hybrid_core.types.exhaustive import GrepRequest
from hybrid_core.types.libraries import Library
from hybrid_core.types.results import ReasoningStep, SearchResult
from hybrid_pageindex.engine.documents.comparison import Comparison
from hybrid_pageindex.engine.search.grep import GrepResult
from hybrid_pageindex.http.errors import Refusal
from hybrid_pageindex.http.models import (
    AskBody,
    Body,
    CompareBody,
    GrepBody,
    Question,
    SearchBody,
    Text,
    compare_body_request,
    search_fields,
)
from hybrid_pageindex.http.replies import (
    EVENT_RESPONSES,
    Event,
    content_responses,
    events_of_work,
    json_response,
    stream_events,
    tagged_response,
    wants_events,
)
from hybrid_pageindex.http.server import (
    AnyCaller,
    ReadableLibrary,
    Server,
    ServerState,
    WritableLibrary,
    caller_of,
    find_library,
    readable_libraries,
)

router = APIRouter(tags=["search"])
notes_router = APIRouter(prefix="/libraries/{library}", tags=["notes"])
NoteId = Annotated[str, PathParam(max_length=40)]


async def _scoped_fields(request: Request, server: Server, body: SearchBody | GrepBody) -> dict[str, Any]:
    """Return the fields of a request body, with ``libraries`` limited to those that the caller may read."""
    options = search_fields(body)
    if caller_of(request).may("read", EVERYWHERE) and not wants_events(request):
        return options  # the search itself checks the libraries; for a stream this would be too late
    if options.pop("all_libraries", False) and not options.get("libraries"):
        seen = await readable_libraries(request)
        if not seen:
            raise Refusal(403, "not_allowed", "You may not read any library.", "Use a token that may read a library.")
        return options | {"libraries": [library.name for library in seen]}
    named: list[str] = options.get("libraries") or [server.engine.settings.library]
    libraries: list[Library] = [await find_library(request, name, "read") for name in dict.fromkeys(named)]
    return options | {"libraries": [library.name for library in libraries]}


@router.post("/search", response_model=SearchResult, responses=EVENT_RESPONSES)
async def search(request: Request, server: ServerState, body: SearchBody) -> Response:
    """Return the pages that answer a question, best first. With ``Accept: text/event-stream`` the steps of a model are
    sent as they happen, and the result last.
    """
    question, fields = body.question, await _scoped_fields(request, server, body)

    async def work(tell: Callable[[Event], None] | None) -> SearchResult:
        on_step = None if tell is None else lambda step: tell(_step_event(step))
        search_request = server.engine.request(question, **fields)
        slots = (
            server.searches
            if search_request.effort == "fast" or not server.engine.settings.llm_model
            else server.answers
        )
        return await server.run_within(slots, server.engine.search(search_request, on_step=on_step))

    if not wants_events(request):
        return json_response(await work(None))

    async def result(tell: Callable[[Event], None]) -> Event:
        return Event("result", (await work(tell)).to_dict())

    return stream_events(server, events_of_work(result))


@router.post("/grep", response_model=GrepResult)
async def grep(request: Request, server: ServerState, body: GrepBody) -> Response:
    """Count all pages that contain a pattern. List some of these pages, or the documents with counts."""
    fields = await _scoped_fields(request, server, body)
    grep_request = GrepRequest(**fields | {"seconds": body.seconds})
    return json_response(await server.run_within(server.searches, server.engine.grep(grep_request)))


@router.post("/compare", response_model=Comparison)
async def compare(request: Request, server: ServerState, body: CompareBody) -> Response:
    """Compare two documents or sections: which sections were added, removed, moved and changed, and how."""
    usual = server.engine.settings.library
    left, right = [await find_library(request, side.library or usual, "read") for side in (body.left, body.right)]
    work = server.engine.compare(compare_body_request(body, left.name, right.name))
    return json_response(await server.run_within(server.answers, work))


@router.post("/ask", response_model=Answer, responses=EVENT_RESPONSES)
async def ask(request: Request, server: ServerState, body: AskBody) -> Response:
    """Answer a question with sources. With ``Accept: text/event-stream`` the text is sent as the model writes it, and
    the complete answer last.
    """
    fields, question = await _scoped_fields(request, server, body), body.question
    more = {"force": fields.pop("force", False), "vision": fields.pop("vision", None)}

    async def work(tell: Callable[[Event], None]) -> Event:
        answered = await server.run_within(
            server.answers,
            server.engine.ask(
                question, **more, **fields, on_step=lambda step: tell(_step_event(step)),
                on_text=lambda piece: tell(Event("text", piece)),
            ),
        )  # fmt: skip
        return Event("answer", answered.to_dict())

    if wants_events(request):
        return stream_events(server, events_of_work(work))
    return json_response((await work(lambda _: None)).data)


def _step_event(step: ReasoningStep) -> Event:
    return Event("step", asdict(step))


class NoteText(Body):
    title: Annotated[Text, Field(max_length=1000)] = ""
    text: Annotated[Text, Field(max_length=200_000)]


class NewNote(NoteText):
    """A note on a library, on one of its documents, or on a page of a document.

    With a ``quote`` it highlights these words on the page; ``occurrence`` (from 0) chooses one of several places with
    these words. ``content_id`` is that of the document whose page was shown, by default the present one.
    """

    document: Annotated[Text, Field(max_length=2000)] = ""
    page: Annotated[int, Field(ge=0, le=10**6)] = 0
    quote: Annotated[Text, Field(max_length=5000)] = ""
    occurrence: Annotated[int, Field(ge=0, le=10**6)] = 0
    content_id: Annotated[Text, Field(max_length=100)] = ""


class NewFeedback(Body):
    """A judgement whether a page answers a question. Without a document it says that no page of the library
    answers it.
    """

    question: Annotated[Question, Field(pattern=r"\S")]
    document: Annotated[Text, Field(max_length=2000)] = ""
    page: Annotated[int, Field(ge=0, le=10**6)] = 0
    right: bool = True
    answer: Annotated[Text, Field(max_length=20_000)] = ""


@notes_router.get("/notes", response_model=list[UserNote])
async def list_notes(
    request: Request,
    server: ServerState,
    library: ReadableLibrary,
    document: Annotated[str, Query(max_length=2000)] = "",
) -> Response:
    """List notes, the most recently changed first."""
    doc_id = (await server.engine.documents.get(document, library=library.name)).doc_id if document else ""
    return tagged_response(request, await asyncio.to_thread(lambda: server.engine.notes.all(library.id, doc_id)))


@notes_router.post("/notes", status_code=201, response_model=UserNote)
async def add_note(server: ServerState, library: WritableLibrary, caller: AnyCaller, body: NewNote) -> Response:
    doc_id, highlight, notes = "", Highlight(), server.engine.notes
    if body.quote and not (body.document and body.page):
        raise UsageError(
            "The request quotes words, but does not name the page that contains them.",
            "Name the document and the page of the highlighted words.",
        )
    if body.document:
        info = await server.engine.documents.get(body.document, library=library.name)
        doc_id = info.doc_id
        if body.quote:
            highlight = Highlight(body.quote, body.occurrence, body.content_id or info.content_id)
    page, texts = body.page if doc_id else 0, (body.title, body.text)
    note = await asyncio.to_thread(lambda: notes.add(library.id, caller.name, *texts, doc_id, page, highlight))
    return json_response(note, 201)


@notes_router.put("/notes/{note}", response_model=UserNote)
async def change_note(server: ServerState, library: WritableLibrary, note: NoteId, body: NoteText) -> Response:
    return json_response(
        await asyncio.to_thread(lambda: server.engine.notes.change(library.id, note, body.title, body.text))
    )


@notes_router.delete("/notes/{note}", status_code=204)
async def remove_note(server: ServerState, library: WritableLibrary, note: NoteId) -> Response:
    await asyncio.to_thread(lambda: server.engine.notes.remove(library.id, note))
    return Response(status_code=204)


@notes_router.get("/feedback", response_model=list[Feedback])
async def list_feedback(request: Request, server: ServerState, library: ReadableLibrary) -> Response:
    return tagged_response(request, await asyncio.to_thread(lambda: server.engine.feedback.all(library.id)))


@notes_router.post("/feedback", status_code=201, response_model=Feedback)
async def give_feedback(
    server: ServerState, library: WritableLibrary, caller: AnyCaller, body: NewFeedback
) -> Response:
    path = (await server.engine.documents.get(body.document, library=library.name)).path if body.document else ""
    store = server.engine.feedback
    feedback = await asyncio.to_thread(
        lambda: store.add(
            library.id, caller.name, body.question, path, body.page, right=body.right, answer=body.answer
        )
    )  # fmt: skip
    return json_response(feedback, 201)


@notes_router.delete("/feedback/{one}", status_code=204)
async def remove_feedback(server: ServerState, library: WritableLibrary, one: NoteId) -> Response:
    await asyncio.to_thread(lambda: server.engine.feedback.remove(library.id, one))
    return Response(status_code=204)


@notes_router.get(
    "/feedback.jsonl", responses=content_responses("application/jsonl", text=True), response_class=Response
)
async def export_feedback(server: ServerState, library: ReadableLibrary) -> Response:
    """Export ratings as a question set for ``hybrid-pageindex eval run custom``: one question per line, with the pages
    that answer it.
    """
    feedback: Sequence[Feedback] = await asyncio.to_thread(lambda: server.engine.feedback.all(library.id))
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in _question_rows(feedback))
    named = {"Content-Disposition": 'attachment; filename="questions.jsonl"'}
    return Response(text.encode("utf-8", "replace"), headers=named, media_type="application/jsonl")


def _question_rows(feedback: Sequence[Feedback]) -> list[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for judgement in feedback:
        if judgement.document and not judgement.right:  # a wrong page alone does not tell where the answer is
            continue
        entry = rows.setdefault(judgement.question, {"question": judgement.question, "evidence": []})
        if judgement.answer:
            entry["answer"] = judgement.answer
        if judgement.document:
            place = {"doc": PurePosixPath(judgement.document).name} | (
                {"page": judgement.page} if judgement.page else {}
            )
            if place not in entry["evidence"]:
                entry["evidence"].append(place)
    return list(rows.values())
