"""List documents as resources in batches, and notify subscribers when a document was indexed again."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import sys
from collections.abc import Awaitable, Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import mcp_types
from fastmcp import FastMCP
from fastmcp.server.dependencies import bind_request_context
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from hybrid_core.errors import NotFoundError, PageIndexError
from hybrid_core.store.catalog.maintenance import HomeState
from hybrid_core.types.documents import Document
from hybrid_pageindex.engine.engine import Engine
from hybrid_pageindex.engine.index.worker import Feed
from hybrid_pageindex.mcp.payloads import document_uri
from hybrid_pageindex.mcp.state import ToolState

_LISTED = 100  # documents of one part of a list
_RETRY_SECONDS = 1.0
_MAX_WATCHES = 1000  # maximum subscriptions of one server
_RESOURCE_NOT_FOUND = -32002  # until the revision of 2026, which has -32602
Notify = Callable[[], Awaitable[None]]


def missing_resource(session: Any, uri: str, message: str = "") -> MCPError:
    """Return the error for a missing resource, with the code that the session's protocol revision defines."""
    modern = session is not None and session.protocol_version in MODERN_PROTOCOL_VERSIONS
    code = mcp_types.INVALID_PARAMS if modern else _RESOURCE_NOT_FOUND
    return MCPError(code, message or f"Resource not found: '{uri[:500]}'", {"uri": uri})


def register_document_list(server: FastMCP, state: ToolState, subscriptions: Subscriptions) -> None:
    """Register the handlers of ``resources/list`` and of subscriptions, for old and new revisions of the protocol."""

    async def list_resources(
        ctx: ServerRequestContext[Any], params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListResourcesResult:
        with bind_request_context(ctx):
            try:
                documents, cursor = await _list_part(state, (params and params.cursor) or "")
            except PageIndexError as error:
                raise MCPError(mcp_types.INTERNAL_ERROR, str(error)) from error
        resources = [_document_resource(library, document) for library, document in documents]
        return mcp_types.ListResourcesResult(resources=resources, next_cursor=cursor or None)

    async def find_watched(ctx: ServerRequestContext[Any], uri: str) -> tuple[str, Document]:
        template = await server.get_resource_template(uri)
        arguments = template.matches(uri) if template is not None else None
        if not arguments:
            raise missing_resource(ctx.session, uri)
        with bind_request_context(ctx):
            try:
                library = arguments["library"]
                return library, await state.engine.documents.get(arguments["document"], library=library)
            except PageIndexError as error:
                raise missing_resource(ctx.session, uri, str(error)) from error

    async def subscribe(
        ctx: ServerRequestContext[Any], params: mcp_types.SubscribeRequestParams
    ) -> mcp_types.EmptyResult:
        session, uri = ctx.session, params.uri
        library, document = await find_watched(ctx, uri)
        key = _session_key(session), uri
        subscriptions.add(key, library, document, lambda: session.send_resource_updated(uri))
        session._connection.exit_stack.callback(subscriptions.remove, key)
        return mcp_types.EmptyResult()

    async def unsubscribe(
        ctx: ServerRequestContext[Any], params: mcp_types.UnsubscribeRequestParams
    ) -> mcp_types.EmptyResult:
        subscriptions.remove((_session_key(ctx.session), params.uri))
        return mcp_types.EmptyResult()

    async def listen(
        ctx: ServerRequestContext[Any], params: mcp_types.SubscriptionsListenRequestParams
    ) -> mcp_types.SubscriptionsListenResult:
        """Serve one stream of notifications, as the protocol of 2026 defines it. Ignore unknown resources."""
        bus, keys = InMemorySubscriptionBus(), list[Hashable]()
        try:
            for uri in dict.fromkeys(params.notifications.resource_subscriptions or ()):
                with suppress(MCPError):
                    library, document = await find_watched(ctx, uri)
                    key: Hashable = (id(bus), uri)
                    subscriptions.add(key, library, document, _publisher(bus, uri))
                    keys.append(key)
            return await ListenHandler(bus)(ctx, params)
        finally:
            for key in keys:
                subscriptions.remove(key)

    handlers = server._mcp_server
    handlers.add_request_handler("resources/list", mcp_types.PaginatedRequestParams, list_resources)
    handlers.add_request_handler("resources/subscribe", mcp_types.SubscribeRequestParams, subscribe)
    handlers.add_request_handler("resources/unsubscribe", mcp_types.UnsubscribeRequestParams, unsubscribe)
    handlers.add_request_handler("subscriptions/listen", mcp_types.SubscriptionsListenRequestParams, listen)
    for method in ("tools/list", "prompts/list", "resources/templates/list"):
        _refuse_cursors(handlers, method)
    _withhold_logging(handlers)


def _publisher(bus: InMemorySubscriptionBus, uri: str) -> Notify:
    return lambda: bus.publish(ResourceUpdated(uri))


def _session_key(session: Any) -> Hashable:
    """Return a key that identifies a session, because the framework creates a new session object for each request."""
    return id(session._connection)


def _refuse_cursors(handlers: Any, method: str) -> None:
    """Make a list method refuse cursors. The protocol requires this for lists that are sent in one part."""
    whole = handlers.get_request_handler(method).handler

    async def handle(ctx: ServerRequestContext[Any], params: mcp_types.PaginatedRequestParams | None) -> Any:
        if params is not None and params.cursor:
            raise MCPError(mcp_types.INVALID_PARAMS, "Invalid cursor: this list is not divided into parts")
        return await whole(ctx, params)

    handlers.add_request_handler(method, mcp_types.PaginatedRequestParams, handle)


def _withhold_logging(handlers: Any) -> None:
    """Remove logging from the server's capabilities for clients of the protocol of 2026, which deprecates it."""
    whole = handlers.get_capabilities

    def get_capabilities(*arguments: Any, **named: Any) -> mcp_types.ServerCapabilities:
        capabilities: mcp_types.ServerCapabilities = whole(*arguments, **named)
        modern = named.get("protocol_version") in MODERN_PROTOCOL_VERSIONS
        return capabilities.model_copy(update={"logging": None}) if modern else capabilities

    handlers.get_capabilities = get_capabilities


async def _list_part(state: ToolState, cursor: str) -> tuple[list[tuple[str, Document]], str]:
    """Return a batch of (library name, document), by library and path, and the cursor of the next batch."""
    start, inner = _read_cursor(cursor)
    names = sorted(size.name for size in await state.engine.libraries.list())
    documents = list[tuple[str, Document]]()
    for name in (name for name in names if name >= start):
        inner = inner if name == start else ""
        if len(documents) == _LISTED:
            return documents, _write_cursor(name, "")
        try:
            part = await state.engine.documents.browse(
                library=name, state="published", limit=_LISTED - len(documents), cursor=inner
            )
        except NotFoundError:  # it was deleted meanwhile
            continue
        documents += ((name, document) for document in part.documents)
        if part.cursor:
            return documents, _write_cursor(name, part.cursor)
    return documents, ""


def _write_cursor(library: str, inner: str) -> str:
    return base64.urlsafe_b64encode(json.dumps([library, inner]).encode()).decode()


def _read_cursor(cursor: str) -> tuple[str, str]:
    """Return the library at which a list continues, and the cursor within it. Raise MCPError for an invalid cursor."""
    if not cursor:
        return "", ""
    try:
        library, inner = json.loads(base64.b64decode(cursor[:8000], altchars=b"-_", validate=True))
    except (ValueError, TypeError, binascii.Error):
        library = inner = None
    if not isinstance(library, str) or not isinstance(inner, str):
        raise MCPError(mcp_types.INVALID_PARAMS, "Invalid cursor.")
    return library, inner


def _document_resource(library: str, document: Document) -> mcp_types.Resource:
    modified = document.indexed_at or None
    return mcp_types.Resource(
        uri=document_uri(library, document.doc_id),
        name=document.name,
        title=document.title or document.name,
        description=document.description[:300] or None,
        mime_type="application/json",
        annotations=mcp_types.Annotations(last_modified=modified) if modified else None,
    )


@dataclass(slots=True)
class _Watch:
    library: str
    document: Document | None
    notify: Notify


class Subscriptions:
    """The subscriptions of clients to documents.

    While there are subscriptions, ``run`` checks their documents after each change of the home.
    """

    def __init__(self, engine: Engine, feed: Feed) -> None:
        self._engine, self._feed = engine, feed
        self._watches: dict[Hashable, _Watch] = {}
        self._moved = asyncio.Event()  # set when a watch came or went

    def add(self, key: Hashable, library: str, document: Document, notify: Notify) -> None:
        """Add a subscription: call ``notify`` when the document changes. ``key`` identifies the subscription.

        Raise MCPError if the server has too many subscriptions.
        """
        if len(self._watches) >= _MAX_WATCHES and key not in self._watches:
            raise MCPError(
                mcp_types.INTERNAL_ERROR, f"This server allows at most {_MAX_WATCHES} subscriptions at once."
            )
        self._watches[key] = _Watch(library, document, notify)
        self._moved.set()

    def remove(self, key: Hashable) -> None:
        """Remove a subscription. Do nothing if it does not exist."""
        self._watches.pop(key, None)
        self._moved.set()

    async def run(self) -> None:
        """Send notifications until the task is cancelled."""
        while True:
            while not self._watches:
                self._moved.clear()
                await self._moved.wait()
            self._moved.clear()
            state = await self._feed.after(-1)  # read before the look, so that what changes meanwhile is news
            try:
                for key, watch in list(self._watches.items()):
                    await self._check(key, watch)
            except PageIndexError:  # a catalog that is busy is looked at again
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                await self._wait_for_news(state)

    async def _wait_for_news(self, state: HomeState) -> None:
        """Wait until the home's state differs from ``state``, or a subscription is added or removed."""
        waits = [
            asyncio.ensure_future(self._feed.after(sys.maxsize, state)), asyncio.ensure_future(self._moved.wait()),
        ]  # fmt: skip
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()

    async def _check(self, key: Hashable, watch: _Watch) -> None:
        doc_id = watch.document.doc_id if watch.document else ""
        try:
            current = await self._engine.documents.get(doc_id, library=watch.library)
        except NotFoundError:
            current = None
        if current == watch.document:
            return
        if current is None:
            self.remove(key)
        watch.document = current
        try:
            await watch.notify()
        except Exception:  # noqa: BLE001 - the client went away, however its transport says so
            self.remove(key)
