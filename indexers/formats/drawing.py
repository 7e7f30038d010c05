"""How large a page is drawn, and into how many pictures it is cut for a model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

ImageFormat = Literal["png", "jpeg"]
PageView = Literal["page", "office"]
_LEAST_DPI = 1.0


@dataclass(frozen=True, slots=True)
class Drawing:
    """``side`` is the most pixels of a picture's longer side. A page that is larger at ``dpi`` is cut into at most
    ``tiles`` pictures; where these do not suffice it is drawn coarser. 1: it is always one picture.
    """

    dpi: int = 150
    format: ImageFormat = "png"
    side: int = 2000
    tiles: int = 4


@dataclass(frozen=True, slots=True)
class Picture:
    """``side`` is the most pixels of the longer side and ``most_bytes`` of the file, which only JPEG keeps to; 0: as
    large as ``dpi`` makes it. ``clip`` is the part of a single page that is drawn, None: all of it; ``title`` stands in
    a strip above it, and ``titles`` above the pages of a contact sheet in place of their numbers.
    """

    dpi: int = 150
    format: ImageFormat = "png"
    side: int = 0
    most_bytes: int = 0
    clip: tuple[float, float, float, float] | None = None
    title: str = ""
    titles: tuple[str, ...] = ()


def layout(width: float, height: float, how: Drawing) -> tuple[float, int, int]:
    """Dots per inch, and tiles across and down, for a page of so many points."""
    dpi = float(how.dpi)
    if how.tiles == 1:
        return min(dpi, fitting(width, height, how.side)), 1, 1
    while dpi > _LEAST_DPI:
        across, down = (max(1, math.ceil(side * dpi / 72 / how.side - 1e-9)) for side in (width, height))
        if across * down <= how.tiles:
            return dpi, across, down
        dpi *= 0.95
    return fitting(width, height, how.side), 1, 1


def fitting(width: float, height: float, side: int) -> float:
    """The resolution at which the longer side has so many pixels."""
    return side / (max(width, height, 1.0) / 72)
