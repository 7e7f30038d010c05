"""Whether it works, what it does, and who is signed in."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from hybrid_core.errors import DiskFullError, ReadOnlyError
from hybrid_core.types.access import AuditEntry
from hybrid_pageindex import __version__
from hybrid_pageindex.doors.http.callers import Admin, Anybody, At, Reader, in_thread
from hybrid_pageindex.doors.http.errors import Refusal
from hybrid_pageindex.doors.http.models import Clearing, SignIn
from hybrid_pageindex.doors.http.replies import described, said
from hybrid_pageindex.doors.http.shapes import ChecksShown, ClearedHome, HealthState, Readiness, SessionState
from hybrid_pageindex.services.sizes import HomeSize
from hybrid_pageindex.services.spending import UsageReport
from hybrid_pageindex.services.tokens import SESSION_SECONDS

SOURCE = "https://github.com/hybrid-pageindex/hybrid-pageindex"
router = APIRouter(tags=["operations"])
_Day = Annotated[str, Query(max_length=10, json_schema_extra={"pattern": r"^(\d{4}-\d{2}-\d{2})?$"})]


@router.get("/health", response_model=HealthState)
async def health(server: At) -> Response:
    """Whether the process answers."""
    return said({"status": "ending" if server.ending.is_set() else "ok", "version": __version__, "source": SOURCE})


@router.get(
    "/ready", responses={503: {"description": "A part is missing, or the server ends."}}, response_model=Readiness
)
async def ready(server: At) -> Response:
    """Whether it can do what it is asked; where it cannot, ``missing`` names the parts."""
    missing = await server.missing()
    if server.ending.is_set():
        missing["server"] = "It ends."
    return said({"ready": False, "missing": missing} if missing else {"ready": True}, 503 if missing else 200)


@router.get("/health/checks", response_model=ChecksShown)
async def checks(server: At, _: Admin) -> Response:
    """Everything that a search and an index run need, tried."""
    found = await server.engine.doctor()
    return said(asdict(found) | {"ok": found.ok})


@router.get("/metrics", responses=described("text/plain", text=True), response_class=Response)
async def metrics(server: At, _: Reader) -> Response:
    """In the text format of Prometheus."""
    jobs = await server.engine.jobs(most=1)
    gauges = {f'jobs{{status="{name}"}}': float(getattr(jobs.counts, name)) for name in _COUNTED}
    gauges |= {"workers": len(jobs.workers), "searches_held": server.searches.held, "answers_held": server.answers.held}
    return Response(server.metrics.text(gauges), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.post("/clear", response_model=ClearedHome)
async def clear(request: Request, server: At, caller: Admin, body: Clearing) -> Response:
    """Delete every library with all that belongs to it, and every token, user and session. Original files stay, but for
    those that were uploaded. A browser that signed in with the start token stays signed in.
    """
    if body.confirm != "everything":
        raise Refusal(400, "not_confirmed", "This deletes everything.", 'Say {"confirm": "everything"}.')
    stays = caller.by_cookie and server.callers.owns(caller)
    session = request.cookies.get(server.cookie, "") if stays else ""
    cleared = await server.engine.clear(session=session)
    server.callers.forget()
    return said({"cleared": cleared})


_COUNTED = ("waiting", "running", "done", "failed", "cancelled")


@router.get("/audit", response_model=list[AuditEntry])
async def audit(
    server: At, _: Admin,
    before: Annotated[int, Query(ge=0, lt=2**53)] = 0, most: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:  # fmt: skip
    """What callers changed, the newest first; ``before`` a number."""
    entries = await in_thread(lambda: server.engine.audit.entries(before=before, most=most))
    return said([asdict(entry) for entry in entries])


@router.get("/disk", response_model=HomeSize)
async def disk(server: At, _: Reader) -> Response:
    """What the home takes on the disk."""
    return said(await server.engine.overview())


@router.get("/usage", response_model=UsageReport)
async def usage(server: At, _: Admin, since: _Day = "", until: _Day = "") -> Response:
    """What models took, by day, model, library and caller, of this month or of the days (YYYY-MM-DD) from ``since`` to
    ``until``; and what counts for the limits of this month.
    """
    return said(await server.engine.model_usage(since, until))


@router.get("/session", response_model=SessionState)
async def session(caller: Anybody) -> Response:
    """Who is signed in, and with which rights."""
    return said({"name": caller.name, "grants": dict(caller.grants)})


@router.post("/session", status_code=201, response_model=SessionState)
async def sign_in(request: Request, server: At, body: SignIn) -> Response:
    """Exchange a token for a cookie that scripts cannot read."""
    caller = await server.callers.by_secret(body.token.strip())
    if caller is None or caller.by_cookie:
        raise Refusal(401, "token_refused", "This token is not valid.", "Open the address that serve printed.")
    start = server.callers.start
    parent = start.parent if start.fits(body.token.strip()) else caller.id
    try:
        secret = await in_thread(lambda: server.engine.tokens.open_session(caller.name, caller.grants, parent))
    except (ReadOnlyError, DiskFullError):
        secret = server.callers.hold(body.token.strip())
    response = said({"name": caller.name, "grants": dict(caller.grants)}, 201)
    response.set_cookie(
        server.cookie, secret, max_age=int(SESSION_SECONDS), httponly=True, samesite="strict",
        secure=request.headers.get("origin", "").startswith("https:"),
    )  # fmt: skip
    return response


@router.delete("/session", status_code=204)
async def sign_out(request: Request, server: At, caller: Anybody) -> Response:
    """Forget the cookie, here and in the browser."""
    secret = request.cookies.get(server.cookie) if caller.by_cookie else None
    if secret and not server.callers.let_go(secret):
        await in_thread(lambda: server.engine.tokens.close_session(secret))
        server.callers.forget()
    response = Response(status_code=204)
    response.delete_cookie(server.cookie, httponly=True, samesite="strict")
    return response


@router.get("/openapi.json", include_in_schema=False)
async def openapi(request: Request, _: Anybody) -> Response:
    described: dict[str, Any] = request.app.openapi()
    return Response(json.dumps(described), media_type="application/json")
