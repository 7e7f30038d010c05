"""A real HTTP server with OpenAI's and Anthropic's interfaces, which answers from rules and misbehaves on demand."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from email.message import Message as Headers
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from eval.runs.scripted import pieces, tokens
from hybrid_core.llm.chat import Request, ToolCall
from tests.doubles.replies import Answer, FakeReply, fake_reply, read_request


class ScriptedServer:
    """``replies`` come first, one each; then ``answer`` serves. ``requests`` and ``bodies`` keep what was asked.

    ``unknown`` holds options of requests (response_format, say) that it refuses; ``url`` is OpenAI's base URL, and
    Anthropic's without its "/v1".
    """

    def __init__(self, url: str, answer: Answer) -> None:
        self.url = url
        self.answer = answer
        self.replies: list[FakeReply] = []
        self.unknown: set[str] = set()
        self.models, self.owner = ["nomic-embed-text:latest", "llama3.2:3b"], "library"
        self.requests: list[Request] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[Headers] = []
        self.paths: list[str] = []
        self.at_once = 0  # the most requests that were under way together
        self.released = threading.Event()  # ends every wait
        self._under_way: set[int] = set()  # the threads that serve a request
        self._lock = threading.Lock()

    def reply(self, body: dict[str, Any], headers: Headers) -> FakeReply:
        refused = sorted(self.unknown & set(body))
        with self._lock:
            self._under_way.add(threading.get_ident())
            self.at_once = max(self.at_once, len(self._under_way))
            self.bodies.append(body)
            self.headers.append(headers)
            request = read_request(body)
            self.requests.append(request)
            if refused:
                message = f"Unsupported parameter: '{refused[0]}'."
                return FakeReply(status=400, body={"error": {"message": message, "type": "invalid_request_error"}})
            if self.replies:
                return self.replies.pop(0)
        return fake_reply(self.answer(request))

    def done(self) -> None:
        """Called before a reply's last bytes leave: with them the client may already ask the next thing."""
        with self._lock:
            self._under_way.discard(threading.get_ident())


@contextmanager
def scripted_server(answer: Answer = lambda request: "ok", port: int = 0) -> Iterator[ScriptedServer]:
    """Serves until the block is left; port 0: any that is free."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            """List the models, as Ollama, LM Studio and llama.cpp do."""
            listed = [{"id": name, "object": "model", "owned_by": server.owner} for name in server.models]
            body = json.dumps({"object": "list", "data": listed}).encode()
            self.send_response(200 if self.path == "/v1/models" else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            sent = self.rfile.read(length := int(self.headers["Content-Length"]))
            if len(sent) < length:
                raise ConnectionAbortedError
            body = json.loads(sent)
            server.paths.append(self.path)
            made = server.reply(body, self.headers)
            with suppress(OSError):  # the client has left
                _send(self, server, body, made)
            server.done()

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 256
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            if not isinstance(sys.exception(), OSError):  # which is a client that has left
                super().handle_error(request, client_address)

    http = Server(("127.0.0.1", port), Handler)
    server = ScriptedServer(f"http://127.0.0.1:{http.server_port}/v1", answer)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        http.shutdown()
        http.server_close()
        thread.join()


def _send(handler: BaseHTTPRequestHandler, server: ScriptedServer, body: dict[str, Any], made: FakeReply) -> None:
    anthropic = handler.path.partition("?")[0].endswith("/messages")
    if body.get("stream") and made.status == 200 and made.body is None:
        _stream(handler, server, made, body, anthropic)
        return
    server.released.wait(made.wait)
    if made.break_after is not None:
        handler.close_connection = True
        return
    answer = made.body
    if answer is None:
        answer = (_anthropic if anthropic else _openai)(made, body)
    sent = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
    server.done()
    handler.send_response(made.status)
    for name, value in (
        {"Content-Type": "application/json"} | made.headers | {"Content-Length": str(len(sent))}
    ).items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(sent)


def _stream(
    handler: BaseHTTPRequestHandler, server: ScriptedServer, made: FakeReply, body: dict[str, Any], anthropic: bool
) -> None:
    handler.send_response(200)
    handler.send_header("Content-Type", "text/event-stream")
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.close_connection = True
    length = 0
    events = list((_anthropic_events if anthropic else _openai_events)(made, body))
    last = max((number for number, (_, _, text) in enumerate(events, start=1) if text), default=0)
    for number, (event, data, text) in enumerate(events, start=1):
        if text:
            server.released.wait(made.wait)
            if number == last and made.hold:
                made.hold.wait(600)
            length += len(text)
        if made.break_after is not None and length > made.break_after:
            return
        if number == len(events):
            server.done()
        named = f"event: {event}\n" if event else ""
        handler.wfile.write(f"{named}data: {data}\n\n".encode())
        handler.wfile.flush()


def _openai(made: FakeReply, body: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": made.text or None, "refusal": made.refusal or None}
    if made.calls:
        message["tool_calls"] = [_called(call) for call in made.calls]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": made.finish}],
        "usage": _openai_usage(made, body),
    }


def _called(call: ToolCall, arguments: str | None = None) -> dict[str, Any]:
    written = call.arguments if arguments is None else arguments
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": written}}


def _openai_usage(made: FakeReply, body: dict[str, Any]) -> dict[str, int]:
    given, made_tokens = tokens(read_request(body)), len(made.text) // 4
    return {"prompt_tokens": given, "completion_tokens": made_tokens, "total_tokens": given + made_tokens}


def _openai_events(made: FakeReply, body: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Name, data and text of each event of a stream."""

    def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> str:
        choices = [] if more else [{"index": 0, "delta": delta, "finish_reason": finish}]
        base = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": body["model"]}
        return json.dumps(base | {"choices": choices} | more)

    yield "", chunk({"role": "assistant", "content": ""}), ""
    if made.refusal:
        yield "", chunk({"refusal": made.refusal}), ""
    for piece in pieces(made.text):
        yield "", chunk({"content": piece}), piece
    for at, call in enumerate(made.calls):
        yield "", chunk({"tool_calls": [{"index": at, **_called(call, "")}]}), ""
        for piece in pieces(call.arguments):
            yield "", chunk({"tool_calls": [{"index": at, "function": {"arguments": piece}}]}), ""
    yield "", chunk({}, made.finish), ""
    if "stream_options" in body:
        yield "", chunk({}, usage=_openai_usage(made, body)), ""
    yield "", "[DONE]", ""


def _stop_reason(made: FakeReply) -> str:
    if made.refusal:
        return "refusal"
    return {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}[made.finish]


def _anthropic(made: FakeReply, body: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [
            {"type": "text", "text": made.text},
            *({"type": "tool_use", "id": c.id, "name": c.name, "input": json.loads(c.arguments)} for c in made.calls),
        ],
        "stop_reason": _stop_reason(made),
        "stop_sequence": None,
        "usage": {"input_tokens": tokens(read_request(body)), "output_tokens": len(made.text) // 4},
    }


def _anthropic_events(made: FakeReply, body: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    def event(kind: str, **data: Any) -> tuple[str, str]:
        return kind, json.dumps({"type": kind} | data)

    start = _anthropic(made, body) | {"content": [], "stop_reason": None}
    yield *event("message_start", message=start), ""
    yield *event("content_block_start", index=0, content_block={"type": "text", "text": ""}), ""
    for piece in pieces(made.text):
        yield *event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece}), piece
    yield *event("content_block_stop", index=0), ""
    for at, call in enumerate(made.calls, 1):
        block = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
        yield *event("content_block_start", index=at, content_block=block), ""
        for piece in pieces(call.arguments):
            delta_of_call = {"type": "input_json_delta", "partial_json": piece}
            yield *event("content_block_delta", index=at, delta=delta_of_call), ""
        yield *event("content_block_stop", index=at), ""
    delta = {"stop_reason": _stop_reason(made), "stop_sequence": None}
    yield *event("message_delta", delta=delta, usage={"output_tokens": len(made.text) // 4}), ""
    yield *event("message_stop"), ""
