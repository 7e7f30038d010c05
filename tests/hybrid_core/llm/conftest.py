"""A scripted server, and models connected to it through either interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hybrid_core.llm.adapters.anthropic_chat import AnthropicChat
from hybrid_core.llm.adapters.openai_chat import OpenAIChat
from hybrid_core.llm.chat import Endpoint
from hybrid_core.llm.client.chat_model import ChatModel
from tests.doubles.scripted_server import ScriptedServer, scripted_server
from tests.hybrid_core.llm.said import GOOD, KEY, QUICK, Interface


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server(lambda request: GOOD) as made:
        yield made


@pytest.fixture
def connect(server: ScriptedServer) -> Iterator[Callable[..., ChatModel]]:
    pytest.importorskip("openai", reason="the extra openai is not installed")
    pytest.importorskip("anthropic", reason="the extra anthropic is not installed")
    made: list[ChatModel] = []

    def _connect(interface: Interface = "openai", **options: Any) -> ChatModel:
        endpoint: Endpoint
        if interface == "openai":
            endpoint = OpenAIChat("m", api_key=KEY, base_url=server.url)
        else:
            endpoint = AnthropicChat("m", api_key=KEY, base_url=server.url.removesuffix("/v1"))
        made.append(ChatModel(endpoint, **({"retries": QUICK, "timeout": 10} | options)))
        return made[-1]

    yield _connect
    for caller in made:
        caller.close()
