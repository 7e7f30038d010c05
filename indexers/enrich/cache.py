"""What a model said of one part of a document (a page, a section), kept so that an unchanged part is paid for once."""

from __future__ import annotations

import contextlib
import hashlib
from typing import Protocol

from hybrid_core.errors import StoreError
from hybrid_core.store.cache.cache import Cache

REFUSED = "page-refused"  # the kind of part that says why a model does not describe a page


class PartCache(Protocol):
    """Safe for several threads."""

    def get(self, key: str) -> str | None: ...

    def put(self, key: str, value: str) -> None: ...


def forget_refusals(cache: Cache) -> None:
    """Have models asked again about pages that they refused, once their documents are indexed anew."""
    cache.clear(f"part/{REFUSED}/")


class CacheParts:
    """Parts in the cache of a home; durable when ``put`` returns."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache

    def get(self, key: str) -> str | None:
        held = self._cache.get(f"part/{key}")
        return None if held is None else held.decode("utf-8")

    def put(self, key: str, value: str) -> None:
        with contextlib.suppress(StoreError):  # what cannot be kept has been given all the same
            self._cache.put({f"part/{key}": value.encode("utf-8", "replace")})


def part_key(kind: str, *decisive: str | bytes) -> str:
    """A key from everything that decides a part: the model's name, the prompt's id, the contents. No page numbers."""
    digest = hashlib.sha256()
    for one in decisive:
        data = one.encode("utf-8", "replace") if isinstance(one, str) else one
        digest.update(len(data).to_bytes(8, "little") + data)
    return f"{kind}/{digest.hexdigest()[:40]}"
