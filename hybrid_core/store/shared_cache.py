"""What takes long to make of a page, kept in this home and, where there is a bucket, for the other machines."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from hybrid_core.errors import UnreachableError
from hybrid_core.store.cache.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.objects.objects import Made


class SharedCache:
    """Keys hold the hash of what the values are made from, so that no value ever changes. What a bucket that does not
    answer would give is made again. Safe for several threads and processes. Raises as ``Cache`` does.
    """

    def __init__(self, near: Cache, catalog: Catalog, kind: Made) -> None:
        self.near, self._catalog, self._kind = near, catalog, kind

    def get(self, key: str) -> bytes | None:
        """From the home, else from the bucket, which is asked each time."""
        value = self.near.get(key)
        if value is not None:
            return value
        with suppress(UnreachableError):
            value = self._catalog.objects.made(self._kind, key)
        if value is not None:
            self.near.offer({key: value})
        return value

    def put(self, values: Mapping[str, bytes]) -> None:
        """Durable in the home when this returns."""
        self.near.put(values)
        self._share(values)

    def offer(self, values: Mapping[str, bytes]) -> None:
        """Keep values for those who look at pages: where the home cannot be written, without it."""
        self.near.offer(values)
        self._share(values)

    def _share(self, values: Mapping[str, bytes]) -> None:
        with suppress(UnreachableError):
            for key, value in values.items():
                self._catalog.objects.keep_made(self._kind, key, value)
