"""Texts of slides as HTML: paragraphs with bullets and numbers, runs with fonts, sizes and colours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from html import escape
from typing import Any

import pymupdf
from lxml import etree

from indexers.formats.office.ooxml import paragraph_text, unescaped
from indexers.formats.office.pptx import number_item
from indexers.formats.office.slide_styles import (
    BLACK,
    Sheets,
    TextStyle,
    first_child,
    level_nodes,
    name_of,
    number,
    share,
)

_EMU = 12_700  # English Metric Units per point
_SERIF, _MONO = (
    re.compile(r"times|georgia|garamond|cambria|roman|palatino", re.I),
    re.compile(r"courier|consolas|mono", re.I),
)
_BULLETS = {"§": "▪", "Ø": "➢", "ü": "✓", "q": "❑", "v": "❖", "n": "■", "l": "●", "u": "◆"}  # of the font Wingdings
_ALIGN = {"ctr": "center", "r": "right", "just": "justify", "dist": "justify"}


@cache
def _font() -> pymupdf.Font:
    """Return the font that stands for the fonts of slides."""
    return pymupdf.Font("helv")


class TextHtml:
    """A writer of the texts of one slide as HTML."""

    def __init__(self, sheets: Sheets) -> None:
        self._sheets = sheets

    def text(self, body: Any, style: TextStyle) -> str:
        """Return the paragraphs of a text as HTML, "" if it has no words."""
        fit = body.find("{*}bodyPr/{*}normAutofit")
        size, reduction = (1.0, 0.0) if fit is None else (share(fit, "fontScale", 1.0), share(fit, "lnSpcReduction"))
        counts: dict[int, int] = {}
        paragraphs = body.findall("{*}p")
        if not any(paragraph_text(paragraph).strip() for paragraph in paragraphs):
            return ""
        return "".join(self._paragraph(paragraph, style, size, reduction, counts) for paragraph in paragraphs)

    def _paragraph(
        self, paragraph: Any, style: TextStyle, size: float, reduction: float, counts: dict[int, int]
    ) -> str:
        nodes = list(level_nodes(style, paragraph))
        level = min(8, max(0, int(number(nodes[0] if nodes else None, "lvl"))))
        mark = number_item(paragraph, level, counts, style.lists)
        runs, height = [], 0.0
        for node in paragraph:
            kind = name_of(node)
            if kind in ("r", "fld"):
                text, css, points = self._run(node, nodes, style, size)
                height = height or points
                runs.append(f'<span style="{css}">{text}</span>')
            elif kind == "br":
                runs.append("<br/>")
            elif kind not in ("pPr", "endParaRPr"):
                whole = etree.Element("p")
                whole.append(deepcopy(node))
                runs.append(escape(paragraph_text(whole)))
        end = paragraph.find("{*}endParaRPr")
        height = height or self._size([end, *_run_defaults(nodes)], size)

        def stated(name: str) -> float:
            return next((number(node, name) for node in nodes if node.get(name) is not None), 0.0) / _EMU

        def space(name: str) -> float:
            holder = first_child(nodes, f"{{*}}{name}")
            if holder is None or not len(holder):
                return 0.0
            return share(holder[0]) * height if name_of(holder[0]) == "spcPct" else number(holder[0], "val") / 100

        left, indent = max(0.0, stated("marL")), stated("indent")
        words = "".join(runs).strip()
        if words and (bullet := mark or self._bullet(nodes)):
            gap, wide = (_font().text_length(text, height) for text in ("\u00a0", bullet))
            count = max(1, int((max(0.0, -indent) - wide) / gap))  # spaces up to the text
            indent = -(wide + count * gap)
            left = max(left, -indent)
            _, css, _ = self._run(paragraph.find("{*}r"), nodes, style, size)
            words = f'<span style="{css}; text-decoration: none">{escape(bullet)}{"&#160;" * count}</span>{words}'
        lines = (space("lnSpc") / height if height else 0) or 1.0
        align = next((_ALIGN.get(node.get("algn"), "left") for node in nodes if node.get("algn") is not None), "left")
        rule = (
            f"text-align: {align}; margin: {space('spcBef'):.1f}pt 0 {space('spcAft'):.1f}pt {left:.1f}pt; "
            f"line-height: {max(0.7, 1.2 * lines * (1 - reduction)):.2f}; font-size: {height:.1f}pt; "
            f"text-indent: {max(indent, -left):.1f}pt"
        )
        return f'<p style="{rule}">{words or "&#160;"}</p>'

    @staticmethod
    def _bullet(nodes: Sequence[Any]) -> str:
        for node in nodes:
            for child in node:
                if name_of(child) in ("buNone", "buAutoNum"):
                    return ""
                if name_of(child) == "buBlip":
                    return "•"
                if name_of(child) == "buChar":
                    char = child.get("char") or "•"
                    font = first_child(nodes, "{*}buFont")
                    if font is not None and "wingdings" in (font.get("typeface") or "").lower():
                        char = _BULLETS.get(char, "•")
                    return char if char.isprintable() and _font().has_glyph(ord(char[0])) else "•"
        return ""

    def _run(self, run: Any, nodes: Sequence[Any], style: TextStyle, size: float) -> tuple[str, str, float]:
        """Return a run as escaped text, its style in CSS, and its size in points."""
        own = run.find("{*}rPr") if run is not None else None
        sources = [node for node in (own, *_run_defaults(nodes)) if node is not None]

        def stated(name: str) -> str:
            return next((node.get(name) for node in sources if node.get(name) is not None), "")

        points = self._size(sources, size)
        link = own is not None and own.find("{*}hlinkClick") is not None
        fills = [self._sheets.fill(node) for node in sources]
        first = fills[0] if own is not None else (False, None)
        inherited = next((colour for is_stated, colour in fills if is_stated), None)
        colour = first[1] or (self._sheets.colours.get("hlink") if link else None) or style.colour or inherited
        colour = colour or self._sheets.colours.get("tx1", BLACK)
        latin = first_child(sources, "{*}latin")
        face = self._sheets.typeface(latin.get("typeface") or "" if latin is not None else "+mn-lt")
        family = "serif" if _SERIF.search(face) else "monospace" if _MONO.search(face) else "sans-serif"
        raised = stated("baseline").rstrip("%")
        shift = "" if not raised.strip("-0.") else "sub" if raised.startswith("-") else "super"
        css = f"font-size: {points * (0.65 if shift else 1):.1f}pt; color: {colour.css}; font-family: {family}"
        css += f"; vertical-align: {shift}" if shift else ""
        css += "; font-weight: bold" if stated("b") in ("1", "true") or (style.bold and not stated("b")) else ""
        css += "; font-style: italic" if stated("i") in ("1", "true") else ""
        lines = ["underline"] if link or stated("u") not in ("", "none") else []
        lines += ["line-through"] if stated("strike") in ("sngStrike", "dblStrike") else []
        css += f"; text-decoration: {' '.join(lines)}" if lines else ""
        text = unescaped(run.findtext("{*}t") or "") if run is not None else ""
        text = escape(text.upper() if stated("cap") == "all" else text)
        return text.replace("\v", "<br/>").replace("\t", "&#8195;"), css, points

    @staticmethod
    def _size(sources: Sequence[Any], scale: float) -> float:
        sizes = (number(node, "sz") for node in sources if node is not None and node.get("sz"))
        return max(1.0, min(4_000.0, next(sizes, 1_800.0) / 100 * scale))


def _run_defaults(nodes: Sequence[Any]) -> list[Any]:
    return [node for holder in nodes if (node := holder.find("{*}defRPr")) is not None]
