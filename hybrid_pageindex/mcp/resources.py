"""Register documents, section trees and pages as resources, completions of their names, and prompts."""

from __future__ import annotations

import json
from logging import INFO

import mcp_types
from fastmcp import FastMCP
from fastmcp.exceptions import ResourceError
from fastmcp.prompts import Prompt
from fastmcp.resources import ResourceContent, ResourceResult

from hybrid_core.errors import PageIndexError, UsageError
from hybrid_core.text.tokens import fold
from hybrid_pageindex.engine.documents.reading import PageRead
from hybrid_pageindex.mcp.payloads import count_json_tokens, document_payload, fit_items, node_payload
from hybrid_pageindex.mcp.state import ToolState

_COMPLETIONS = 100  # maximum names in a completion


def register_resources(server: FastMCP, state: ToolState) -> None:
    @server.resource("pageindex://{library}/{document}", mime_type="application/json")
    async def document(library: str, document: str) -> ResourceResult:
        """A document: title, kind, years, description."""
        with _ResourceErrors():
            return _json_resource(document_payload(await state.document(document, library)))

    @server.resource("pageindex://{library}/{document}/outline", mime_type="application/json")
    async def outline(library: str, document: str) -> ResourceResult:
        """A document's section tree, as deep as fits."""
        with _ResourceErrors():
            for depth in (None, 3, 2, 1):
                tree = await state.engine.outline(document, library=library, depth=depth)
                nodes = [node_payload(entry, None) for entry in tree.nodes]
                if count_json_tokens(nodes) <= state.budget:
                    break
            return _json_resource({"document": tree.document.name, "nodes": fit_items(nodes, state.budget)})

    @server.resource("pageindex://{library}/{document}/page/{page}", mime_type="text/plain")
    async def page(library: str, document: str, page: str) -> str:
        """The text of a page."""
        with _ResourceErrors():
            return (await _read_page(state, library, document, page)).text

    @server.resource("pageindex://{library}/{document}/page/{page}/image", mime_type="image/jpeg")
    async def page_image(library: str, document: str, page: str) -> bytes:
        """A page drawn from the original file."""
        with _ResourceErrors():
            number = (await _read_page(state, library, document, page)).page
            return await state.picture(document, [number], library)

    @server.completion
    async def complete(
        ref: mcp_types.PromptReference | mcp_types.ResourceTemplateReference,
        argument: mcp_types.CompletionArgument,
        context: mcp_types.CompletionContext | None,
    ) -> list[str] | None:
        """Return names of libraries or documents that begin with the typed text, then names that contain it."""
        typed_arguments = (context.arguments if context else None) or {}
        try:
            if argument.name == "library":
                names = [size.name for size in await state.engine.libraries.list()]
            elif argument.name in ("document", "first", "second"):
                documents = await state.engine.documents.list(library=typed_arguments.get("library") or None)
                names = [document.name for document in documents if document.published]
            else:
                return None
        except PageIndexError:  # the library does not exist, so there is nothing to complete
            return []
        typed = fold(argument.value)
        begin = [name for name in names if fold(name).startswith(typed)]
        return (begin + [name for name in names if typed in fold(name) and name not in begin])[:_COMPLETIONS]


class _ResourceErrors:
    """A context that turns PageIndexErrors into protocol errors, which include the advice."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, PageIndexError):
            raise ResourceError(str(error), log_level=INFO) from error


async def _read_page(state: ToolState, library: str, document: str, page: str) -> PageRead:
    """Return one page. Raise UsageError if ``page`` is not a number."""
    if not page.isdecimal():
        raise UsageError(
            f"'{page[:50]}' is not a page number.", "Use an address like pageindex://LIBRARY/DOCUMENT/page/7."
        )
    return (await state.engine.pages(document, int(page[:9]), library=library))[0]


def _json_resource(value: object) -> ResourceResult:
    return ResourceResult([ResourceContent(json.dumps(value, ensure_ascii=False), mime_type="application/json")])


def register_prompts(server: FastMCP) -> None:
    for function, arguments in (
        (_answer_with_citations, {"question": "The question", "document": "A document by name, id or path; or all"}),
        (_compare_documents, {"first": "A document", "second": "Another", "topic": "What is compared"}),
    ):
        prompt = Prompt.from_function(function, name=function.__name__.removeprefix("_"))
        for argument in prompt.arguments or ():
            argument.description = arguments[argument.name]  # the framework's own descriptions are about JSON schemas
        server.add_prompt(prompt)


def _answer_with_citations(question: str, document: str = "") -> str:
    """Answer a question from the library, every statement with document and page."""
    where = f' in the document "{document}"' if document else ""
    return (
        f"Answer this question{where} from the indexed documents: {question}\n\n"
        "Search first, then read the pages that fit; follow the answers' next hints where evidence is weak. "
        "Quote figures as they are printed, with their unit and period. After every statement cite "
        "[document, page N]. If the pages do not say it, say so instead of guessing."
    )


def _compare_documents(first: str, second: str, topic: str) -> str:
    """Compare what two documents say about a topic, side by side with pages."""
    return (
        f'Compare what "{first}" and "{second}" say about: {topic}\n\n'
        "Search each of them separately (documents=[…]), read the best pages of both, then write a table: one row "
        "per aspect, one column per document, every cell with [page N]. Name what only one of them says."
    )
