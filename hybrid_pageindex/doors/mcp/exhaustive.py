"""The tools that count and compare: grep, compare."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any, Literal

from fastmcp import FastMCP

from hybrid_pageindex.doors.mcp import budget, shapes
from hybrid_pageindex.doors.mcp.door import Door, short, told
from hybrid_pageindex.doors.mcp.shapes import schema, without_empty
from hybrid_pageindex.services.comparing import SectionChange, SectionSide
from hybrid_pageindex.services.grep import GrepDocument, GrepPage

_READING = {"readOnlyHint": True, "openWorldHint": False}
_SECONDS = 2.0  # of one call; the next one goes on
_MOST = 50  # listed at once
_EACH = 8  # changes of a section


def register(server: FastMCP, door: Door) -> None:
    @server.tool(annotations=_READING, output_schema=schema(total_pages="i", total_documents="i"))
    @told
    async def grep(
        pattern: Annotated[str, "Word, phrase or prefix*"],
        regex: bool = False,
        documents: tuple[str, ...] = (),
        node: str = "",
        where: tuple[str, ...] = (),
        libraries: tuple[str, ...] = (),
        list: Literal["pages", "documents"] = "pages",
        cursor: str = "",
    ) -> dict[str, Any]:
        """Count and list every page that holds exact words."""
        search = partial(
            door.engine.grep, short("pattern", pattern), regex=regex, documents=documents or None, node=node,
            where=where, library=None if "*" in libraries else libraries or None, all_libraries="*" in libraries,
            listed=list, cursor=short("cursor", cursor), seconds=_SECONDS,
        )  # fmt: skip
        found = await search(most=_MOST)
        items = [*map(_page, found.pages), *map(_document, found.documents)]
        kept = budget.fitting(items, door.budget)
        more = (await search(most=len(kept))).cursor if len(kept) < len(items) else found.cursor
        totals = {
            "total_pages": found.total_pages, "total_documents": found.total_documents,
            "total_matches": found.total_matches, "complete": found.complete,
        }  # fmt: skip
        return shapes.quoted("lines") | totals | without_empty({"note": found.note, list: kept, "cursor": more})

    @server.tool(annotations=_READING, output_schema=schema(sections="a"))
    @told
    async def compare(
        left: Annotated[str, "Older document"],
        right: str,
        left_node: str = "",
        right_node: str = "",
        library: str = "",
        cursor: str = "",
    ) -> dict[str, Any]:
        """What two documents or sections say differently: words, figures, sections."""
        compared = await door.engine.compare(
            short("left", left, 2000), short("right", right, 2000), library=library or None, left_node=left_node,
            right_node=right_node, most=_MOST, each=_EACH, cursor=short("cursor", cursor),
        )  # fmt: skip
        sections = budget.fitting(map(_section, compared.sections), door.budget)
        more = compared.cursor
        if len(sections) < len(compared.sections):
            more = str(int(cursor or 0) + len(sections))
        counts = {name: getattr(compared, name) for name in ("added", "removed", "changed", "moved", "unchanged")}
        sides = {"left": compared.left.document, "right": compared.right.document}
        return (
            shapes.quoted("left", "right", "words", "figures")
            | sides
            | counts
            | {"sections": sections}
            | without_empty({"cursor": more})
        )


def _page(one: GrepPage) -> dict[str, Any]:
    lines = dict.fromkeys(place.text.strip() for place in one.places[:2])
    return {"document": one.document, "doc_id": one.doc_id, "page": one.page, "matches": one.matches, "lines": [*lines]}


def _document(one: GrepDocument) -> dict[str, Any]:
    first = {"first_pages": [*one.first_pages]}
    return {"document": one.document, "doc_id": one.doc_id, "pages": one.pages, "matches": one.matches, **first}


def _section(one: SectionChange) -> dict[str, Any]:
    return without_empty({
        "kind": one.kind, "moved": (one.moved and one.kind != "moved") or None, "left": _side(one.left),
        "right": _side(one.right), "differences": one.differences or None,
        "words": [
            without_empty({"before": each.before, "after": each.after, "pages": [each.left_page, each.right_page]})
            for each in one.changes
        ],
        "figures": [
            {
                "label": each.label, "before": each.before, "after": each.after,
                "pages": [each.left_page, each.right_page],
            }
            for each in one.figure_changes
        ],
    })  # fmt: skip


def _side(one: SectionSide | None) -> dict[str, Any]:
    return {} if one is None else {"title": one.title, "node_id": one.node_id, "link": one.link}
