"""Build the section tree of a document from its headings and pages.

The sections cover every page, siblings are in order, and large sections are split.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, zip_longest

from hybrid_core.types.documents import HeadingSource, ParsedDocument, ParsedPage, Section
from hybrid_core.types.locators import RegionsByPage
from indexers.outline.heading import Heading
from indexers.outline.heading_model import BoostedTrees
from indexers.outline.merge import outline
from indexers.outline.numbering import numbering
from indexers.outline.quality import signs_of_tree
from indexers.outline.regions import Regions
from indexers.outline.view import DocumentView, view

_DEEPEST = 12  # maximum levels; deeper headings of a broken outline become siblings
_LEAD = 120  # maximum characters before the first heading that get no section of their own


@dataclass(frozen=True, slots=True)
class TreeLimits:
    """Limits of the section tree. Sections above ``max_pages`` or ``max_tokens`` are split.

    ``toc_pages`` is the number of front pages searched for printed contents. A heading without subheadings that is
    recognised only by its look must have at least ``min_characters`` of text below. Most of those with less text are
    labels.
    """

    max_pages: int = 10
    max_tokens: int = 20_000
    toc_pages: int = 30
    min_characters: int = 40

    def __post_init__(self) -> None:
        if min(self.max_pages, self.max_tokens, self.toc_pages) < 1:
            raise ValueError("The limits of a section tree must be at least 1.")


@dataclass(frozen=True, slots=True)
class HeadingMark:
    """A heading with its position: ``anchor`` is its offset in the page's text, ``y`` its height on the page.

    ``y`` is in points from the top. Levels count from 1 and may skip numbers.
    """

    title: str
    level: int
    page: int
    anchor: int
    y: float
    source: HeadingSource


@dataclass(slots=True)
class _Node:
    title: str
    level: int
    start: tuple[int, int]  # page, character offset
    y: float
    source: HeadingSource
    synthetic: bool = False
    end: tuple[int, int] = (0, 0)  # exclusive; (page + 1, 0) for the end of a page
    confirmed: bool = False
    reaches: bool = False  # a section without text begins at its end


def build_tree(
    document: ParsedDocument,
    limits: TreeLimits = TreeLimits(),
    regions: RegionsByPage | None = None,
    trees: BoostedTrees | None = None,
) -> tuple[Section, ...]:
    """Return the document's sections as a flat list in preorder, at least one if the document has pages.

    ``regions`` of a layout model are a second opinion on headings without markup. ``trees`` replaces the shipped
    heading model.
    """
    return estimated_tree(document, limits, regions, trees)[0]


def estimated_tree(
    document: ParsedDocument,
    limits: TreeLimits = TreeLimits(),
    regions: RegionsByPage | None = None,
    trees: BoostedTrees | None = None,
) -> tuple[tuple[Section, ...], tuple[float, ...]]:
    """Return a document's sections, and the features from which the quality of the tree is estimated.

    There are no features if the document itself marks its headings.
    """
    if not document.pages:
        return (), ()
    signs: tuple[float, ...] = ()
    if document.headings is not None:
        nodes, spare = _marked(document)
    else:
        doc = view(document.pages)
        headings = outline(document, doc, limits.toc_pages, Regions(doc, regions) if regions else None, trees)
        nodes, spare = _thin(_nodes(headings.headings, doc), limits.min_characters), _nodes(headings.spare, doc)
        signs = headings.signs
    nodes = _cover(nodes)
    pages = len(document.pages)
    _close(nodes, pages)
    tokens = _tokens(document.pages)
    nodes = _split_by_headings(nodes, spare, tokens, limits)
    _close(nodes, pages)
    nodes = _split_by_pages(nodes, tokens, limits)
    _close(nodes, pages)
    sections = _sections(nodes)
    return sections, signs_of_tree(signs, sections, pages) if signs else ()


def tree_of(
    marks: Sequence[HeadingMark], pages: Sequence[ParsedPage], limits: TreeLimits = TreeLimits()
) -> tuple[Section, ...]:
    """Return the section tree made from these headings, which may be in any order.

    Text above the size limits without headings is divided into page groups.
    """
    if not pages:
        return ()
    placed = sorted(marks, key=lambda mark: (mark.page, mark.anchor))
    nodes = _cover(_levelled([(m.title, m.level, (m.page, m.anchor), m.y, m.source) for m in placed]))
    _close(nodes, len(pages))
    nodes = _split_by_pages(nodes, _tokens(pages), limits)
    _close(nodes, len(pages))
    return _sections(nodes)


def _marked(document: ParsedDocument) -> tuple[list[_Node], list[_Node]]:
    """Return the headings that the document's format marks, and an empty list of less certain headings."""
    starts = {  # offset of each line in the page's text
        page.number: [0, *accumulate(len(line.text) + 1 for line in page.lines)]
        for page in document.pages
        if document.headings
    }
    placed = [(h.title, h.level, (h.page, starts[h.page][h.line]), 0.0, h.source) for h in document.headings or ()]
    return _levelled(placed), []


def _nodes(headings: Sequence[Heading], doc: DocumentView) -> list[_Node]:
    """Return headings in reading order, with their positions."""
    placed = []
    confirmed = {(" ".join(h.title.split()), h.page) for h in headings if h.confirmed}
    for order, h in enumerate(headings):
        page = doc[h.page]
        anchor = page.offset(h.unit) if h.unit >= 0 else 0
        y = page.units[h.unit].y0 if h.unit >= 0 else h.y or 0.0
        placed.append(((h.page, anchor, y if h.unit >= 0 else -1.0, order), h, anchor, y))
    placed.sort(key=lambda item: item[0])
    nodes = _levelled([(h.title, h.level, (h.page, anchor), max(0.0, y), h.source) for _, h, anchor, y in placed])
    for node in nodes:
        node.confirmed = (node.title, node.start[0]) in confirmed
    return nodes


def _levelled(placed: Sequence[tuple[str, int, tuple[int, int], float, HeadingSource]]) -> list[_Node]:
    """Return nodes made from tuples (title, level, (page, offset), y, source), in reading order.

    Levels do not skip numbers. Equal headings at one position become one node.
    """
    nodes: list[_Node] = []
    stack: list[int] = []
    seen: set[tuple[str, int, int]] = set()
    for written, level, place, y, source in placed:
        title = " ".join(written.split())
        if not title or (title, *place) in seen:
            continue
        seen.add((title, *place))
        while stack and stack[-1] >= level:
            stack.pop()
        stack.append(level)
        nodes.append(_Node(title, min(len(stack), _DEEPEST), place, y, source))
    return nodes


def _thin(nodes: list[_Node], min_length: int) -> list[_Node]:
    """Return the nodes without unconfirmed layout headings that have almost no text before the next heading."""
    remaining = []
    for node, after in zip_longest(nodes, nodes[1:]):
        leaf = after is not None and after.level <= node.level and after.start[0] == node.start[0]
        label = leaf and node.source == "layout" and numbering(node.title) is None and not node.confirmed
        if not label or after.start[1] - node.start[1] - len(node.title) >= min_length:
            remaining.append(node)
    return remaining


def _cover(nodes: list[_Node]) -> list[_Node]:
    """Add a section "Front matter" for text before the first heading.

    If this text has only a few characters, it becomes part of the first section.
    """
    if not nodes:
        return []
    first = nodes[0]
    page, anchor = first.start
    if page == 1 and anchor <= _LEAD:
        for node in nodes:
            if node.start == (page, anchor):
                node.start = (1, 0)
        return nodes
    return [_Node("Front matter", 1, (1, 0), 0.0, "synthetic", True), *nodes]


def _close(nodes: list[_Node], pages: int) -> None:
    """Set the end of each node to the start of the next node that is not below it."""
    open_nodes: list[_Node] = []
    for node in nodes:
        while open_nodes and open_nodes[-1].level >= node.level:
            open_nodes.pop().end = node.start
        open_nodes.append(node)
    for node in open_nodes:
        node.end = (pages + 1, 0)


def _tokens(pages: Sequence[ParsedPage]) -> list[int]:
    """Return the estimated number of tokens before each page, by page number from 1. The last item is the total."""
    sums = [0, 0]
    for page in pages:
        sums.append(sums[-1] + len(page.text.encode()) // 4)
    return sums


def _split_by_headings(nodes: list[_Node], spare: list[_Node], tokens: list[int], limits: TreeLimits) -> list[_Node]:
    """Add less certain headings (``spare``) where a section has text above the size limits without headings."""
    starts = [node.start for node in spare]
    out: list[_Node] = []
    for i, node in enumerate(nodes):
        out.append(node)
        first, last = _own_pages(nodes, i)
        if len(_groups(first, last, tokens, limits)) > 1:
            inside = spare[bisect_right(starts, node.start) : bisect_left(starts, _own_end(nodes, i))]
            if len(inside) > 1 and len(inside) <= 4 * (last - first + 1):
                out += [replace(heading, level=min(node.level + 1, _DEEPEST)) for heading in inside]
    return out


def _own_end(nodes: list[_Node], i: int) -> tuple[int, int]:
    """Return the position (page, offset) at which a node's text before its first child ends."""
    has_child = i + 1 < len(nodes) and nodes[i + 1].level > nodes[i].level
    return nodes[i + 1].start if has_child else nodes[i].end


def _own_pages(nodes: list[_Node], i: int) -> tuple[int, int]:
    page, anchor = _own_end(nodes, i)
    return nodes[i].start[0], page if anchor else page - 1


def _split_by_pages(nodes: list[_Node], tokens: list[int], limits: TreeLimits) -> list[_Node]:
    """Add page groups where a section has text above the size limits without headings."""
    out: list[_Node] = []
    if not nodes:
        groups = _groups(1, len(tokens) - 2, tokens, limits)
        return [_Node(_group_title(a, b), 1, (a, 0), 0.0, "synthetic", True) for a, b in groups]
    for i, node in enumerate(nodes):
        out.append(node)
        groups = _groups(*_own_pages(nodes, i), tokens, limits)
        for a, b in groups if len(groups) > 1 else ():
            first = a == node.start[0]
            start, y = (node.start, node.y) if first else ((a, 0), 0.0)
            out.append(_Node(_group_title(a, b), node.level + 1, start, y, "synthetic", True))
    return out


def _groups(first: int, last: int, tokens: list[int], limits: TreeLimits) -> list[tuple[int, int]]:
    """Divide pages into ranges of even size within the limits. Only a single page may exceed them."""
    size = last - first + 1
    total = tokens[last + 1] - tokens[first] if last >= first else 0
    if size <= 1 or (size <= limits.max_pages and total <= limits.max_tokens):
        return [(first, last)]
    count = max(-(-size // limits.max_pages), -(-total // limits.max_tokens))
    most_pages, most_tokens = -(-size // count), limits.max_tokens
    groups: list[tuple[int, int]] = []
    start = first
    for page in range(first, last + 1):
        if page > start and (page - start >= most_pages or tokens[page + 1] - tokens[start] > most_tokens):
            groups.append((start, page - 1))
            start = page
    groups.append((start, last))
    return groups


def _group_title(first: int, last: int) -> str:
    return f"Page {first}" if first == last else f"Pages {first}–{last}"


def _sections(nodes: list[_Node]) -> tuple[Section, ...]:
    path: list[_Node] = []
    parents: list[int | None] = []
    at: list[int] = []
    for number, node in enumerate(nodes, 1):
        del path[node.level - 1 :], at[node.level - 1 :]
        parents.append(at[-1] if at else None)
        if node.start == node.end:  # without its own text: its parent must reach its page
            for holder in path:
                holder.reaches = holder.reaches or holder.end == node.end
        path.append(node)
        at.append(number)
    return tuple(
        _section(number, parent, node) for number, (parent, node) in enumerate(zip(parents, nodes, strict=True), 1)
    )


def _section(number: int, parent: int | None, node: _Node) -> Section:
    page, anchor = node.start
    end_page, end_anchor = node.end
    whole = end_anchor == 0 and end_page > page and not node.reaches
    return Section(
        node_id=f"{number:04d}",
        parent_id=None if parent is None else f"{parent:04d}",
        level=node.level,
        title=node.title,
        start_page=page,
        end_page=end_page - 1 if whole else end_page,
        anchor=anchor,
        end_anchor=None if whole else end_anchor,
        anchor_y=node.y,
        source=node.source,
        synthetic=node.synthetic,
    )
