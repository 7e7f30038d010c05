"""The product's MCP server with the tools, resources and prompts that the official conformance suite calls.

``python -m tests.interfaces.mcp_fixture HOME PORT`` serves it on streamable HTTP, by the code that serves users.
"""

from __future__ import annotations

import asyncio
import base64
import struct
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import mcp_types
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.prompts import Message, PromptResult
from fastmcp.tools import Tool, ToolResult
from pydantic import Field

from hybrid_pageindex import Engine, run
from hybrid_pageindex.mcp.access import Access
from hybrid_pageindex.mcp.server import build_server
from hybrid_pageindex.mcp.transports import serve_http

_PAUSE = 0.05
_WAV = b"RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\0\0\0\0"


def _png() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(b"\0\xff\0\0")) + chunk(b"IEND", b"")


_IMAGE = mcp_types.ImageContent(type="image", data=base64.b64encode(_png()).decode(), mime_type="image/png")
_AUDIO = mcp_types.AudioContent(type="audio", data=base64.b64encode(_WAV).decode(), mime_type="audio/wav")


def _text(text: str) -> mcp_types.TextContent:
    return mcp_types.TextContent(type="text", text=text)


def _embedded(uri: str, text: str, kind: str = "text/plain") -> mcp_types.EmbeddedResource:
    held = mcp_types.TextResourceContents(uri=uri, mime_type=kind, text=text)
    return mcp_types.EmbeddedResource(type="resource", resource=held)


def add_fixtures(server: FastMCP) -> None:
    """Add everything that the suite names."""
    _add_contents(server)
    _add_conversations(server)
    _add_resources_and_prompts(server)


def _add_contents(server: FastMCP) -> None:
    contents: dict[str, list[Any]] = {
        "test_simple_text": [_text("This is a simple text response for testing.")],
        "test_image_content": [_IMAGE],
        "test_audio_content": [_AUDIO],
        "test_embedded_resource": [_embedded("test://embedded-resource", "This is an embedded resource content.")],
        "test_multiple_content_types": [
            _text("Multiple content types test:"),
            _IMAGE,
            _embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
        ],
    }
    for name, content in contents.items():
        server.add_tool(_ContentTool(name=name, description="A fixture.", parameters=_NOTHING, held=tuple(content)))

    @server.tool
    async def test_error_handling() -> str:
        """Fail."""
        raise ToolError("This tool intentionally returns an error for testing")

    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}
        },
        "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
        "additionalProperties": False,
    }
    described = "Tool with JSON Schema 2020-12 features"
    server.add_tool(_ContentTool(name="json_schema_2020_12_tool", description=described, parameters=schema, held=()))


_NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


class _ContentTool(Tool):
    """A tool that always returns the same content."""

    held: tuple[Any, ...] = ()

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(content=list(self.held))


@dataclass
class _User:
    username: Annotated[str, Field(description="User's response")]
    email: Annotated[str, Field(description="User's email address")]


@dataclass
class _Defaults:
    name: str = "John Doe"
    age: int = 30
    score: float = 95.5
    status: Literal["active", "inactive", "pending"] = "active"
    verified: bool = True


def _titled(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"const": value, "title": title} for value, title in pairs]


_ENUMS = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {
            "type": "string",
            "oneOf": _titled(("value1", "First Option"), ("value2", "Second Option"), ("value3", "Third Option")),
        },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
        "titledMulti": {
            "type": "array",
            "items": {
                "anyOf": _titled(("value1", "First Choice"), ("value2", "Second Choice"), ("value3", "Third Choice"))
            },
        },
    },
}


def _add_conversations(server: FastMCP) -> None:
    @server.tool
    async def test_tool_with_logging(ctx: Context) -> str:
        """Log while it works."""
        await ctx.info("Tool execution started")
        await asyncio.sleep(_PAUSE)
        await ctx.info("Tool processing data")
        await asyncio.sleep(_PAUSE)
        await ctx.info("Tool execution completed")
        return "Logged three messages."

    @server.tool
    async def test_tool_with_progress(ctx: Context) -> str:
        """Report progress while it works."""
        for done in (0, 50, 100):
            await ctx.report_progress(done, 100)
            await asyncio.sleep(_PAUSE)
        return "Reported progress."

    @server.tool
    async def test_sampling(prompt: str, ctx: Context) -> str:
        """Ask the client's model."""
        asked = mcp_types.SamplingMessage(role="user", content=_text(prompt))
        result = await ctx.session.create_message([asked], max_tokens=100)
        return f"LLM response: {getattr(result.content, 'text', '')}"

    @server.tool
    async def test_elicitation(message: str, ctx: Context) -> str:
        """Ask the client's user."""
        answered = await ctx.elicit(message, response_type=_User)
        return f"User response: action: {answered.action}, content: {getattr(answered, 'data', {})}"

    @server.tool
    async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
        """Ask with defaults."""
        answered = await ctx.elicit("Please check the values.", response_type=_Defaults)
        return f"Elicitation completed: action={answered.action}, content={getattr(answered, 'data', {})}"

    @server.tool
    async def test_elicitation_sep1330_enums(ctx: Context) -> str:
        """Ask with choices of every form."""
        answered = await ctx.session.elicit_form("Please choose.", _ENUMS)
        return f"Elicitation completed: action={answered.action}, content={answered.content}"

    @server.tool
    async def test_reconnection(ctx: Context) -> str:
        """End the stream while it works: the client comes back for the result."""
        await ctx.close_sse_stream()
        await asyncio.sleep(2 * _PAUSE)
        return "Reconnection test completed."


def _add_resources_and_prompts(server: FastMCP) -> None:
    @server.resource("test://static-text", mime_type="text/plain")
    async def static_text() -> str:
        """Text."""
        return "This is the content of the static text resource."

    @server.resource("test://static-binary", mime_type="image/png")
    async def static_binary() -> bytes:
        """A picture."""
        return _png()

    @server.resource("test://template/{id}/data", mime_type="application/json")
    async def template(id: str) -> str:
        """Data by id."""
        return f'{{"id":"{id}","templateTest":true,"data":"Data for ID: {id}"}}'

    @server.prompt
    async def test_simple_prompt() -> str:
        """A prompt."""
        return "This is a simple prompt for testing."

    @server.prompt
    async def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
        """A prompt with arguments."""
        return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"

    @server.prompt
    async def test_prompt_with_embedded_resource(resourceUri: str) -> PromptResult:  # noqa: N803 - the suite's name
        """A prompt with a resource."""
        held = Message(_embedded(resourceUri, "Embedded resource content for testing."))
        return PromptResult([held, Message("Please process the embedded resource above.")])

    @server.prompt
    async def test_prompt_with_image() -> PromptResult:
        """A prompt with a picture."""
        return PromptResult([Message(_IMAGE), Message("Please analyze the image above.")])


def _name_watched(server: FastMCP, uri: str) -> None:
    """Let the suite's address of a watched resource mean a document, which the product's handlers then watch."""
    handlers = server._mcp_server
    for method, kind in (
        ("resources/subscribe", mcp_types.SubscribeRequestParams),
        ("resources/unsubscribe", mcp_types.UnsubscribeRequestParams),
    ):
        whole = handlers.get_request_handler(method).handler

        async def handle(ctx: Any, params: Any, whole: Any = whole) -> Any:
            named = uri if params.uri == "test://watched-resource" else params.uri
            return await whole(ctx, params.model_copy(update={"uri": named}))

        handlers.add_request_handler(method, kind, handle)


def main(home: str, port: str) -> None:
    engine = Engine(home)
    watched = Path(home).with_name("watched.md")
    watched.write_text("# Watched\n\nA document that a client watches.\n")
    run(engine.index(watched))
    server = build_server(engine, Access())
    add_fixtures(server)
    _name_watched(server, "pageindex://default/watched.md")
    asyncio.run(serve_http(server, "127.0.0.1", int(port), "", ()))


if __name__ == "__main__":
    main(*sys.argv[1:])
