"""Values by key for one state of a library; the next state is made of what changed, and shares what did not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


def differences(before: Mapping[str, V], now: Mapping[str, V]) -> tuple[dict[str, V], dict[str, V]]:
    """What went and what came; what was replaced by another object is in both."""
    came = {key: value for key, value in now.items() if before.get(key) is not value}
    went = {key: before[key] for key in came if key in before}
    if len(before) - len(went) != len(now) - len(came):
        went |= {key: value for key, value in before.items() if key not in now}
    return went, came


class Postings(Generic[K, V]):
    """Sets of values by key. Never changed, so that searches may read it while the next is made."""

    def __init__(self, held: Mapping[K, frozenset[V]] | None = None) -> None:
        self._held = held or {}

    def updated(self, went: Iterable[tuple[K, V]], came: Iterable[tuple[K, V]]) -> Postings[K, V]:
        """The same without some pairs and with others; a pair that is in both stays."""
        less, more = _by_key(went), _by_key(came)
        if not less and not more:
            return self
        held = dict(self._held)
        for key in less.keys() | more.keys():
            left = self[key].difference(less.get(key, ())).union(more.get(key, ()))
            if left:
                held[key] = left
            else:
                held.pop(key, None)
        return Postings(held)

    def __getitem__(self, key: K) -> frozenset[V]:
        return self._held.get(key, frozenset())

    def __iter__(self) -> Iterator[K]:
        return iter(self._held)

    def __contains__(self, key: object) -> bool:
        return key in self._held


def _by_key(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    found: dict[K, list[V]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found
