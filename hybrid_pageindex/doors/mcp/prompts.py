"""Prompts that a user can pick: an answer with citations, and a comparison of two documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastmcp import FastMCP

if TYPE_CHECKING:
    from hybrid_pageindex.doors.mcp.door import Door


def register(server: FastMCP, _: Door) -> None:
    @server.prompt
    def answer_with_citations(question: str, document: str = "") -> str:
        """Answer a question from the library, every statement with document and page."""
        where = f' in the document "{document}"' if document else ""
        return (
            f"Answer this question{where} from the indexed documents: {question}\n\n"
            "Search first, then read the pages that fit; follow the answers' next hints where evidence is weak. "
            "Quote figures as they are printed, with their unit and period. After every statement cite "
            "[document, page N]. If the pages do not say it, say so instead of guessing."
        )

    @server.prompt
    def compare_documents(first: str, second: str, topic: str) -> str:
        """Compare what two documents say about a topic, side by side with pages."""
        return (
            f'Compare what "{first}" and "{second}" say about: {topic}\n\n'
            "Search each of them separately (documents=[…]), read the best pages of both, then write a table: one row "
            "per aspect, one column per document, every cell with [page N]. Name what only one of them says."
        )
