r"""Regular expressions from users' files, which must not be able to stop a search.

RE2 takes time in proportion to the text, whatever the expression (Cox, «Regular Expression Matching in the Wild»,
2010). Of hundreds it tries only those whose words occur. It has no look-around and no back-references. It is imported
where a file has patterns: not every search uses one.

A match begins and ends where words do, whether or not a pattern says so: ``venue`` is not found in «revenue», and what
is the beginning of words is written ``deriv\w*``. In scripts without spaces between words nothing is asked of the
characters beside a match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from hybrid_core.errors import UsageError

# Letters of words that spaces part, Latin, Greek and Cyrillic with their marks, as ranges: a hundred times as quick to
# compile as the scripts by name, of which every pattern has two.
_LETTER = r"0-9A-Za-z_\x{c0}-\x{52f}\x{1e00}-\x{1fff}"
_BEGINS = rf"(?-i:^|[^{_LETTER}]|[0-9A-Za-z_]\b)"
_ENDS = rf"(?-i:$|[^{_LETTER}]|\b[0-9A-Za-z_])"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression over whole words, without regard to case. ``whole`` is what is tried for ``written``."""

    written: str
    whole: str = field(repr=False, compare=False)

    def search(self, text: str) -> bool:
        """Whether it matches somewhere in the text."""
        return _compiled(self.whole).search(_bytes(text)) is not None

    def covers(self, text: str) -> bool:
        """Whether it matches the whole text."""
        return _compiled(self.whole).fullmatch(_bytes(text)) is not None


def pattern(written: str, place: str) -> Pattern:
    """Raises UsageError, which begins with ``place``, where it is no regular expression that RE2 knows."""
    import re2

    try:
        re2.compile(written, _options())  # by itself, so that brackets and errors are the writer's own
    except re2.error as error:
        said = error.args[0].decode() if isinstance(error.args[0], bytes) else error
        raise UsageError(
            f"{place} has a bad pattern ({said}).", "Write it without look-around and back-references."
        ) from error
    return Pattern(written, f"{_BEGINS}(?:{written}){_ENDS}")


def matching(patterns: Sequence[Pattern], text: str) -> list[int]:
    """The places of those patterns that match somewhere in the text, in order."""
    if not patterns:
        return []
    return sorted(_together(tuple(one.whole for one in patterns)).Match(_bytes(text)) or [])


@lru_cache(maxsize=16)
def _together(written: tuple[str, ...]) -> Any:
    import re2

    together, options = re2.Filter(), _options()
    for one in written:
        together.Add(one, options)
    together.Compile()
    return together


@lru_cache(maxsize=2_000)  # most are only ever tried together with others
def _compiled(whole: str) -> Any:
    import re2

    return re2.compile(whole, _options())


@lru_cache(maxsize=1)
def _options() -> Any:
    import re2

    options = re2.Options()
    options.case_sensitive = False
    options.log_errors = False
    return options


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
