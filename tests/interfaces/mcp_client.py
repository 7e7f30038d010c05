"""The MCP server as clients meet it: a process, spoken to in bare JSON-RPC lines or through FastMCP's client."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

REVISION = "2025-06-18"
MODERN = "2026-07-28"  # without a handshake: every request says what its client can
# A call waits for its build as long as a busy machine takes.
PATIENT = "from hybrid_pageindex.mcp import state; state._PATIENCE = 600.0"
QUESTION = "net sales of Corvane Optics in fiscal 2023"  # page 3 of its report


def program(home: Path, *options: object) -> list[str]:
    return [sys.executable, "-m", "hybrid_pageindex", "--home", str(home), "mcp", *map(str, options)]


def begun_with(first: str, command: list[str]) -> list[str]:
    """A command of this program as it runs after some Python."""
    code = f"{first}; import sys; from hybrid_pageindex.cli.main import main; sys.exit(main())"
    return [sys.executable, "-c", code, *command[3:]] if first else command


def answer(result: dict[str, Any]) -> dict[str, Any]:
    """The structured content, which the text repeats."""
    assert result.get("isError", False) is False, result
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    return result["structuredContent"]  # type: ignore[no-any-return]


def refusal(result: dict[str, Any]) -> str:
    assert result["isError"] is True, result
    return str(result["content"][0]["text"])


class Stdio:
    """A stdio server and a client that writes lines. Every line the server writes must be JSON-RPC."""

    def __init__(self, home: Path, *options: object, revision: str = REVISION, first: str = PATIENT) -> None:
        """``first`` is Python that its process runs before it serves."""
        self.process = subprocess.Popen(
            begun_with(first, program(home, *options)),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/",
        )  # fmt: skip
        self._number = 0
        self._answers: dict[int, dict[str, Any]] = {}
        self.notified: list[dict[str, Any]] = []
        self.server: dict[str, Any] = {}
        self._revision = revision

    def begin(self) -> None:
        client = {
            "protocolVersion": self._revision,
            "capabilities": {},
            "clientInfo": {"name": "tests", "version": "0"},
        }
        self.server = self.ask("initialize", client)["result"]
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def send(self, method: str, params: dict[str, Any]) -> int:
        self._number += 1
        self.write({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        return self._number

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the server ended: {self.process.stderr.read() if self.process.stderr else ''}"
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message

    def answer(self, number: int) -> dict[str, Any]:
        while number not in self._answers:
            self.hear()
        return self._answers.pop(number)

    def hear(self) -> None:
        """The next message, kept as an answer or among what was notified."""
        message = self.receive()
        if "id" in message:
            self._answers[message["id"]] = message
        else:
            self.notified.append(message)

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        return self.answer(self.send(method, params))

    def ask_modern(
        self, method: str, extensions: dict[str, Any], elicitation: dict[str, Any] | None = None, **params: Any
    ) -> dict[str, Any]:
        """A request of the revision of 2026, by a client with these extensions and this way to ask its user."""
        can: dict[str, Any] = {"extensions": extensions} | ({} if elicitation is None else {"elicitation": elicitation})
        meta = {
            "io.modelcontextprotocol/protocolVersion": MODERN,
            "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "0"},
            "io.modelcontextprotocol/clientCapabilities": can,
        }
        return self.ask(method, params | {"_meta": meta})

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A tool's result; its ``structuredContent`` where it worked."""
        result: dict[str, Any] = self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]
        return result

    def close(self) -> tuple[int, str]:
        """Close stdin, as clients do; the exit code and what was written to stderr. stdout must be finished."""
        out, error = self.process.communicate(timeout=600)
        assert all(json.loads(line)["jsonrpc"] == "2.0" for line in out.splitlines())
        return self.process.returncode, error


@contextmanager
def stdio(home: Path, *options: object, revision: str = REVISION, first: str = PATIENT) -> Iterator[Stdio]:
    client = Stdio(home, *options, revision=revision, first=first)
    try:
        client.begin()
        yield client
    finally:
        client.process.kill()
        client.process.communicate()


@contextmanager
def http(home: Path, *options: object, token: str = "", host: str = "127.0.0.1", first: str = "") -> Iterator[str]:
    """A server on HTTP; gives its URL. ``first`` is Python that its process runs before it serves."""
    command = begun_with(first, program(home, "--http", f"{host}:0", *options))
    environment = os.environ | ({"PAGEINDEX_MCP_TOKEN": token} if token else {})
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment,
    )  # fmt: skip
    try:
        end = time.monotonic() + 600
        while not (ports := _listening(process.pid)):
            assert process.poll() is None and time.monotonic() < end, process.stdout and process.stdout.read()
            time.sleep(0.1)
        yield f"http://127.0.0.1:{ports[0]}/mcp"
    finally:
        process.terminate()
        out, _ = process.communicate(timeout=600)
        assert "Traceback" not in out, out
        assert not token or token not in out
        assert f":{ports[0]}/mcp" in out, "the server prints its address"


def _listening(pid: int) -> list[int]:
    """The ports a process listens on: one that is picked beforehand may be somebody else's by then."""
    with suppress(psutil.Error):
        held = psutil.Process(pid).net_connections("tcp")
        return [one.laddr.port for one in held if one.status == psutil.CONN_LISTEN]
    return []
