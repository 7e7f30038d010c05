"""An engine whose language model is a scripted one behind real HTTP."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from hybrid_pageindex import Engine
from tests.doubles.replies import Answer
from tests.doubles.scripted_server import ScriptedServer, scripted_server
from tests.homes import settings_of


@contextmanager
def engine_with(
    home: Path, answer: Answer, kind: Literal["llm", "vlm"] = "llm", **settings: Any
) -> Iterator[tuple[Engine, ScriptedServer]]:
    """An engine over ``home`` and the server that its one model is, a language model or one that sees.

    The model's name is another each time: a port may come again, and kept replies of the server that had it.
    """
    with scripted_server(answer) as server:
        said = {f"{kind}_model": uuid4().hex, f"{kind}_base_url": server.url} | settings
        engine = Engine(settings=settings_of(home, **said))
        try:
            yield engine, server
        finally:
            engine.close()


def data(prompt: str, name: str) -> str:
    """What a prompt shows under a heading between its fences."""
    found = re.search(rf"{name}:\n<<<data (\w+)>>>\n(.*?)\n<<<end \1>>>", prompt, re.DOTALL)
    assert found, f"the prompt shows no {name}"
    return found[2]
