"""A cache of values derived from pages, stored in this home and, if there is a bucket, shared with other machines.

Regions are the figures, tables, captions and headings that a layout model detects on a page. They are stored per page
and used for trees, image crops and highlights.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple
from typing import cast

from hybrid_core.errors import NotFoundError, UnreachableError
from hybrid_core.store.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.objects import DerivedKind
from hybrid_core.types.documents import Page
from hybrid_core.types.locators import Box, PlacedLine, Region, RegionKind


class SharedCache:
    """A cache of derived values that machines share through a bucket. Keys contain the hash of the input.

    If the bucket does not answer, values are missing and must be computed again. Safe for several threads and
    processes. Methods raise the errors of ``Cache``.
    """

    def __init__(self, near: Cache, catalog: Catalog, kind: DerivedKind) -> None:
        self.near, self._catalog, self._kind = near, catalog, kind

    def get(self, key: str) -> bytes | None:
        """Return a value from the home, else from the bucket, None if neither has it."""
        value = self.near.get(key)
        if value is not None:
            return value
        with suppress(UnreachableError):
            value = self._catalog.objects.derived(self._kind, key)
        if value is not None:
            self.near.offer({key: value})
        return value

    def put(self, values: Mapping[str, bytes]) -> None:
        """Store values. They are on the disk of the home when the call returns."""
        self.near.put(values)
        self._share(values)

    def offer(self, values: Mapping[str, bytes]) -> None:
        """Store values. Unlike ``put``, raise no error if the home cannot be written, and use only the bucket then."""
        self.near.offer(values)
        self._share(values)

    def _share(self, values: Mapping[str, bytes]) -> None:
        with suppress(UnreachableError):
            for key, value in values.items():
                self._catalog.objects.keep_derived(self._kind, key, value)


def page_regions(
    catalog: Catalog, cache: SharedCache, content_id: str, number: int, kinds: Sequence[RegionKind] = ()
) -> tuple[Region, ...] | None:
    """Return the regions that a layout model detected on a page, from top to bottom.

    ``number`` is the page's number from 1. ``kinds`` limits the regions to some kinds: for figures and tables,
    ``("picture", "figure", "table")``. Return None if no layout model has read the page, or its output is no longer
    cached. Raise NotFoundError if the catalog has no such content or page.
    """
    with catalog.snapshot() as snapshot:
        stored = snapshot.version(content_id)
        pages = [] if stored is None else snapshot.pages(content_id, [number])
    if stored is None or not pages:
        raise NotFoundError(
            f"Page {number} of this document is no longer in the catalog, because the document was "
            "removed or indexed again.",
            "Search again.",
        )
    if not stored.version.outline:
        return None
    packed = cache.get(
        regions_key(stored.version.sha256, stored.version.outline.partition("/")[0], number, lines_read(pages[0]))
    )
    if packed is None:
        return None
    regions = sorted(unpack_regions(packed), key=lambda region: (region.box[1], region.box[0]))
    return tuple(region for region in regions if not kinds or region.kind in kinds)


def lines_read(page: Page) -> tuple[PlacedLine, ...]:
    """Return the lines of a page with their boxes if its text comes from OCR, () if not."""
    texts = page.text.split("\n")
    if not page.ocr or len(page.boxes) != len(texts) or not all(map(any, page.boxes)):
        return ()
    return tuple((text, cast(Box, tuple(map(float, box)))) for text, box in zip(texts, page.boxes, strict=True))


def regions_key(sha256: str, model: str, number: int, lines: Sequence[PlacedLine]) -> str:
    """Return the cache key of the regions that ``model`` detected on page ``number`` of a file.

    ``lines`` are the lines that OCR read on the page.
    """
    of_lines = f"/{hashlib.sha256(repr(lines).encode()).hexdigest()[:24]}" if lines else ""
    return f"regions/{sha256}/{model}/{number}{of_lines}"


def pack_regions(regions: Sequence[Region]) -> bytes:
    return zlib.compress(json.dumps([astuple(region) for region in regions]).encode())


def unpack_regions(data: bytes) -> tuple[Region, ...]:
    return tuple(Region(kind, tuple(box)) for kind, box in json.loads(zlib.decompress(data)))
