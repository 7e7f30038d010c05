"""What pages show that their text does not hold, and which of them are worth a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hybrid_core.types.layouts import Box

MOST = 3  # pictures of a question that nobody asked for
_WHOLE = 0.6  # share of the page from which its figures are shown with all of it
_AROUND = 36.0  # points around figures, where their captions and the words at their axes stand
_MATTERS = 0.04  # share of a page from which its figures are more than ornaments
_TOGETHER = 4  # slides that one picture shows at most: at half their size they can still be read
_MARKS = 2  # curves and bars that are more than a rule


@dataclass(frozen=True, slots=True)
class Showing:
    """A page of ``width`` by ``height`` points. ``figures`` are boxes of pictures, drawings and tables without text,
    ``marks`` those of curves and bars, which may be a chart of thin lines and labels; ``scan``: its text was read from
    its picture, or could not be read.
    """

    width: float
    height: float
    figures: tuple[Box, ...] = ()
    scan: bool = False
    marks: tuple[Box, ...] = ()

    @property
    def share(self) -> float:
        """Of the page that its figures cover, 0 to 1."""
        whole = max(1.0, self.width * self.height)
        return min(1.0, sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in self.figures) / whole)

    @property
    def unread(self) -> bool:
        """Whether its text lacks what it shows."""
        return self.scan or self.share >= _MATTERS or len(self.marks) >= _MARKS

    @property
    def slide(self) -> bool:
        """Whether it is wider than high, as pages are that are made to be read from afar."""
        return self.width > self.height and self.clip is None

    @property
    def clip(self) -> Box | None:
        """Around its figures, None for all of the page."""
        if self.scan or self.share < _MATTERS:
            return None
        lefts, tops, rights, bottoms = zip(*self.figures, *self.marks, strict=True)
        box = (
            max(0.0, min(lefts) - _AROUND), max(0.0, min(tops) - _AROUND),
            min(self.width, max(rights) + _AROUND), min(self.height, max(bottoms) + _AROUND),
        )  # fmt: skip
        part = (box[2] - box[0]) * (box[3] - box[1])
        return box if part < _WHOLE * self.width * self.height else None


def pictured(pages: Sequence[Showing | None], documents: Sequence[str], most: int) -> list[tuple[int, ...]]:
    """Which pages (from 0, the best first) are sent in each of at most ``most`` pictures: the first whose text lacks
    what they show. The last picture has, beside a slide, what is left of the slides of its document.
    """
    unread = [at for at, page in enumerate(pages) if page is not None and page.unread]
    alone, left = unread[:most], unread[most:]
    if not left:
        return [(at,) for at in alone]

    def slide_of(at: int) -> str:
        page = pages[at]
        return documents[at] if page is not None and page.slide else ""

    last = alone[-1] if alone else -1
    beside = [at for at in left if last >= 0 and slide_of(at) and slide_of(at) == slide_of(last)]
    return [*((at,) for at in alone[:-1]), (last, *beside[: _TOGETHER - 1])] if alone else []
