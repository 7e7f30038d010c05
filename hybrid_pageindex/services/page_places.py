"""Where in its file a page's lines stand."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hybrid_core.types.locators import BookLocator


@dataclass(frozen=True, slots=True)
class PlaceRead:
    """Where in the file a page's lines stand, from ``line`` (from 0) on, and the words that it begins with.

    ``Engine.find_place`` finds it again by both. ``path`` are the headings above it, from the top.
    """

    line: int
    place: str
    quote: str
    path: tuple[str, ...] = ()

    @property
    def locator(self) -> BookLocator | None:
        """What it says to programs that read books; None in other formats."""
        from hybrid_core.types.locators import book_locator

        return book_locator(self.place)

    def to_dict(self) -> dict[str, Any]:
        """The JSON shape: ``locator`` only in books."""
        locator = self.locator
        return asdict(self) | ({} if locator is None else {"locator": asdict(locator)})
