"""Hybrid PageIndex as a toolset of Pydantic AI.

from hybrid_pageindex import Engine
from hybrid_pageindex_pydantic_ai import page_index_toolset
from pydantic_ai import Agent

Agent("openai:gpt-5", toolsets=[page_index_toolset(Engine())])
"""

from __future__ import annotations

from typing import Any

from pydantic_ai import FunctionToolset

from hybrid_pageindex.frameworks import ToolSource, page_tools

__all__ = ["page_index_toolset"]


def page_index_toolset(source: ToolSource, *, library: str | None = None, top_k: int = 5) -> FunctionToolset[Any]:
    """Return the tools search_pages, read_pages and count_pages, for an ``Engine`` or a ``Client``.

    They use ``library`` and return at most ``top_k`` pages of a search.
    """
    return FunctionToolset(page_tools(source, library=library, top_k=top_k))
