"""What was read from a picture in the order of reading.

An engine that looks for blocks of text takes the columns of a table for columns of text; one that only finds lines
gives columns of text row by row. Both become rows here, and arrange() tells columns of running text by its rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median

from hybrid_core.types.documents import Line
from indexers.formats.pdf.reading_order import Piece, arrange

_CELL = 22  # letters up to which a piece beside others may be the cell of a table
_TORN = 0.5  # share of the pieces beside others that are cells, from which it is one
_LEVEL = 0.9  # share of the pieces that run level on a page that is not on its side
_SAME_ROW = 0.5  # of a line's height: by how much pieces of one row may differ


def in_reading_order(pieces: Sequence[Piece]) -> list[Line]:
    """The lines of a page."""
    return arrange(_rows(pieces) if _torn(pieces) else pieces)


def _torn(pieces: Sequence[Piece]) -> bool:
    """Whether a table comes column by column: cells that stand side by side do not follow each other."""
    level = [piece.line for piece in pieces if piece.level]
    backs = sum(after.y1 < before.y0 and after.x0 > before.x0 for before, after in pairwise(level))
    if not backs or len(level) < _LEVEL * len(pieces):
        return False
    beside = [line for line in level if any(_beside(line, other) for other in level)]
    cells = sum(len(line.text) <= _CELL for line in beside)
    return len(beside) > 4 and cells > _TORN * len(beside)


def _beside(line: Line, other: Line) -> bool:
    overlap = min(line.y1, other.y1) - max(line.y0, other.y0)
    apart = line.x0 >= other.x1 or other.x0 >= line.x1
    return apart and overlap > _SAME_ROW * min(line.y1 - line.y0, other.y1 - other.y0)


def _rows(pieces: Sequence[Piece]) -> list[Piece]:
    rows: list[list[Piece]] = []
    for piece in sorted(pieces, key=_middle):
        height = piece.line.y1 - piece.line.y0
        if rows and _middle(piece) - fmean(map(_middle, rows[-1])) < _SAME_ROW * min(height, _height(rows[-1])):
            rows[-1].append(piece)
        else:
            rows.append([piece])
    return [piece for row in rows for piece in sorted(row, key=lambda piece: piece.line.x0)]


def _middle(piece: Piece) -> float:
    return (piece.line.y0 + piece.line.y1) / 2


def _height(row: Sequence[Piece]) -> float:
    return median(piece.line.y1 - piece.line.y0 for piece in row)
