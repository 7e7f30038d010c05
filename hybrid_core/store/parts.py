"""Many values a part at a time: a statement, or a call of an index, takes only so many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

_T = TypeVar("_T")


def parts(values: Iterable[_T], size: int = 500) -> Iterator[list[_T]]:
    """The values in order, in lists of ``size`` at most: 500 is what one list of a statement gets."""
    rest = iter(values)
    while some := list(islice(rest, size)):
        yield some
