"""The section tree of a document as people and programs see it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hybrid_core.errors import NotFoundError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.documents import Document, Section
from hybrid_pageindex.services.reading import one, section_path
from retrievers.pipeline.sections import SectionScores


@dataclass(frozen=True, slots=True)
class OutlineNode:
    """A section; ``node_score`` and ``best_pages`` only where a question was asked. ``folded`` counts the children
    that the outline leaves out. ``text`` is that of the section and all below it, None where it was not asked for.
    """

    section: Section
    path: tuple[str, ...]
    children: int
    folded: int = 0
    node_score: float | None = None
    best_pages: tuple[int, ...] = ()
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Outline:
    """Nodes in preorder, cut below ``depth`` levels. ``notes`` say what the user should know of their scores."""

    document: Document
    query: str | None
    nodes: tuple[OutlineNode, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Nested nodes with everything known of each."""
        document = self.document
        return {
            "doc_id": document.doc_id, "doc_name": document.name, "title": document.title,
            "description": document.description, "pages": document.pages, "query": self.query,
            "notes": list(self.notes), "nodes": _nested(self.nodes, _full),
        }  # fmt: skip

    def to_pageindex(self) -> dict[str, Any]:
        """The tree in PageIndex's own shape."""
        return {
            "doc_name": self.document.name,
            "doc_description": self.document.description,
            "structure": _nested(self.nodes, _pageindex),
        }


def outline(
    catalog: Catalog,
    library: str,
    name: str,
    scored: SectionScores | None,
    depth: int | None,
    node: str | None = None,
    text: bool = False,
) -> Outline:
    """The tree, or what hangs below one ``node``, with the ``text`` of every section if wished.

    Raises NotFoundError for an unknown document or node.
    """
    with catalog.snapshot() as snapshot:
        document = one(snapshot, library, name)
        sections = snapshot.sections(document.content_id)
        texts = [page.text for page in snapshot.pages(document.content_id)] if text else []
    by_id = {section.node_id: section for section in sections}
    if node is not None and node not in by_id:
        raise NotFoundError(f"{document.name} has no section '{node}'.", "Take a node_id from its outline.")
    children: dict[str, int] = {}
    for section in sections:
        if section.parent_id:
            children[section.parent_id] = children.get(section.parent_id, 0) + 1
    deepest = None if depth is None else depth + (by_id[node].level if node else 0)
    nodes = []
    for section in _below(sections, node):
        if deepest is None or section.level <= deepest:
            score, best = (None, ()) if scored is None else scored.sections.get(section.node_id, (0.0, ()))
            count = children.get(section.node_id, 0)
            folded = count if section.level == deepest else 0
            inside = _text(section, texts) if text else None
            nodes.append(OutlineNode(section, section_path(section, by_id), count, folded, score, best, inside))
    query, notes = (None, ()) if scored is None else (scored.query, scored.notes)
    return Outline(document, query, tuple(nodes), notes)


def _text(section: Section, pages: Sequence[str]) -> str:
    """From where the section begins to where it ends, with all that hangs below it."""
    first, last = section.start_page, section.end_page
    inside = list(pages[first - 1 : last])
    inside[-1] = inside[-1][: section.end_anchor]
    inside[0] = inside[0][section.anchor :]
    return "\n".join(inside).strip()


def _below(sections: Sequence[Section], node: str | None) -> Iterator[Section]:
    """A node and everything below it; all for None."""
    inside: set[str] = set()
    for section in sections:
        if node is None or section.node_id == node or section.parent_id in inside:
            inside.add(section.node_id)
            yield section


def _nested(nodes: Sequence[OutlineNode], shape: Any) -> list[dict[str, Any]]:
    top: list[dict[str, Any]] = []
    made: dict[str, dict[str, Any]] = {}
    for node in nodes:
        made[node.section.node_id] = entry = shape(node)
        parent = made.get(node.section.parent_id or "")
        (top if parent is None else parent.setdefault("nodes", [])).append(entry)
    return top


def _pageindex(node: OutlineNode) -> dict[str, Any]:
    section = node.section
    entry: dict[str, Any] = {
        "title": section.title, "node_id": section.node_id, "start_index": section.start_page,
        "end_index": section.end_page, ("prefix_summary" if node.children else "summary"): section.summary,
    }  # fmt: skip
    return entry | ({"synthetic": True} if section.synthetic else {}) | _asked_text(node)


def _asked_text(node: OutlineNode) -> dict[str, str]:
    return {} if node.text is None else {"text": node.text}


def _full(node: OutlineNode) -> dict[str, Any]:
    section = node.section
    entry: dict[str, Any] = {
        "node_id": section.node_id, "title": section.title, "level": section.level, "start_page": section.start_page,
        "end_page": section.end_page, "summary": section.summary, "source": section.source,
        "synthetic": section.synthetic, "flags": list(section.flags), "gaps": list(section.gaps),
        "children": node.children,
    }  # fmt: skip
    if node.node_score is not None:
        entry |= {"node_score": node.node_score, "best_pages": list(node.best_pages)}
    return entry | _asked_text(node)
