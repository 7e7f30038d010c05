"""Words of DrawingML, which Word, PowerPoint and Excel draw with: paragraphs, shapes, diagrams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lxml import etree

from indexers.formats.flow.scripts import Piece, linear
from indexers.formats.office.equations import EQUATION, equation

DRAWN = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_ALTERNATE = "{http://schemas.openxmlformats.org/markup-compatibility/2006}AlternateContent"
_DEEPEST = 20


def choose_alternatives(root: etree._Element) -> None:
    """Put the first of each set of alternatives that holds anything in the place of all."""
    for node in list(root.iter(_ALTERNATE)):
        parent = node.getparent()
        if parent is None:
            continue
        chosen = next((choice for choice in node if len(choice)), None)
        at = parent.index(node)
        parent[at : at + 1] = list(chosen) if chosen is not None else []


def drawn_lines(shape: etree._Element) -> Iterator[str]:
    """The alternative texts and the paragraphs of a drawn shape."""
    choose_alternatives(shape)
    for node in shape.iter("{*}cNvPr"):
        if node.get("descr"):
            yield " ".join((node.get("descr") or "").split())
    for paragraph in shape.iter(f"{DRAWN}p"):
        if line := " ".join(paragraph_text(paragraph).split()):
            yield line


def paragraph_text(paragraph: etree._Element) -> str:
    """A paragraph with what stands above and below its lines, and its equations."""
    pieces: list[Piece] = []
    waiting: list[tuple[Any, int, bool]] = [(node, 0, False) for node in reversed(paragraph)]
    while waiting:
        element, shift, struck = waiting.pop()
        name = str(element.tag).rpartition("}")[2]
        if element.tag == EQUATION:
            pieces.append(Piece(equation(element)))
        elif name == "t":
            pieces.append(Piece(element.text or "", shift, struck))
        elif name == "br":
            pieces.append(Piece("\n"))
        elif name not in ("rPr", "pPr", "endParaRPr", "Fallback"):
            if name in ("r", "fld") and (how := element.find(f"{DRAWN}rPr")) is not None:
                raised = (how.get("baseline") or "0").rstrip("%").lstrip("+")
                shift = 0 if not raised.strip("-0.") else -1 if raised.startswith("-") else 1
                struck = how.get("strike") in ("sngStrike", "dblStrike")
            waiting += [(node, shift, struck) for node in reversed(element)]
    return linear(pieces)


def diagram_lines(root: etree._Element) -> Iterator[tuple[int, str]]:
    """The words of a diagram (SmartArt) with their depth, in the order of its connections; others after them."""
    points = {node.get("modelId", ""): node for node in root.iter(f"{_DIAGRAM}pt")}
    below: dict[str, list[tuple[int, str]]] = {}
    for node in root.iter(f"{_DIAGRAM}cxn"):
        if node.get("type", "parOf") == "parOf":
            order = node.get("srcOrd") or "0"
            below.setdefault(node.get("srcId", ""), []).append(
                (int(order) if order.isdigit() else 0, node.get("destId", ""))
            )
    first = [(0, name) for name, node in points.items() if node.get("type") == "doc"]
    waiting, seen = list(reversed(first)), set[str]()
    while waiting or len(seen) < len(points):
        if not waiting:
            waiting = [(1, name) for name in reversed(points) if name not in seen]
        depth, name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if (point := points.get(name)) is not None:
            for paragraph in point.iter(f"{DRAWN}p"):
                if line := " ".join(paragraph_text(paragraph).split()):
                    yield max(0, depth - 1), line
        children = sorted(below.get(name, ()), reverse=True)
        waiting += [(min(depth + 1, _DEEPEST), child) for _, child in children if child not in seen]
