"""The engine and its parts: each door (command line, Python, MCP, HTTP) calls the methods of ``Engine``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybrid_pageindex.engine.engine import Engine

__all__ = ["Engine"]


def __getattr__(name: str) -> Any:
    """Import the engine when it is first used: a part of it must not wait for all."""
    if name == "Engine":
        from hybrid_pageindex.engine.engine import Engine

        return Engine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
