"""Questions: the pages that answer them, and answers with sources; also as they are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from hybrid_core.types.access import EVERYWHERE
from hybrid_core.types.answers import Answer
from hybrid_core.types.libraries import Library
from hybrid_core.types.results import ReasoningStep, SearchResult
from hybrid_pageindex.doors.http.callers import At, caller_of, find_library, visible
from hybrid_pageindex.doors.http.errors import Refusal
from hybrid_pageindex.doors.http.events import SENT, Event, as_it_works, stream, wants_events
from hybrid_pageindex.doors.http.models import AskBody, CompareBody, GrepBody, SearchBody, search_fields
from hybrid_pageindex.doors.http.replies import said
from hybrid_pageindex.doors.http.server import Server
from hybrid_pageindex.services.comparing import Comparison
from hybrid_pageindex.services.grep import GrepResult

router = APIRouter(tags=["search"])


async def searched(request: Request, server: Server, body: SearchBody | GrepBody) -> dict[str, Any]:
    """A body's fields, with the libraries that the caller may read in place of those it named."""
    given = search_fields(body, ("pattern",))
    if caller_of(request).may("read", EVERYWHERE) and not wants_events(request):
        return given  # the search says which libraries there are: of a stream, too late
    if given.pop("all_libraries", False) and not given.get("libraries"):
        seen = await visible(request)
        if not seen:
            raise Refusal(403, "not_allowed", "There is no library that you may read.", "Use another token.")
        return given | {"libraries": [one.name for one in seen]}
    named: list[str] = given.get("libraries") or [server.engine.settings.library]
    found: list[Library] = [await find_library(request, name, "read") for name in dict.fromkeys(named)]
    return given | {"libraries": [one.name for one in found]}


@router.post("/search", response_model=SearchResult, responses=SENT)
async def search(request: Request, server: At, body: SearchBody) -> Response:
    """The pages that answer, best first. With ``Accept: text/event-stream`` the steps of a model come as they are
    taken, and the result last.
    """
    question, fields = body.question, await searched(request, server, body)

    async def work(tell: Callable[[Event], None] | None) -> SearchResult:
        on_step = None if tell is None else lambda step: tell(_step(step))
        asked = server.engine.request(question, **fields)
        turns = server.searches if asked.effort == "fast" or not server.engine.settings.llm_model else server.answers
        return await server.turn(turns, server.engine.search(asked, on_step=on_step))

    if not wants_events(request):
        return said(await work(None))

    async def told(tell: Callable[[Event], None]) -> Event:
        return Event("result", (await work(tell)).to_dict())

    return stream(server, as_it_works(told))


@router.post("/grep", response_model=GrepResult)
async def grep(request: Request, server: At, body: GrepBody) -> Response:
    """Every page that holds the pattern, counted; a part of them, or of their documents, listed."""
    fields = await searched(request, server, body)
    named = fields.pop("libraries", None) or None
    work = server.engine.grep(body.pattern, **fields | {"library": named, "seconds": body.seconds})
    return said(await server.turn(server.searches, work))


@router.post("/compare", response_model=Comparison)
async def compare(request: Request, server: At, body: CompareBody) -> Response:
    """What was added, removed, moved and changed from one document to another, section by section."""
    usual = server.engine.settings.library
    left, right = [await find_library(request, one.library or usual, "read") for one in (body.left, body.right)]
    work = server.engine.compare(
        body.left.document, body.right.document, library=left.name, right_library=right.name,
        left_node=body.left.node, right_node=body.right.node, most=body.most, each=body.each, cursor=body.cursor,
    )  # fmt: skip
    return said(await server.turn(server.answers, work))


@router.post("/ask", response_model=Answer, responses=SENT)
async def ask(request: Request, server: At, body: AskBody) -> Response:
    """An answer with its sources. With ``Accept: text/event-stream`` its words come as the model says them, and all of
    it last.
    """
    fields, question = await searched(request, server, body), body.question
    more = {"force": fields.pop("force", False), "vision": fields.pop("vision", None)}

    async def work(tell: Callable[[Event], None]) -> Event:
        answered = await server.turn(
            server.answers,
            server.engine.ask(
                question, **more, **fields, on_step=lambda step: tell(_step(step)),
                on_text=lambda piece: tell(Event("text", piece)),
            ),
        )  # fmt: skip
        return Event("answer", answered.to_dict())

    if wants_events(request):
        return stream(server, as_it_works(work))
    return said((await work(lambda _: None)).data)


def _step(step: ReasoningStep) -> Event:
    return Event("step", asdict(step))
