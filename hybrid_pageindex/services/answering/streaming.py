"""What of a reply is passed on as it comes: an answer, but not a request to read more, and no «not in the sources»."""

from __future__ import annotations

from collections.abc import Callable

from retrievers.answer.wishes import MARK, SEARCH

NOT_THERE = "NOT IN THE SOURCES"  # what the prompt has the model begin with where they hold no answer
_MARKS = (*(f"{MARK}{what}" for what in ("D", "SOURCE")), SEARCH)


class HeldBack:
    """Holds a beginning that may still turn out to be no answer."""

    def __init__(self, on_text: Callable[[str], None]) -> None:
        self._on_text, self._held, self._passing = on_text, "", False

    def __call__(self, piece: str) -> None:
        if self._passing:
            self._on_text(piece)
            return
        self._held += piece
        begun = self._held.strip().upper()
        if begun and not any(mark.startswith(begun[: len(mark)]) for mark in (NOT_THERE, *_MARKS)):
            self.release()

    def release(self) -> None:
        """It is an answer after all."""
        if not self._passing:
            self._passing = True
            if self._held:
                self._on_text(self._held)
