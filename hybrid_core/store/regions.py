"""Where figures, tables, captions and headings stand on pages that a layout model has read: kept with the cache, by
page, so they serve trees, crops and highlights without being read again.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Sequence
from dataclasses import astuple
from typing import cast

from hybrid_core.errors import NotFoundError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.shared_cache import SharedCache
from hybrid_core.types.documents import Page
from hybrid_core.types.layouts import Box, PlacedLine, Region, RegionKind


def page_regions(
    catalog: Catalog, cache: SharedCache, content_id: str, number: int, kinds: Sequence[RegionKind] = ()
) -> tuple[Region, ...] | None:
    """The regions of a page (from 1) from top to bottom, those of some ``kinds`` only where these are named: figures
    and tables are ``("picture", "figure", "table")``. None where no layout model has read the page, or the cache has
    dropped what it said. Raises NotFoundError where the catalog holds no such content, or it has no such page.
    """
    with catalog.snapshot() as snapshot:
        stored = snapshot.version(content_id)
        pages = [] if stored is None else snapshot.pages(content_id, [number])
    if stored is None or not pages:
        raise NotFoundError(f"page {number} of content {content_id}: the catalog does not hold it.", "Search again.")
    if not stored.version.outline:
        return None
    kept = cache.get(regions_key(stored.version.sha256, stored.version.outline, number, lines_read(pages[0])))
    if kept is None:
        return None
    found = sorted(unpack_regions(kept), key=lambda region: (region.box[1], region.box[0]))
    return tuple(region for region in found if not kinds or region.kind in kinds)


def lines_read(page: Page) -> tuple[PlacedLine, ...]:
    """The lines of a page that was read from its picture, which holds no text of its own; () of any other."""
    texts = page.text.split("\n")
    if not page.ocr or len(page.boxes) != len(texts) or not all(map(any, page.boxes)):
        return ()
    return tuple((text, cast(Box, tuple(map(float, box)))) for text, box in zip(texts, page.boxes, strict=True))


def regions_key(sha256: str, model: str, number: int, lines: Sequence[PlacedLine]) -> str:
    """``model`` read page ``number`` of the file; ``lines`` are those that were read from the page's picture."""
    of_lines = f"/{hashlib.sha256(repr(lines).encode()).hexdigest()[:24]}" if lines else ""
    return f"regions/{sha256}/{model}/{number}{of_lines}"


def pack_regions(regions: Sequence[Region]) -> bytes:
    return zlib.compress(json.dumps([astuple(region) for region in regions]).encode())


def unpack_regions(data: bytes) -> tuple[Region, ...]:
    return tuple(Region(kind, tuple(box)) for kind, box in json.loads(zlib.decompress(data)))
