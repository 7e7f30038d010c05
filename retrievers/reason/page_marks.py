"""What is drawn on a page, as its text tells (captions, rows of a table) and a model that has seen it."""

from __future__ import annotations

import re
from typing import NamedTuple

from hybrid_core.text.table_rows import table_rows
from retrievers.reason.board import short

_CAPTION = re.compile(
    r"^\W{0,3}((?:figure|fig\.?|chart|graph|table|exhibit|diagram|map|photo(?:graph)?|image|illustration|plate|scheme"
    r"|abbildung|abb\.|tabelle|diagramm|foto|tableau|graphique|figura|tabla|gráfico)\s*[A-Z]?\d{1,3}(?:[.\-]\d{1,3})*[.:|–—\s]"
    r"|[图表]\s*\d{1,3})",
    re.IGNORECASE,
)
_SEEN = ("Figure: ", "Table: ")  # how a description's lines begin
_ROWS = 4  # lines that make a table
_CAPTIONS, _LENGTH = 2, 70  # captions that are shown, characters of each
_BARE_FIGURE = re.compile(r"[\s($€£¥+\-–−~≈<>]*\d[\d,.]*\s?(?:%|[kKmMbB]n?|x)?[)\s]*")
_FIGURES = 5  # lines that are a figure alone: those of a chart, whose names stand elsewhere
_WORDS = 25  # fewer leave most of a page to what is drawn


class SeenPage(NamedTuple):
    """What of a page matches best, and whether it has figures."""

    passage: str
    pictured: bool = False


def mark(text: str, described: str = "") -> str:
    """In brackets, "" where nothing tells."""
    lines = text.split("\n")
    said = _captions(text, described)[:_CAPTIONS]
    if not any(map(_of_table, said)) and len(table_rows(lines, range(len(lines)))) >= _ROWS:
        said.append("table")
    if not said and unlabelled(text):
        said.append("figures of a chart")
    if len(text.split()) < _WORDS and len(text) < 6 * _WORDS:
        said.append("little text")
    return f"[{'; '.join(said)}]" if said else ""


def pictured(text: str, described: str = "") -> bool:
    """Whether something else than a table is drawn."""
    return not all(map(_of_table, _captions(text, described)))


def unlabelled(text: str) -> bool:
    """Return whether a page's figures stand apart from their names, as those at the bars of a chart do."""
    lines = [line for line in text.split("\n") if line.strip()]
    bare = [at for at, line in enumerate(lines) if _BARE_FIGURE.fullmatch(line)]
    if len(bare) < _FIGURES:
        return False
    return 2 * len(table_rows(lines, bare)) < len(bare)


def _captions(text: str, described: str) -> list[str]:
    """Those of the page, else what a model has seen."""
    said = [short(line, _LENGTH) for line in text.split("\n") if _CAPTION.match(line)]
    return said or [short(line, _LENGTH) for line in described.split("\n") if line.startswith(_SEEN)]


def _of_table(caption: str) -> bool:
    return caption.lower().startswith(("tab", "表"))
