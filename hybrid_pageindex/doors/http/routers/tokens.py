"""Tokens: made, listed, revoked. For admins."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path
from pydantic import Field
from starlette.responses import Response

from hybrid_core.types.access import Role, Token
from hybrid_pageindex.doors.http.callers import Admin, At, in_thread
from hybrid_pageindex.doors.http.models import Body, Name, Names
from hybrid_pageindex.doors.http.replies import said
from hybrid_pageindex.services.tokens import NewToken

router = APIRouter(prefix="/tokens", tags=["tokens"])


class TokenWanted(Body):
    """``libraries`` are names, each with another role as NAME=ROLE; none: all."""

    name: Name
    role: Role = "read"
    libraries: Names = Field(default_factory=list)
    days: Annotated[float, Field(ge=0, le=36_500)] = 0
    user: bool = False


@router.get("", response_model=list[Token])
async def list_tokens(server: At, _: Admin) -> Response:
    """Never their secrets."""
    return said([asdict(one) for one in await in_thread(server.engine.tokens.all)])


@router.post("", status_code=201, response_model=NewToken)
async def create_token(server: At, _: Admin, body: TokenWanted) -> Response:
    """Its secret is in this answer, and never again."""
    tokens = server.engine.tokens
    return said(
        await in_thread(
            lambda: tokens.create(body.name, body.role, body.libraries, days=body.days, user=body.user)
        ),
        201,
    )  # fmt: skip


@router.delete("/{name}", response_model=Token)
async def revoke_token(server: At, _: Admin, name: Annotated[str, Path(max_length=200)]) -> Response:
    """By name or id; browsers that were signed in with it are signed out."""
    revoked = await in_thread(lambda: server.engine.tokens.revoke(name))
    server.callers.forget()
    return said(revoked)
