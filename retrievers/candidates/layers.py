"""Mappings that describe one state of a library. The mapping of the next state shares all unchanged values.

The base of a mapping may be a memory-mapped file. Later changes are kept in memory in a second layer.
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
_ABOVE: Any = object()  # marks keys that have not changed
_MOST_SEEN = 10_000
WrittenTable = tuple[str, Iterable[tuple[str, Any]]]


class Stored(Mapping[str, V]):
    """The values of a stored table, read on access."""

    def __init__(self, table: MappedTable, read: Callable[[Any], V]) -> None:
        self._table, self._read = table, read
        self._seen: dict[object, V] = {}  # a search reads the same documents and words repeatedly

    def __getitem__(self, key: str) -> V:
        value: V | None = self._seen.get(key)
        if value is None:
            try:
                value = self._read(self._table[key])
            except KeyError:
                value = _GONE
            self._keep(key, value)
        if value is _GONE:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        value = self._seen.get(key)
        if value is None and not (stored := key in self._table):
            self._keep(key, _GONE)
        return stored if value is None else value is not _GONE

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
    """A mapping with a layer of changed values above an unchanged base mapping.

    Values are never modified, so searches may read them while the next state is built.
    """

    def __init__(
        self, base: Mapping[str, V] = _NOTHING, changed: Mapping[str, V] = _NOTHING, count: int | None = None
    ) -> None:
        """Create a mapping.

        ``count`` is the number of keys. It may be None if ``changed`` only adds keys to those of ``base``.
        """
        self._base, self._changed = base, changed
        self._seen: Mapping[Any, V] = base._seen if isinstance(base, Stored) else base
        self._count = len(base) + len(changed) if count is None else count

    def __getitem__(self, key: str) -> V:
        value: V = self._changed.get(key, _ABOVE) if self._changed else _ABOVE
        if value is _ABOVE:
            seen = self._seen.get(key)
            return self._base[key] if seen is None or seen is _GONE else seen
        if value is _GONE:
            raise KeyError(key)
        return value

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def __contains__(self, key: object) -> bool:
        if key in self._changed:
            return self._changed[key] is not _GONE  # type: ignore[index]
        seen = self._seen.get(key)
        return key in self._base if seen is None else seen is not _GONE

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
        """Return the number of keys in the changed layer, including removed ones."""
        return len(self._changed)

    def updated(self, came: Mapping[str, V], went: Iterable[str] = ()) -> Self:
        """Return a copy in which the values of ``came`` are set and the keys of ``went`` are removed. No key may be in
        both.
        """
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
        """Return the keys whose values may differ from those in the earlier mapping ``before``."""
        return self._changed.keys() | before._changed.keys() if self._base is before._base else self.keys() | before


def differences(before: Mapping[str, V], now: Mapping[str, V]) -> tuple[dict[str, V], dict[str, V]]:
    """Return the removed and the added values by key. A replaced value is in both mappings."""
    layered = isinstance(now, Layered) and isinstance(before, Layered)
    keys = now.changed_since(before) if layered else now.keys() | before.keys()  # type: ignore[attr-defined]
    went, came = dict[str, V](), dict[str, V]()
    for key in keys:
        old, new = before.get(key), now.get(key)
        if old is not new:
            went |= {} if old is None else {key: old}
            came |= {} if new is None else {key: new}
    return went, came


class KeySets(Layered[frozenset[str]]):
    """Sets of texts by key. A missing key has an empty set."""

    def __getitem__(self, key: str) -> frozenset[str]:
        values: frozenset[str] = self.get(key, frozenset())
        return values

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return super().__getitem__(key)
        except KeyError:
            return default

    def with_pairs(self, went: Iterable[tuple[str, str]], came: Iterable[tuple[str, str]]) -> KeySets:
        """Return a copy with the (key, text) pairs in ``went`` removed and those in ``came`` added.

        A pair that is in both is added.
        """
        less, more = _by_key(went), _by_key(came)
        if not less and not more:
            return self
        changed = {key: self[key].difference(less.get(key, ())).union(more.get(key, ())) for key in {**less, **more}}
        empty = [key for key, values in changed.items() if not values]
        return self.updated({key: values for key, values in changed.items() if values}, empty)


class Counts(Layered[int]):
    """Counts by key. A missing key has the count 0."""

    def __getitem__(self, key: str) -> int:
        count: int = self.get(key, 0)
        return count

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return super().__getitem__(key)
        except KeyError:
            return default

    def counted(self, went: Iterable[str], came: Iterable[str]) -> Counts:
        """Return a copy with each key in ``came`` counted once more, and each key in ``went`` once less."""
        more = Counter(came)
        more.subtract(Counter(went))
        changed = {key: self[key] + count for key, count in more.items() if count}
        empty = [key for key, count in changed.items() if not count]
        return self.updated({key: count for key, count in changed.items() if count}, empty)


class Tallies(Layered[Mapping[str, int]]):
    """Counts of texts, by key: {key: {text: count}}."""

    def counted(self, went: Iterable[tuple[str, str]], came: Iterable[tuple[str, str]]) -> Tallies:
        """Return a copy with each (key, text) pair in ``came`` counted once more, and each pair in ``went`` once
        less.
        """
        more = Counter(came)
        more.subtract(Counter(went))
        changed: dict[str, dict[str, int]] = {}
        for (key, text), count in more.items():
            tally = changed.setdefault(key, dict(self.get(key, ())))
            tally[text] = tally.get(text, 0) + count
            if not tally[text]:
                del tally[text]
        empty = [key for key, tally in changed.items() if not tally]
        return self.updated({key: tally for key, tally in changed.items() if tally}, empty)


class Kind(NamedTuple):
    """The class of an attribute's mapping, and functions that convert its values from and to JSON."""

    layers: type[Layered[Any]] = Layered
    read: Callable[[Any], Any] = lambda value: value
    write: Callable[[Any], Any] = lambda value: value


SETS = Kind(KeySets, frozenset, list)
COUNTS = Kind(Counts)
TALLIES = Kind(Tallies)
PLAIN = Kind()


def written(owner: object, kinds: Mapping[str, Kind]) -> Iterator[WrittenTable]:
    """Yield the attributes of an object that ``kinds`` names, as tables for storage."""
    for name, kind in kinds.items():
        yield f"{type(owner).__name__}.{name}", _entries(getattr(owner, name), kind.write)


def _entries(values: Layered[Any], write: Callable[[Any], Any]) -> Iterator[tuple[str, Any]]:
    return ((key, write(value)) for key, value in values.entries())


def restore(owner: object, kinds: Mapping[str, Kind], tables: Mapping[str, MappedTable]) -> None:
    """Set the attributes of an object that ``kinds`` names, from stored tables."""
    for name, kind in kinds.items():
        setattr(owner, name, kind.layers(Stored(tables[f"{type(owner).__name__}.{name}"], kind.read)))


def _by_key(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for key, value in pairs:
        values.setdefault(key, []).append(value)
    return values
