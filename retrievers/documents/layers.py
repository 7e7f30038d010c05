"""Values by key for one state of a library; the next state is made of what changed, and shares what did not.

What a state begins with may lie in a file that is mapped; what changed since is in memory, on top of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Self, TypeVar

from hybrid_core.store.mapped import MappedTable

V = TypeVar("V")
_NOTHING: Mapping[str, Any] = MappingProxyType({})
_GONE: Any = object()
_ABOVE: Any = object()  # not among what changed
_MOST_SEEN = 10_000
WrittenTable = tuple[str, Iterable[tuple[str, Any]]]


class Stored(Mapping[str, V]):
    """The values of a table as they were before they were written."""

    def __init__(self, table: MappedTable, read: Callable[[Any], V]) -> None:
        self._table, self._read = table, read
        self._seen: dict[object, V] = {}  # a search looks the same documents and words up again and again

    def __getitem__(self, key: str) -> V:
        found: V | None = self._seen.get(key)
        if found is None:
            try:
                found = self._read(self._table[key])
            except KeyError:
                found = _GONE
            self._keep(key, found)
        if found is _GONE:
            raise KeyError(key)
        return found

    def __contains__(self, key: object) -> bool:
        found = self._seen.get(key)
        if found is None and not (there := key in self._table):
            self._keep(key, _GONE)
        return there if found is None else found is not _GONE

    def _keep(self, key: object, value: V) -> None:
        if len(self._seen) >= _MOST_SEEN:
            self._seen.clear()
        self._seen[key] = value

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def entries(self) -> Iterator[tuple[str, V]]:
        return ((key, self._read(value)) for key, value in self._table.entries())


class Layered(Mapping[str, V]):
    """What changed on top of what was there. Never changed itself, so that searches may read it while the next is
    made."""

    def __init__(
        self, base: Mapping[str, V] = _NOTHING, changed: Mapping[str, V] = _NOTHING, count: int | None = None
    ) -> None:
        """``count`` is how many there are; None where nothing in ``changed`` is gone or in ``base`` too."""
        self._base, self._changed = base, changed
        self._count = len(base) + len(changed) if count is None else count

    def __getitem__(self, key: str) -> V:
        found: V = self._changed.get(key, _ABOVE)
        if found is _ABOVE:
            return self._base[key]
        if found is _GONE:
            raise KeyError(key)
        return found

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def __contains__(self, key: object) -> bool:
        if key in self._changed:
            return self._changed[key] is not _GONE  # type: ignore[index]
        return key in self._base

    def __iter__(self) -> Iterator[str]:
        return (key for key, _ in self.entries())

    def __len__(self) -> int:
        return self._count

    def entries(self) -> Iterator[tuple[str, V]]:
        base = self._base.entries() if isinstance(self._base, Stored) else self._base.items()
        for key, value in base:
            if key not in self._changed:
                yield key, value
        for key, value in self._changed.items():
            if value is not _GONE:
                yield key, value

    @property
    def above(self) -> int:
        """How many values lie in memory on top of what is stored."""
        return len(self._changed)

    def updated(self, came: Mapping[str, V], went: Iterable[str] = ()) -> Self:
        """The same with some values, and without those of some keys, which are not in both."""
        changed, count = dict(self._changed), self._count
        for key in went:
            if key in self:
                count -= 1
                if key in self._base:
                    changed[key] = _GONE
                else:
                    del changed[key]
        for key, value in came.items():
            count += key not in self
            changed[key] = value
        return self._on_top(changed, count)

    def _on_top(self, changed: Mapping[str, V], count: int) -> Self:
        return type(self)(self._base, changed, count)

    def changed_since(self, before: Layered[V]) -> Iterable[str]:
        """The keys whose values may differ, where both have one base."""
        return self._changed.keys() | before._changed.keys() if self._base is before._base else self.keys() | before


def differences(before: Mapping[str, V], now: Mapping[str, V]) -> tuple[dict[str, V], dict[str, V]]:
    """What went and what came; what was replaced by another object is in both."""
    layered = isinstance(now, Layered) and isinstance(before, Layered)
    keys = now.changed_since(before) if layered else now.keys() | before.keys()  # type: ignore[attr-defined]
    went, came = dict[str, V](), dict[str, V]()
    for key in keys:
        old, new = before.get(key), now.get(key)
        if old is not new:
            went |= {} if old is None else {key: old}
            came |= {} if new is None else {key: new}
    return went, came


class Postings(Layered[frozenset[str]]):
    """Sets of texts by key; the set of a key that is not there is empty."""

    def __getitem__(self, key: str) -> frozenset[str]:
        found: frozenset[str] = self.get(key, frozenset())
        return found

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return super().__getitem__(key)
        except KeyError:
            return default

    def with_pairs(self, went: Iterable[tuple[str, str]], came: Iterable[tuple[str, str]]) -> Postings:
        """The same without some pairs and with others; a pair that is in both stays."""
        less, more = _by_key(went), _by_key(came)
        if not less and not more:
            return self
        changed = {key: self[key].difference(less.get(key, ())).union(more.get(key, ())) for key in {**less, **more}}
        empty = [key for key, values in changed.items() if not values]
        return self.updated({key: values for key, values in changed.items() if values}, empty)


class Counts(Layered[int]):
    """How often keys were counted; 0 for one that is not there."""

    def __getitem__(self, key: str) -> int:
        found: int = self.get(key, 0)
        return found

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return super().__getitem__(key)
        except KeyError:
            return default

    def counted(self, went: Iterable[str], came: Iterable[str]) -> Counts:
        """The counts with what came and without what went."""
        more = Counter(came)
        more.subtract(Counter(went))
        changed = {key: self[key] + count for key, count in more.items() if count}
        empty = [key for key, count in changed.items() if not count]
        return self.updated({key: count for key, count in changed.items() if count}, empty)


class Tallies(Layered[Mapping[str, int]]):
    """Counts of texts by key."""

    def counted(self, went: Iterable[tuple[str, str]], came: Iterable[tuple[str, str]]) -> Tallies:
        """The counts with what came and without what went, each a key and a text."""
        more = Counter(came)
        more.subtract(Counter(went))
        changed: dict[str, dict[str, int]] = {}
        for (key, text), count in more.items():
            held = changed.setdefault(key, dict(self.get(key, ())))
            held[text] = held.get(text, 0) + count
            if not held[text]:
                del held[text]
        empty = [key for key, held in changed.items() if not held]
        return self.updated({key: held for key, held in changed.items() if held}, empty)


class Kind(NamedTuple):
    """How the values of one attribute are written as JSON and read again."""

    layers: type[Layered[Any]] = Layered
    read: Callable[[Any], Any] = lambda value: value
    write: Callable[[Any], Any] = lambda value: value


SETS = Kind(Postings, frozenset, list)
COUNTS = Kind(Counts)
TALLIES = Kind(Tallies)
PLAIN = Kind()


def written(owner: object, kinds: Mapping[str, Kind]) -> Iterator[WrittenTable]:
    """The attributes of a state as tables, by their names."""
    for name, kind in kinds.items():
        yield f"{type(owner).__name__}.{name}", _entries(getattr(owner, name), kind.write)


def _entries(values: Layered[Any], write: Callable[[Any], Any]) -> Iterator[tuple[str, Any]]:
    return ((key, write(value)) for key, value in values.entries())


def restore(owner: object, kinds: Mapping[str, Kind], tables: Mapping[str, MappedTable]) -> None:
    """Set the attributes of a state to what was written of one."""
    for name, kind in kinds.items():
        setattr(owner, name, kind.layers(Stored(tables[f"{type(owner).__name__}.{name}"], kind.read)))


def _by_key(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found
