"""For programs that chat with OpenAI-compatible endpoints: each library is a model."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable

from fastapi import APIRouter, Request
from starlette.responses import Response

from hybrid_core.types.libraries import Library
from hybrid_core.types.usage import Usage
from hybrid_pageindex.doors.http.callers import At, find_openai_library, visible
from hybrid_pageindex.doors.http.completions import (
    DONE,
    CompletionBody,
    Marks,
    Reply,
    Sources,
    asked,
    errand,
    marked,
)
from hybrid_pageindex.doors.http.events import SENT, Event, as_it_works, stream
from hybrid_pageindex.doors.http.replies import said
from hybrid_pageindex.doors.http.shapes import CompletionOfOpenAI, ModelOfOpenAI, ModelsOfOpenAI
from hybrid_pageindex.services.conversations.turn import Turn

router = APIRouter(tags=["openai"])


@router.get("/models", response_model=ModelsOfOpenAI)
async def list_models(request: Request) -> Response:
    """The libraries that the caller may read."""
    return said({"object": "list", "data": [_model(one) for one in await visible(request)]})


@router.get("/models/{model:path}", response_model=ModelOfOpenAI)
async def show_model(request: Request, model: str) -> Response:
    return said(_model(await _library(request, model)))


@router.post("/chat/completions", responses=SENT, response_model=CompletionOfOpenAI)
async def complete_chat(request: Request, server: At, body: CompletionBody) -> Response:
    """A turn over what the program sends along: its messages are the conversation, and nothing of it is kept."""
    library = await _library(request, body.model)
    reply = Reply(library.name)
    if (done := errand(body)) is not None:
        return (
            stream(server, _short(reply, body, done), resumed=False)
            if body.stream
            else said(reply.whole(done, Usage()))
        )
    wanted, base = asked(body), str(request.base_url).rstrip("/")
    stopped = threading.Event()

    async def turn(tell: Callable[[str], None]) -> tuple[Turn, Sources]:
        work = server.engine.conversations.reply(
            wanted.question, wanted.said, libraries=[library.name], on_text=tell, stopped=stopped
        )
        made = await server.turn(server.answers, work)
        cited = [one for one in made.citations if one.cited]
        return made, Sources(cited, {library.id: library.name}, base)

    if not body.stream:
        made, sources = await turn(lambda _: None)
        text = marked(made.text) + sources.listed
        whole = reply.whole(text, made.answer.usage, annotations=sources.annotations(text), sources=sources.shapes())
        return said(whole)

    async def work(tell: Callable[[Event], None]) -> Event:
        tell(reply.piece(role="assistant", content=""))
        marks = Marks(lambda text: tell(reply.piece(content=text)))
        made, sources = await turn(marks)
        marks.end()
        if sources.listed:
            tell(reply.piece(content=sources.listed))
        told = sources.annotations(marked(made.text))
        tell(reply.piece("stop", sources.shapes(), **({"annotations": told} if told else {})))
        if body.stream_options and body.stream_options.include_usage:
            tell(reply.spent(made.answer.usage))
        return DONE

    return stream(server, _unless_left(as_it_works(work), stopped), resumed=False)


async def _library(request: Request, name: str) -> Library:
    """Raises Refusal in OpenAI's words for a model that is unknown or may not be read."""
    detail = f"The model '{name[:200]}' does not exist, or you do not have access to it."
    return await find_openai_library(request, name, "model_not_found", detail, ("model", "body"))


async def _unless_left(source: AsyncIterator[Event], stopped: threading.Event) -> AsyncIterator[Event]:
    """Nobody could read an answer that is not kept: where the client goes away, the model is asked no further."""
    try:
        async for event in source:
            yield event
    finally:
        stopped.set()


async def _short(reply: Reply, body: CompletionBody, text: str) -> AsyncIterator[Event]:
    yield reply.piece(role="assistant", content=text)
    yield reply.piece("stop")
    if body.stream_options and body.stream_options.include_usage:
        yield reply.spent(Usage())
    yield DONE


def _model(library: Library) -> dict[str, object]:
    shape: dict[str, object] = {"id": library.name, "object": "model", "created": 0, "owned_by": "hybrid-pageindex"}
    return shape | {"name": library.alias or library.name}
