"""Settings that may be changed, models tried, and what packs make of a question."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Query, Request
from starlette.responses import Response

from hybrid_core.errors import ModelError
from hybrid_pageindex.config.experts import PACKS
from hybrid_pageindex.doors.http.callers import Admin, Anybody, At
from hybrid_pageindex.doors.http.errors import Refusal, told
from hybrid_pageindex.doors.http.models import EXPERT_PATTERN, QUESTION, PortsAsked, checked_expert
from hybrid_pageindex.doors.http.replies import UNCHANGED, check_match, said, tagged
from hybrid_pageindex.doors.http.shapes import ModelTest
from hybrid_pageindex.services.local_models import LocalServer, find_local_servers
from hybrid_pageindex.services.pack_preview import PackPreview
from hybrid_pageindex.services.settings_change import SettingView

router = APIRouter(tags=["settings"])


@router.get("/settings", response_model=list[SettingView])
async def show_settings(request: Request, server: At, caller: Admin) -> Response:
    """Never secrets, but whether there are any."""
    return tagged(request, server.engine.setting_views(owner=server.callers.owns(caller)))


@router.patch("/settings", response_model=list[SettingView], responses=UNCHANGED)
async def change_settings(
    request: Request,
    server: At,
    caller: Admin,
    body: Annotated[dict[str, str | int | float | bool], Body(max_length=50)],
) -> Response:
    """From now on, and in the home's config.yaml. Those that decide how is searched, answered and read;
    for whoever signed in with the start token also which models are asked, where and with which key.
    With ``If-Match``, the ETag of the settings, only where they are still those.
    """
    owner = server.callers.owns(caller)
    check_match(request, server.engine.setting_views(owner=owner))
    return said(await server.engine.change_settings(body, owner=owner))


@router.post("/models/{kind}/test", response_model=ModelTest)
async def test_model(server: At, _: Admin, kind: Literal["llm", "vlm"]) -> Response:
    """One cheap call."""
    try:
        learnt = await server.turn(server.answers, server.engine.test_model(kind))
    except ModelError as error:
        return said({"ok": False, "configured": True, "error": told(error)})
    return said({"ok": bool(learnt), "configured": bool(learnt), "detail": learnt})


@router.post("/models/local", response_model=list[LocalServer])
async def find_local_models(server: At, caller: Admin, body: PortsAsked) -> Response:
    """Servers of models on the machine of this server, asked now at their usual ports: Ollama, LM Studio, llama.cpp.

    For whoever signed in with the start token, who alone decides which models are asked.
    """
    if not server.callers.owns(caller):
        raise Refusal(403, "not_allowed", "Only who started the server sets up models.", "Sign in with its token.")
    return said(await find_local_servers(body.ports))


@router.get("/packs", response_model=list[str])
async def list_packs(_: Anybody) -> Response:
    """Expert knowledge that comes along."""
    return said(list(PACKS))


@router.get("/packs/preview", response_model=PackPreview)
async def preview_packs(
    server: At, _: Anybody, question: Annotated[str, Query(min_length=1, max_length=QUESTION)],
    expert: Annotated[str | None, Query(max_length=500, json_schema_extra={"pattern": EXPERT_PATTERN})] = None,
) -> Response:  # fmt: skip
    """What they make of a question: words that are looked for too."""
    work: Any = server.engine.preview(question, expert=checked_expert(expert))
    return said(await server.turn(server.searches, work))
