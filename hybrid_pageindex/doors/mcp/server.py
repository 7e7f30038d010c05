"""The MCP server: tools, resources and prompts over one engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from logging import INFO
from typing import cast

import mcp_types
from fastmcp import FastMCP
from fastmcp.exceptions import PromptError, ToolError, ValidationError
from fastmcp.prompts import PromptResult
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import Tool, ToolResult
from pydantic import ValidationError as PydanticValidationError

from hybrid_core.llm.metering import charged
from hybrid_pageindex import __version__
from hybrid_pageindex.doors.mcp import finding, jobs, keeping, light, prompts, resources, talking, tasks
from hybrid_pageindex.doors.mcp.access import Access
from hybrid_pageindex.doors.mcp.asking import asking
from hybrid_pageindex.doors.mcp.budget import BUDGET
from hybrid_pageindex.doors.mcp.builds import Builds
from hybrid_pageindex.doors.mcp.door import Door
from hybrid_pageindex.doors.mcp.limits import LimitedEngine
from hybrid_pageindex.doors.mcp.progress import Heartbeat
from hybrid_pageindex.engine import Engine

INSTRUCTIONS = """\
Finds the right pages of long documents in two stages. 1. search(question) names the best pages of the whole library \
and says how strong the evidence is. 2. read the pages that fit before you answer, and cite document and page. \
If evidence is weak, outline(document, question) scores the section tree: open folded nodes with node, then read \
best_pages. To count or to list all pages with exact words, grep; what changed between two documents, compare. \
Every answer's next lists the calls worth making; a cursor continues the same call. \
For one file by path: get_index(file_path, query), then get_detail(file_path, page)."""
_AT_ONCE = 16  # tool calls that work at the same time; more wait for their turn
_WRITING = frozenset({"build_index", "add_documents", "remove_documents", "name_library"})
_PATIENT = ("get_index", "build_index", "add_documents")  # mostly wait for builds, which must keep nobody from reading


def build_server(engine: Engine, access: Access, budget: int = BUDGET, *, limited: bool = False) -> FastMCP:
    """``budget`` is the tokens that one answer may take. ``limited``: each call stays within the libraries that its
    caller may read, and ``access`` must be read-only.
    """
    builds = Builds(engine)
    turn = asyncio.Semaphore(_AT_ONCE)
    seen = cast(Engine, LimitedEngine(engine)) if limited else engine
    door = Door(seen, access, builds, budget, turn)

    @asynccontextmanager
    async def lifespan(_: FastMCP) -> AsyncIterator[None]:
        work = None if access.read_only else asyncio.create_task(builds.work())
        try:
            yield
        finally:
            await builds.close()
            if work is not None:
                work.cancel()
                await asyncio.gather(work, return_exceptions=True)

    server: FastMCP = FastMCP(
        "hybrid-pageindex",
        INSTRUCTIONS,
        version=__version__,
        lifespan=lifespan,
        middleware=[Heartbeat(), _Calls(turn), _Listed(read_only=access.read_only)],
        mask_error_details=True,  # of errors that are not ours
    )
    for part in (finding, talking, light, keeping, jobs, resources, prompts):
        part.register(server, door)
    tasks.add(server, builds)
    return server


class _Calls(Middleware):
    """Around calls: a limit on how many tools work at once, and arguments that do not fit are named."""

    def __init__(self, turn: asyncio.Semaphore) -> None:
        self._turn = turn

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        if context.message.arguments:  # some clients send null for what is not given
            given = {name: value for name, value in context.message.arguments.items() if value is not None}
            context = context.copy(message=context.message.model_copy(update={"arguments": given}))
        async with nullcontext() if context.message.name in _PATIENT else self._turn:
            try:
                with charged(who=asking().name):
                    return await call_next(context)
            except ValidationError as error:
                raise ToolError(_complaint(error)) from error

    async def on_get_prompt(
        self,
        context: MiddlewareContext[mcp_types.GetPromptRequestParams],
        call_next: CallNext[mcp_types.GetPromptRequestParams, PromptResult],
    ) -> PromptResult:
        prompt = context.fastmcp_context and await context.fastmcp_context.fastmcp.get_prompt(context.message.name)
        given = context.message.arguments or {}
        wanted = [argument.name for argument in (prompt and prompt.arguments) or () if argument.required]
        if missing := [name for name in wanted if name not in given]:
            raise PromptError(f"{', '.join(missing)}: missing.", log_level=INFO)
        return await call_next(context)


class _Listed(Middleware):
    """The list of tools: without those that a read-only server refuses, and without metadata of the framework."""

    def __init__(self, *, read_only: bool) -> None:
        self._hidden = _WRITING if read_only else frozenset()

    async def on_list_tools(
        self,
        context: MiddlewareContext[mcp_types.ListToolsRequest],
        call_next: CallNext[mcp_types.ListToolsRequest, Sequence[Tool]],
    ) -> Sequence[Tool]:
        listed = [tool for tool in await call_next(context) if tool.name not in self._hidden]
        for tool in listed:
            tool.__dict__["get_meta"] = _no_metadata  # its tags, always none, would cost ten tokens a tool
        return listed


def _no_metadata() -> None:
    return None


def _complaint(error: ValidationError) -> str:
    """What is wrong with which argument, without what was given."""
    if not isinstance(error.__cause__, PydanticValidationError):
        return str(error)
    details = error.__cause__.errors(include_url=False, include_context=False, include_input=False)
    said = " ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}." for each in details)
    return said.replace("a valid tuple", "a valid list")  # as the schema calls it
