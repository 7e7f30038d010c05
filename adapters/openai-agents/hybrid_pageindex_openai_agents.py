"""Hybrid PageIndex as tools of the OpenAI Agents SDK.

from agents import Agent
from hybrid_pageindex import Engine
from hybrid_pageindex_openai_agents import page_index_tools

Agent("Analyst", tools=page_index_tools(Engine()))
"""

from __future__ import annotations

from agents import FunctionTool, function_tool

from hybrid_pageindex.frameworks import ToolSource, page_tools

__all__ = ["page_index_tools"]


def page_index_tools(source: ToolSource, *, library: str | None = None, top_k: int = 5) -> list[FunctionTool]:
    """Return the tools search_pages, read_pages and count_pages, for an ``Engine`` or a ``Client``.

    They use ``library`` and return at most ``top_k`` pages of a search.
    """
    return [function_tool(tool) for tool in page_tools(source, library=library, top_k=top_k)]
