"""Routes of administration: health, metrics, sign-in, settings, models, packs and tokens."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi import Body as BodyParam
from fastapi import Path as PathParam
from pydantic import Field
from starlette.responses import Response

from hybrid_core.errors import DiskFullError, ModelError, ReadOnlyError
from hybrid_core.types.access import AuditEntry, Role, Token
from hybrid_pageindex import __version__
from hybrid_pageindex.config.changes import SettingView
from hybrid_pageindex.config.experts import PACKS, PackPreview
from hybrid_pageindex.engine.accounts import SESSION_SECONDS, NewToken, UsageReport
from hybrid_pageindex.engine.libraries.libraries import HomeSize
from hybrid_pageindex.engine.models.models import LocalServer, find_local_servers
from hybrid_pageindex.http.errors import Refusal, error_payload
from hybrid_pageindex.http.identity import COMMANDS
from hybrid_pageindex.http.metrics import disk_figures, part_figures, process_figures, quote_label
from hybrid_pageindex.http.models import (
    EXPERT_PATTERN,
    QUESTION,
    Body,
    Clearing,
    Name,
    Names,
    PortsAsked,
    SignIn,
    checked_expert,
)
from hybrid_pageindex.http.replies import (
    CHANGED_RESPONSES,
    check_match,
    content_responses,
    json_response,
    tagged_response,
)
from hybrid_pageindex.http.responses import (
    ChecksShown,
    ClearedHome,
    HealthState,
    ModelTest,
    Readiness,
    SessionState,
)
from hybrid_pageindex.http.server import Admin, AnyCaller, Reader, ServerState

SOURCE_ADDRESS = "https://github.com/hybrid-pageindex/hybrid-pageindex"
router = APIRouter(tags=["operations"])
_Day = Annotated[str, Query(max_length=10, json_schema_extra={"anyOf": [{"format": "date"}, {"const": ""}]})]
_COUNTED_STATES = ("waiting", "running", "done", "failed", "cancelled")
settings_router = APIRouter(tags=["settings"])
tokens_router = APIRouter(prefix="/tokens", tags=["tokens"])


@router.get("/health", response_model=HealthState)
async def health(server: ServerState) -> Response:
    """Return 200 as long as the process runs."""
    return json_response(
        {"status": "ending" if server.ending.is_set() else "ok", "version": __version__, "source": SOURCE_ADDRESS}
    )


@router.get(
    "/ready", responses={503: {"description": "A part is missing, or the server ends."}}, response_model=Readiness
)
async def ready(server: ServerState) -> Response:
    """Return whether the server can work. If it cannot, ``missing`` names the parts that do not work."""
    missing = await server.missing()
    if server.ending.is_set():
        missing["server"] = "It ends."
    return json_response({"ready": False, "missing": missing} if missing else {"ready": True}, 503 if missing else 200)


@router.get("/health/checks", response_model=ChecksShown)
async def checks(server: ServerState, _: Admin) -> Response:
    """Check everything that searching and indexing need."""
    health = await server.engine.admin.doctor()
    return json_response(asdict(health) | {"ok": health.ok})


@router.get("/metrics", responses=content_responses("text/plain", text=True), response_class=Response)
async def metrics(server: ServerState, _: Reader) -> Response:
    """Return metrics in the text format of Prometheus."""
    jobs = await server.engine.jobs.list(limit=1)
    figures = {f'jobs{{status="{name}"}}': float(getattr(jobs.counts, name)) for name in _COUNTED_STATES}
    figures |= {"workers": len(jobs.workers), "searches_held": server.searches.held}
    figures |= {"answers_held": server.answers.held, f'build_info{{version="{quote_label(__version__)}"}}': 1.0}
    figures |= dict(part_figures(await server.missing()))
    figures |= process_figures() | await asyncio.to_thread(disk_figures, server.engine.home)
    return Response(server.metrics.text(figures), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.post("/clear", response_model=ClearedHome)
async def clear(request: Request, server: ServerState, caller: Admin, body: Clearing) -> Response:
    """Delete all libraries with all their data, and all tokens, users and sessions. Only the users' own original files
    stay, not uploaded copies. A browser stays signed in if it used the token that the server was started with.
    """
    if body.confirm != "everything":
        raise Refusal(
            400,
            "not_confirmed",
            "This request deletes everything in the home.",
            'Send {"confirm": "everything"} to confirm.',
        )
    stays = caller.by_cookie and server.callers.owns(caller)
    session = request.cookies.get(server.cookie, "") if stays else ""
    cleared = await server.engine.libraries.clear(session=session)
    server.callers.forget()
    return json_response({"cleared": cleared})


@router.get("/audit", response_model=list[AuditEntry])
async def audit(
    server: ServerState, _: Admin,
    before: Annotated[int, Query(ge=0, lt=2**53)] = 0, limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:  # fmt: skip
    """List the changes that callers made, the newest first. ``before`` is the number of an entry; only older entries
    are returned.
    """
    entries = await asyncio.to_thread(lambda: server.engine.admin.audit.entries(before=before, limit=limit))
    return json_response([asdict(entry) for entry in entries])


@router.get("/disk", response_model=HomeSize)
async def disk(server: ServerState, _: Reader) -> Response:
    """Return the disk usage of the home."""
    return json_response(await server.engine.libraries.overview())


@router.get("/usage", response_model=UsageReport)
async def usage(server: ServerState, _: Admin, since: _Day = "", until: _Day = "") -> Response:
    """Return the calls, tokens and costs of models by day, model, library and caller, and the totals of this month with
    their limits.

    ``since`` and ``until`` are days (YYYY-MM-DD); the default is this month.
    """
    return json_response(await server.engine.models.usage(since, until))


@router.get("/session", response_model=SessionState)
async def session(caller: AnyCaller) -> Response:
    """Return the signed-in caller with its access rights."""
    return json_response({"name": caller.name, "grants": dict(caller.grants)})


@router.post("/session", status_code=201, response_model=SessionState)
async def sign_in(request: Request, server: ServerState, body: SignIn) -> Response:
    """Exchange a token for a cookie that scripts cannot read."""
    caller = await server.callers.by_secret(body.token.strip())
    if caller is None or caller.by_cookie or caller is COMMANDS:
        raise Refusal(
            401, "token_refused", "This token is not valid.", "Open the address that the command 'serve' printed."
        )
    start = server.callers.start
    parent = start.parent if start.fits(body.token.strip()) else caller.id
    try:
        secret = await asyncio.to_thread(lambda: server.engine.tokens.open_session(caller.name, caller.grants, parent))
    except (ReadOnlyError, DiskFullError):
        secret = server.callers.hold(body.token.strip())
    response = json_response({"name": caller.name, "grants": dict(caller.grants)}, 201)
    response.set_cookie(
        server.cookie, secret, max_age=int(SESSION_SECONDS), httponly=True, samesite="strict",
        secure=request.headers.get("origin", "").startswith("https:"),
    )  # fmt: skip
    return response


@router.delete("/session", status_code=204)
async def sign_out(request: Request, server: ServerState, caller: AnyCaller) -> Response:
    """End the session, and delete the cookie in the browser."""
    secret = request.cookies.get(server.cookie) if caller.by_cookie else None
    if secret and not server.callers.let_go(secret):
        await asyncio.to_thread(lambda: server.engine.tokens.close_session(secret))
        server.callers.forget()
    response = Response(status_code=204)
    response.delete_cookie(server.cookie, httponly=True, samesite="strict")
    return response


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request, _: AnyCaller) -> Response:
    described: dict[str, Any] = request.app.openapi()
    return Response(json.dumps(described), media_type="application/json")


@settings_router.get("/settings", response_model=list[SettingView])
async def show_settings(request: Request, server: ServerState, caller: Admin) -> Response:
    """Return the settings. Of a secret, only return whether it is set."""
    return tagged_response(request, server.engine.admin.setting_views(owner=server.callers.owns(caller)))


@settings_router.patch("/settings", response_model=list[SettingView], responses=CHANGED_RESPONSES)
async def change_settings(
    request: Request,
    server: ServerState,
    caller: Admin,
    body: Annotated[dict[str, str | int | float | bool], BodyParam(max_length=50)],
) -> Response:
    """Change settings of the running server and in the home's config.yaml. Models, their addresses and keys may only be
    changed by callers who signed in with the token that the server was started with. With ``If-Match``, the ETag of the
    settings, the request fails if another caller has changed them meanwhile.
    """
    owner = server.callers.owns(caller)
    check_match(request, server.engine.admin.setting_views(owner=owner))
    return json_response(await server.engine.admin.change_settings(body, owner=owner))


@settings_router.post("/models/{kind}/test", response_model=ModelTest)
async def test_model(server: ServerState, _: Admin, kind: Literal["llm", "vlm"]) -> Response:
    """Test a model with one cheap call."""
    try:
        learnt = await server.run_within(server.answers, server.engine.models.test(kind))
    except ModelError as error:
        return json_response({"ok": False, "configured": True, "error": error_payload(error)})
    return json_response({"ok": bool(learnt), "configured": bool(learnt), "detail": learnt})


@settings_router.post("/models/local", response_model=list[LocalServer])
async def find_local_models(server: ServerState, caller: Admin, body: PortsAsked) -> Response:
    """Look for model servers on the usual ports of this machine: Ollama, LM Studio, llama.cpp. Only callers who signed
    in with the token that the server was started with may do so.
    """
    if not server.callers.owns(caller):
        raise Refusal(
            403,
            "not_allowed",
            "Only the person who started the server may set up models.",
            "Sign in with the token that the server was started with.",
        )
    return json_response(await find_local_servers(body.ports))


@settings_router.get("/packs", response_model=list[str])
async def list_packs(_: AnyCaller) -> Response:
    """List the shipped packs of expert knowledge (words and phrases of a field)."""
    return json_response(list(PACKS))


@settings_router.get("/packs/preview", response_model=PackPreview)
async def preview_packs(
    server: ServerState, _: AnyCaller, question: Annotated[str, Query(min_length=1, max_length=QUESTION)],
    expert: Annotated[str | None, Query(max_length=500, json_schema_extra={"pattern": EXPERT_PATTERN})] = None,
) -> Response:  # fmt: skip
    """Return the words that packs of expert knowledge would add to a question."""
    work: Any = server.engine.preview(question, expert=checked_expert(expert))
    return json_response(await server.run_within(server.searches, work))


class TokenWanted(Body):
    """A request for a new token. ``libraries`` are names of libraries; NAME=ROLE sets another role for one of them.
    Without names the token is valid for all libraries.
    """

    name: Name
    role: Role = "read"
    libraries: Names = Field(default_factory=list)
    days: Annotated[float, Field(ge=0, le=36_500)] = 0
    user: bool = False


@tokens_router.get("", response_model=list[Token])
async def list_tokens(server: ServerState, _: Admin) -> Response:
    """List tokens without their secrets."""
    return json_response([asdict(token) for token in await asyncio.to_thread(server.engine.tokens.all)])


@tokens_router.post("", status_code=201, response_model=NewToken)
async def create_token(server: ServerState, _: Admin, body: TokenWanted) -> Response:
    """Create a token. Only this response contains its secret."""
    tokens = server.engine.tokens
    return json_response(
        await asyncio.to_thread(
            lambda: tokens.create(body.name, body.role, body.libraries, days=body.days, user=body.user)
        ),
        201,
    )  # fmt: skip


@tokens_router.delete("/{name}", response_model=Token)
async def revoke_token(server: ServerState, _: Admin, name: Annotated[str, PathParam(max_length=200)]) -> Response:
    """Revoke a token by name or id. Browsers that signed in with it are signed out."""
    revoked = await asyncio.to_thread(lambda: server.engine.tokens.revoke(name))
    server.callers.forget()
    return json_response(revoked)
