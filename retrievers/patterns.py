"""Regular expressions from users' files, which must not be able to stop a search.

RE2 takes time in proportion to the text, whatever the expression (Cox, «Regular Expression Matching in the Wild»,
2010). Of hundreds it tries only those whose words occur. It has no look-around and no back-references. It is imported
where a file has patterns: not every search uses one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from hybrid_core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression without regard to case."""

    written: str
    _compiled: Any = field(repr=False, compare=False)

    def search(self, text: str) -> bool:
        """Whether it matches somewhere in the text."""
        return self._compiled.search(_bytes(text)) is not None


def pattern(written: str, place: str) -> Pattern:
    """Raises UsageError, which begins with ``place``, where it is no regular expression that RE2 knows."""
    import re2

    try:
        return Pattern(written, re2.compile(written, _options()))
    except re2.error as error:
        said = error.args[0].decode() if isinstance(error.args[0], bytes) else error
        raise UsageError(
            f"{place} has a bad pattern ({said}).", "Write it without look-around and back-references."
        ) from error


def matching(patterns: Sequence[Pattern], text: str) -> list[int]:
    """The places of those patterns that match somewhere in the text, in order."""
    if not patterns:
        return []
    return sorted(_together(tuple(one.written for one in patterns)).Match(_bytes(text)) or [])


@lru_cache(maxsize=16)
def _together(written: tuple[str, ...]) -> Any:
    import re2

    together, options = re2.Filter(), _options()
    for one in written:
        together.Add(one, options)
    together.Compile()
    return together


@lru_cache(maxsize=1)
def _options() -> Any:
    import re2

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    return options


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
