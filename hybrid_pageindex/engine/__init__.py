"""The engine and its parts. The command line, Python, MCP and HTTP interfaces call the methods of ``Engine``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybrid_pageindex.engine.engine import Engine

__all__ = ["Engine"]


def __getattr__(name: str) -> Any:
    """Import ``Engine`` on first access, so that importing one submodule does not load the whole engine."""
    if name == "Engine":
        from hybrid_pageindex.engine.engine import Engine

        return Engine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
