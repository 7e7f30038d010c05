"""Servers of language models on this computer: found by asking the ports at which they usually listen."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

PORTS = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp", 8000: "vLLM", 1337: "Jan"}
_OWNERS = {"library": "Ollama", "llamacpp": "llama.cpp", "vllm": "vLLM", "organization_owner": "LM Studio"}
_SECONDS = 2.0  # for a server to list its models
_LONGEST = 2**20  # bytes of a list
_MOST = 200  # models of one server
_EMBEDDERS = ("embed", "bge-", "rerank")  # in names of models that do not answer


@dataclass(frozen=True, slots=True)
class LocalServer:
    """``name`` says which program it is, as far as its list of models or its port tells."""

    name: str
    base_url: str
    models: tuple[str, ...]


async def find_local_servers(ports: Sequence[int] = ()) -> list[LocalServer]:
    """Ask the usual ports of this computer, and these, for their models. Nothing else is asked, and nothing is sent."""
    all_ports = dict.fromkeys((*ports, *PORTS))
    answers = await asyncio.gather(*(asyncio.to_thread(_ask, port) for port in all_ports))
    return [server for server in answers if server is not None]


def _ask(port: int) -> LocalServer | None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_SECONDS)
    try:
        connection.request("GET", "/v1/models", headers={"Accept": "application/json"})
        response = connection.getresponse()
        listed = json.loads(response.read(_LONGEST)) if response.status == 200 else None
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return None
    finally:
        connection.close()
    return _server(port, listed)


def _server(port: int, listed: object) -> LocalServer | None:
    """Return what a list of models tells; None where it is none."""
    entries = listed.get("data") if isinstance(listed, dict) else None
    if not isinstance(entries, list):
        return None
    models, owners = list[str](), set[str]()
    for entry in entries[:_MOST]:
        if isinstance(entry, dict) and isinstance(entry.get("id"), str) and entry["id"]:
            models.append(entry["id"][:200])
            with suppress(TypeError):
                owners.add(entry.get("owned_by") or "")
    answering = [model for model in models if not any(part in model.casefold() for part in _EMBEDDERS)]
    owner = next((_OWNERS[owner] for owner in owners if owner in _OWNERS), "")
    return LocalServer(owner or PORTS.get(port, ""), f"http://127.0.0.1:{port}/v1", tuple(answering))
