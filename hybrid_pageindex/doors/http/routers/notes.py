"""What people keep beside documents: notes, and which pages answered, exported as a question set."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from pydantic import Field
from starlette.responses import Response

from hybrid_core.types.notes import Feedback, Note
from hybrid_pageindex.doors.http.callers import Anybody, At, Read, Written, in_thread
from hybrid_pageindex.doors.http.models import QUESTION, Body, Text
from hybrid_pageindex.doors.http.replies import described, said, tagged

router = APIRouter(prefix="/libraries/{library}", tags=["notes"])
Id = Annotated[str, Path(max_length=40)]


class NoteText(Body):
    title: Annotated[Text, Field(max_length=1000)] = ""
    text: Annotated[Text, Field(max_length=200_000)]


class NewNote(NoteText):
    """About the library, one of its documents, or a page of it."""

    document: Annotated[Text, Field(max_length=2000)] = ""
    page: Annotated[int, Field(ge=0, le=10**6)] = 0


class NewFeedback(Body):
    """Whether a page answers a question; without a document: that nothing in the library does."""

    question: Annotated[Text, Field(min_length=1, max_length=QUESTION)]
    document: Annotated[Text, Field(max_length=2000)] = ""
    page: Annotated[int, Field(ge=0, le=10**6)] = 0
    right: bool = True
    answer: Annotated[Text, Field(max_length=20_000)] = ""


@router.get("/notes", response_model=list[Note])
async def list_notes(
    request: Request, server: At, library: Read, document: Annotated[str, Query(max_length=2000)] = ""
) -> Response:
    """The last changed first."""
    doc_id = (await server.engine.info(document, library=library.name)).doc_id if document else ""
    return tagged(request, await in_thread(lambda: server.engine.notes.all(library.id, doc_id)))


@router.post("/notes", status_code=201, response_model=Note)
async def add_note(server: At, library: Written, caller: Anybody, body: NewNote) -> Response:
    doc_id = (await server.engine.info(body.document, library=library.name)).doc_id if body.document else ""
    notes, page = server.engine.notes, body.page if doc_id else 0
    return said(await in_thread(lambda: notes.add(library.id, caller.name, body.title, body.text, doc_id, page)), 201)


@router.put("/notes/{note}", response_model=Note)
async def change_note(server: At, library: Written, note: Id, body: NoteText) -> Response:
    return said(await in_thread(lambda: server.engine.notes.change(library.id, note, body.title, body.text)))


@router.delete("/notes/{note}", status_code=204)
async def remove_note(server: At, library: Written, note: Id) -> Response:
    await in_thread(lambda: server.engine.notes.remove(library.id, note))
    return Response(status_code=204)


@router.get("/feedback", response_model=list[Feedback])
async def list_feedback(request: Request, server: At, library: Read) -> Response:
    return tagged(request, await in_thread(lambda: server.engine.feedback.all(library.id)))


@router.post("/feedback", status_code=201, response_model=Feedback)
async def give_feedback(server: At, library: Written, caller: Anybody, body: NewFeedback) -> Response:
    path = (await server.engine.info(body.document, library=library.name)).path if body.document else ""
    store = server.engine.feedback
    made = await in_thread(
        lambda: store.add(
            library.id, caller.name, body.question, path, body.page, right=body.right, answer=body.answer
        )
    )  # fmt: skip
    return said(made, 201)


@router.delete("/feedback/{one}", status_code=204)
async def remove_feedback(server: At, library: Written, one: Id) -> Response:
    await in_thread(lambda: server.engine.feedback.remove(library.id, one))
    return Response(status_code=204)


@router.get("/feedback.jsonl", responses=described("application/jsonl", text=True), response_class=Response)
async def export_feedback(server: At, library: Read) -> Response:
    """As a question set for ``hybrid-pageindex eval run custom``: a question a line, with the pages that answer it."""
    given: Sequence[Feedback] = await in_thread(lambda: server.engine.feedback.all(library.id))
    text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in _questions(given))
    named = {"Content-Disposition": 'attachment; filename="questions.jsonl"'}
    return Response(text.encode("utf-8", "replace"), headers=named, media_type="application/jsonl")


def _questions(given: Sequence[Feedback]) -> list[dict[str, Any]]:
    asked: dict[str, dict[str, Any]] = {}
    for one in given:
        if one.document and not one.right:  # it says only where the answer is not
            continue
        entry = asked.setdefault(one.question, {"question": one.question, "evidence": []})
        if one.answer:
            entry["answer"] = one.answer
        if one.document:
            place = {"doc": PurePosixPath(one.document).name} | ({"page": one.page} if one.page else {})
            if place not in entry["evidence"]:
                entry["evidence"].append(place)
    return list(asked.values())
