"""Regular expressions from users' files, which must not be able to stop a search.

Some expressions take exponential time on some texts, and Python's own cannot be interrupted; those of the
``regex`` package can. It is imported where a file has patterns: most searches use none.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hybrid_core.errors import UsageError

MOST_CHARACTERS = 2_000  # of a text that are looked at
_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression without regard to case; ``place`` says in errors where it is written."""

    written: str
    place: str
    _compiled: Any = field(repr=False, compare=False)

    def search(self, text: str) -> bool:
        """Whether the text's first 2,000 characters match somewhere. Raises UsageError where that takes too long."""
        try:
            return self._compiled.search(text[:MOST_CHARACTERS], timeout=_SECONDS) is not None
        except TimeoutError as error:
            raise UsageError(
                f"{self.place}: the pattern '{self.written}' takes more than {_SECONDS:g} s on '{text[:60]}'.",
                "Write it without repeats inside repeats.",
            ) from error


def pattern(written: str, place: str) -> Pattern:
    """Raises UsageError, which begins with ``place``, where it is no regular expression."""
    import regex

    try:
        return Pattern(written, place, regex.compile(written, regex.IGNORECASE))
    except regex.error as error:
        raise UsageError(f"{place} has a bad pattern ({error}).") from error
