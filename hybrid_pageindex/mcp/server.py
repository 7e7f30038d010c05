"""The MCP server: tools, resources and prompts over one engine."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from typing import Any, TypeVar, cast

import mcp_types
from fastmcp import FastMCP
from fastmcp.exceptions import DisabledError, NotFoundError, ResourceError, ToolError, ValidationError
from fastmcp.prompts import Prompt, PromptResult
from fastmcp.resources import ResourceResult, ResourceTemplate
from fastmcp.server.dependencies import get_http_request
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools.base import Tool, ToolResult
from fastmcp.utilities.components import FastMCPComponent
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError as PydanticValidationError

from hybrid_core.errors import NotFoundError as NothingFoundError
from hybrid_core.errors import PageIndexError, ReadOnlyError, UsageError
from hybrid_core.llm.budget import charged
from hybrid_core.logs import about
from hybrid_core.tracing import span
from hybrid_core.types.libraries import library_called
from hybrid_pageindex import __version__
from hybrid_pageindex.engine.engine import Engine
from hybrid_pageindex.engine.index.worker import Feed
from hybrid_pageindex.mcp.access import Access
from hybrid_pageindex.mcp.builds import Builds, add_task_extension
from hybrid_pageindex.mcp.callers import LimitedEngine, hidden_tools, tool_caller
from hybrid_pageindex.mcp.connector import CONNECTOR_INSTRUCTIONS, register_connector
from hybrid_pageindex.mcp.libraries import register_library_tools, register_upload
from hybrid_pageindex.mcp.light import register_light_tools
from hybrid_pageindex.mcp.payloads import ANSWER_TOKENS
from hybrid_pageindex.mcp.resources import register_prompts, register_resources
from hybrid_pageindex.mcp.search import register_conversation_tools, register_search_tools
from hybrid_pageindex.mcp.state import Heartbeat, ToolState
from hybrid_pageindex.mcp.subscriptions import Subscriptions, missing_resource, register_document_list
from hybrid_pageindex.request_ids import new_id

INSTRUCTIONS = """\
Finds the right pages of long documents in two stages. 1. search(question) names the best pages of the whole library \
and says how strong the evidence is. 2. read the page that fits best, unless a snippet states the whole answer, and \
cite document and page; pageindex://LIBRARY/DOC_ID/page/N is its address. \
If evidence is weak and no snippet fits, outline(document, question) scores the section tree: open folded nodes with \
node, then read best_pages. To count or to list all pages with exact words, grep; what changed between two documents, \
compare. Every answer's next lists the calls worth making; a cursor continues the same call. \
For one file by path: get_index(file_path, query), then get_detail(file_path, page)."""
_AT_ONCE = 16  # tool calls that work at the same time; more wait
_WRITING_TOOLS = frozenset({"build_index", "add_documents", "remove_documents", "name_library", "upload_document"})
_READING_ACTIONS = (None, "list", "show")  # actions of the tool ``jobs`` that change nothing
_WAITING_TOOLS = (
    "get_index",
    "build_index",
    "add_documents",
)  # mostly wait for builds, which must keep nobody from reading


def build_server(
    engine: Engine, access: Access, budget: int = ANSWER_TOKENS, *, limited: bool = False, connector: bool = False,
    feed: Feed | None = None, wake: Callable[[], None] | None = None,
) -> FastMCP:  # fmt: skip
    """Return an MCP server for an engine.

    ``budget`` is the maximum tokens of one result. With ``limited``, each call stays within the rights of its caller,
    and ``access`` must have no roots. A ``connector`` has only the tools ``search`` and ``fetch``. A server that
    already polls for changes and processes jobs passes its ``feed`` and ``wake``.
    """
    builds = Builds(engine)
    call_slots = asyncio.Semaphore(_AT_ONCE)
    bounded = LimitedEngine(engine) if limited else None
    seen = cast(Engine, bounded) if bounded else engine
    state = ToolState(seen, access, builds, budget, call_slots, wake or builds.wake)
    news = feed or Feed(engine.admin.state)
    subscriptions = Subscriptions(engine, news)

    @asynccontextmanager
    async def lifespan(_: FastMCP) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(subscriptions.run())]
        if feed is None:
            tasks.append(asyncio.create_task(news.run()))
        if not access.read_only and not limited:
            tasks.append(asyncio.create_task(builds.work()))
        try:
            yield
        finally:
            await builds.close()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    server: FastMCP = FastMCP(
        "hybrid-pageindex",
        CONNECTOR_INSTRUCTIONS if connector else INSTRUCTIONS,
        version=__version__,
        lifespan=lifespan,
        middleware=[
            Heartbeat(),
            _Calls(call_slots, engine, bounded),
            _Lists(read_only=access.read_only, limited=limited),
        ],
        mask_error_details=True,  # hides the details of unexpected errors
        dereference_schemas=False,
    )
    if connector:
        register_connector(server, state)
        return server
    register_search_tools(server, state)
    register_conversation_tools(server, state)
    register_light_tools(server, state)
    register_library_tools(server, state)
    if limited:
        register_upload(server, state)
    register_resources(server, state)
    register_prompts(server)
    register_document_list(server, state, subscriptions)
    add_task_extension(server, builds)
    return server


def _request_id() -> str:
    """Return the id of the HTTP request of the current tool call. Over stdio, return a new id.

    It is read from the request itself, because a session's logging context may keep the id of its first request.
    """
    try:
        return str(get_http_request().scope.get("state", {}).get("request_id") or new_id())
    except RuntimeError:  # called over stdio
        return new_id()


class _Calls(Middleware):
    """Middleware that limits concurrent tool calls, names invalid arguments, and gives errors the protocol's codes.

    It records changes by callers with tokens in the audit log before the caller receives the result.
    """

    def __init__(self, call_slots: asyncio.Semaphore, engine: Engine, limited: LimitedEngine | None) -> None:
        self._call_slots, self._engine, self._limited = call_slots, engine, limited

    async def on_call_tool(
        self,
        context: MiddlewareContext[mcp_types.CallToolRequestParams],
        call_next: CallNext[mcp_types.CallToolRequestParams, ToolResult],
    ) -> ToolResult:
        if context.message.arguments:  # some clients send null for what is not given
            arguments = {name: value for name, value in context.message.arguments.items() if value is not None}
            context = context.copy(message=context.message.model_copy(update={"arguments": arguments}))
        async with nullcontext() if context.message.name in _WAITING_TOOLS else self._call_slots:
            outcome = 400
            try:
                tool = context.message.name[:200]
                with (
                    charged(who=tool_caller().name),
                    about(request_id=_request_id(), tool=tool),
                    span(f"tool {tool}"),
                ):
                    result = await call_next(context)
                outcome = 200
            except ValidationError as error:
                raise ToolError(_argument_errors(error)) from error
            except (NotFoundError, DisabledError) as error:
                name = context.message.name[:200]
                raise MCPError(mcp_types.INVALID_PARAMS, f"Unknown tool: '{name}'") from error
            finally:
                await self._audit(context.message.name, context.message.arguments or {}, outcome)
        if context.message.name in _WRITING_TOOLS and context.fastmcp_context is not None:
            await context.fastmcp_context.session.send_resource_list_changed()
        return result

    async def _audit(self, tool: str, arguments: Mapping[str, Any], outcome: int) -> None:
        """Record a call of a tool that changes data in the audit log, even if it was refused.

        Only callers with a token are recorded.
        """
        changes = tool in _WRITING_TOOLS or (tool == "jobs" and arguments.get("action") not in _READING_ACTIONS)
        if not changes or not (caller := tool_caller().name):
            return
        subjects = [arguments.get(key) for key in ("name", "documents", "paths", "file_path", "action", "jobs")]
        subject = f"/mcp {json.dumps([item for item in subjects if item], ensure_ascii=False, default=str)}"
        try:
            library = await self._library_id(arguments.get("library"))
            add = self._engine.admin.audit.add
            await asyncio.to_thread(lambda: add(caller, tool, library, subject[:2000], outcome))
        except ReadOnlyError:  # a read-only home has refused the call as well
            return
        except PageIndexError as error:  # the change is made, so the failure to record it is only logged
            logging.getLogger(__name__).error("%s by %s (%d): %s", tool, caller, outcome, error)

    async def _library_id(self, name: Any) -> str:
        """Return the id of the library that a call is about, "" if it is unknown."""
        named = name if isinstance(name, str) else ""
        try:
            if self._limited is not None:
                return (await self._limited.library(named)).id
        except PageIndexError:
            return ""
        library = library_called(named or self._engine.settings.library, await self._engine.libraries.named())
        return library.id if library else ""

    async def on_get_prompt(
        self,
        context: MiddlewareContext[mcp_types.GetPromptRequestParams],
        call_next: CallNext[mcp_types.GetPromptRequestParams, PromptResult],
    ) -> PromptResult:
        prompt = context.fastmcp_context and await context.fastmcp_context.fastmcp.get_prompt(context.message.name)
        arguments = context.message.arguments or {}
        required = [argument.name for argument in (prompt and prompt.arguments) or () if argument.required]
        if missing := [name for name in required if name not in arguments]:
            raise MCPError(mcp_types.INVALID_PARAMS, f"{', '.join(missing)}: missing.")
        return await call_next(context)

    async def on_read_resource(
        self,
        context: MiddlewareContext[mcp_types.ReadResourceRequestParams],
        call_next: CallNext[mcp_types.ReadResourceRequestParams, ResourceResult],
    ) -> ResourceResult:
        uri, caller = str(context.message.uri), context.fastmcp_context
        try:
            return await call_next(context)
        except (NotFoundError, DisabledError) as error:
            raise missing_resource(caller and caller.session, uri) from error
        except ResourceError as error:
            if not isinstance(error.__cause__, NothingFoundError | UsageError):
                raise
            raise missing_resource(caller and caller.session, uri, str(error)) from error


class _Lists(Middleware):
    """Middleware that leaves tools that the caller may not use out of the list of tools.

    It also removes the framework's metadata from the lists of tools, resources and prompts.
    """

    def __init__(self, *, read_only: bool, limited: bool) -> None:
        self._hidden: frozenset[str] = _WRITING_TOOLS if read_only else frozenset()
        self._limited = limited

    async def on_list_tools(
        self,
        context: MiddlewareContext[mcp_types.ListToolsRequest],
        call_next: CallNext[mcp_types.ListToolsRequest, Sequence[Tool]],
    ) -> Sequence[Tool]:
        hidden = self._hidden | (hidden_tools() if self._limited else frozenset())
        return _without_metadata([tool for tool in await call_next(context) if tool.name not in hidden])

    async def on_list_resource_templates(
        self,
        context: MiddlewareContext[mcp_types.ListResourceTemplatesRequest],
        call_next: CallNext[mcp_types.ListResourceTemplatesRequest, Sequence[ResourceTemplate]],
    ) -> Sequence[ResourceTemplate]:
        return _without_metadata(await call_next(context))

    async def on_list_prompts(
        self,
        context: MiddlewareContext[mcp_types.ListPromptsRequest],
        call_next: CallNext[mcp_types.ListPromptsRequest, Sequence[Prompt]],
    ) -> Sequence[Prompt]:
        return _without_metadata(await call_next(context))


_Component = TypeVar("_Component", bound=FastMCPComponent)


def _without_metadata(listed: Sequence[_Component]) -> Sequence[_Component]:
    """Return tools, resources or prompts without the framework's tags, which would cost ten tokens each."""
    for component in listed:
        component.__dict__["get_meta"] = _no_metadata
    return listed


def _no_metadata() -> None:
    return None


def _argument_errors(error: ValidationError) -> str:
    """Return a description of the invalid arguments, without their values."""
    if not isinstance(error.__cause__, PydanticValidationError):
        return str(error)
    details = error.__cause__.errors(include_url=False, include_context=False, include_input=False)
    text = " ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}." for each in details)
    return text.replace("a valid tuple", "a valid list")  # as the schema calls it
