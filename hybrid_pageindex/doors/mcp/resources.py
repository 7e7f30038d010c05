"""Documents, their trees and their pages as resources, and completions of their names."""

from __future__ import annotations

import json
from logging import INFO

import mcp_types
from fastmcp import FastMCP
from fastmcp.exceptions import ResourceError
from fastmcp.resources import ResourceContent, ResourceResult

from hybrid_core.errors import PageIndexError, UsageError
from hybrid_core.text.tokens import fold
from hybrid_pageindex.doors.mcp import budget, shapes
from hybrid_pageindex.doors.mcp.door import Door
from hybrid_pageindex.services.reading import PageRead

_MOST = 100  # names that a completion may give


def register(server: FastMCP, door: Door) -> None:
    @server.resource("pageindex://{library}/{document}", mime_type="application/json")
    async def document(library: str, document: str) -> ResourceResult:
        """A document: title, kind, years, description."""
        with _Told():
            return _json(shapes.document(await door.document(document, library)))

    @server.resource("pageindex://{library}/{document}/outline", mime_type="application/json")
    async def outline(library: str, document: str) -> ResourceResult:
        """A document's section tree, as deep as fits."""
        with _Told():
            for depth in (None, 3, 2, 1):
                tree = await door.engine.outline(document, library=library, depth=depth)
                nodes = [shapes.node(entry, None) for entry in tree.nodes]
                if budget.cost(nodes) <= door.budget:
                    break
            return _json({"document": tree.document.name, "nodes": budget.fitting(nodes, door.budget)})

    @server.resource("pageindex://{library}/{document}/page/{page}", mime_type="text/plain")
    async def page(library: str, document: str, page: str) -> str:
        """The text of a page."""
        with _Told():
            return (await _page(door, library, document, page)).text

    @server.resource("pageindex://{library}/{document}/page/{page}/image", mime_type="image/jpeg")
    async def page_image(library: str, document: str, page: str) -> bytes:
        """A page drawn from the original file."""
        with _Told():
            number = (await _page(door, library, document, page)).page
            return await door.picture(document, [number], library)

    @server.completion
    async def complete(
        ref: mcp_types.PromptReference | mcp_types.ResourceTemplateReference,
        argument: mcp_types.CompletionArgument,
        context: mcp_types.CompletionContext | None,
    ) -> list[str] | None:
        """Names of libraries and documents that begin with, then that hold, what was typed."""
        said = (context.arguments if context else None) or {}
        try:
            if argument.name == "library":
                names = [size.name for size in await door.engine.libraries()]
            elif argument.name in ("document", "first", "second"):
                found = await door.engine.documents(library=said.get("library") or None)
                names = [document.name for document in found if document.published]
            else:
                return None
        except PageIndexError:  # no such library: nothing to complete
            return []
        typed = fold(argument.value)
        begin = [name for name in names if fold(name).startswith(typed)]
        return (begin + [name for name in names if typed in fold(name) and name not in begin])[:_MOST]


class _Told:
    """Errors of ours become errors of the protocol that say what to do."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, PageIndexError):
            raise ResourceError(str(error), log_level=INFO) from error


async def _page(door: Door, library: str, document: str, page: str) -> PageRead:
    """Raises UsageError for anything but one page that is there."""
    if not page.isdecimal():
        raise UsageError(f"'{page[:50]}' is no page number.", "Read pageindex://LIBRARY/DOCUMENT/page/7.")
    return (await door.engine.pages(document, int(page[:9]), library=library))[0]


def _json(value: object) -> ResourceResult:
    return ResourceResult([ResourceContent(json.dumps(value, ensure_ascii=False), mime_type="application/json")])
