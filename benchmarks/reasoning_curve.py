"""Draw curves of accuracy against cost: hit@k by the share of questions that need a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 50, 560, 40, 350
_LABEL = 14  # between the names of lines that end together


@dataclass(frozen=True)
class Line:
    """A curve of points (share of questions asked, hit@k), both from 0 to 1."""

    name: str
    colour: str
    dashed: bool
    points: Sequence[tuple[float, float]]


def draw(title: str, lines: Sequence[Line], chosen: float, file: Path) -> None:
    """Write the curves as an SVG file. ``chosen`` is the share of questions for which the default setting asks the
    model.
    """
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif"',
        f' font-size="12" role="img"><title>{title}</title>',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="20">{title}</text>',
        f'<path d="M{_LEFT} {_TOP}V{_BOTTOM}H{_RIGHT}" fill="none" stroke="#888"/>',
        f'<text x="{(_LEFT + _RIGHT) / 2:.0f}" y="{_BOTTOM + 38}" text-anchor="middle">share of questions asked</text>',
        f'<path d="M{_x(chosen):.1f} {_TOP}V{_BOTTOM}" stroke="#888" stroke-dasharray="2 3"/>',
        f'<text x="{_x(chosen) + 4:.1f}" y="{_BOTTOM - 6}" fill="#555">default</text>',
    ]
    for tick in range(6):
        share = tick / 5
        parts.append(f'<text x="{_LEFT - 8}" y="{_y(share) + 4:.1f}" text-anchor="end">{share:g}</text>')
        parts.append(f'<text x="{_x(share):.1f}" y="{_BOTTOM + 18}" text-anchor="middle">{share:g}</text>')
    labels: list[float] = []
    for line in lines:
        ends = " ".join(f"{_x(at):.1f},{_y(value):.1f}" for at, value in (line.points[0], line.points[-1]))
        parts.append(f'<polyline points="{ends}" fill="none" stroke="{line.colour}" stroke-opacity=".35"/>')
        points = " ".join(f"{_x(at):.1f},{_y(value):.1f}" for at, value in line.points)
        dash = ' stroke-dasharray="6 4"' if line.dashed else ""
        parts.append(f'<polyline points="{points}" fill="none" stroke="{line.colour}" stroke-width="2"{dash}/>')
        label = _y(line.points[-1][1]) + 4
        while any(abs(label - other) < _LABEL for other in labels):
            label += _LABEL
        labels.append(label)
        parts.append(f'<text x="{_RIGHT + 8}" y="{label:.1f}" fill="{line.colour}">{line.name}</text>')
    file.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


def _x(share: float) -> float:
    return _LEFT + (_RIGHT - _LEFT) * share


def _y(value: float) -> float:
    return _BOTTOM - (_BOTTOM - _TOP) * value
