"""What the catalog holds of a file's bytes, and whether that is as good as what a run would make of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from hybrid_core.cards.card import read_card
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.documents import Card, IndexedContent
from indexers.build.versions import Kind, improved, with_ocr, without_models, without_ocr
from indexers.ocr.tesseract import NoOcr, Tesseract


def card_of(file: Path, content: IndexedContent) -> Card:
    return read_card(file.name, content.metadata, content.title, [page.text for page in content.pages])


class Stored:
    """``ocr`` is called when a version depends on it."""

    def __init__(self, catalog: Catalog, ocr: Callable[[], Tesseract | NoOcr]) -> None:
        self._catalog, self.ocr = catalog, ocr

    def serves(self, version: str, content: str, unread: int | None = None) -> bool:
        """Whether a stored version is as good as what this run would make of the content without models.

        Without OCR every version is; with it one whose pages were all readable, or were read in these languages.
        ``unread`` is how many were not, where that is known.
        """
        if without_ocr(version) != content:
            return False
        before = without_models(version)
        if before == content and not (self._unread(version) if unread is None else unread):
            return True
        ocr = self.ocr()
        return isinstance(ocr, NoOcr) or before == with_ocr(content, ocr)

    def _unread(self, version: str) -> bool:
        with self._catalog.snapshot() as snapshot:
            return snapshot.needs_ocr(version)

    def best(self, content: str, tags: Mapping[Kind, str] = {}) -> tuple[str, int] | None:
        """A stored version that serves and its number of pages; if there is one, that which these models improved."""
        with self._catalog.snapshot() as snapshot:
            stored = snapshot.versions(content)
        serving = [version for version in sorted(stored, key=len) if self.serves(version, content)]
        done = [version for version in serving if tags and improved(version, tags)]
        return next(((version, stored[version]) for version in (*done, *serving)), None)

    def card(self, file: Path, version: str) -> Card:
        with self._catalog.snapshot() as snapshot:
            title, metadata = snapshot.title_and_metadata(version)
            pages = snapshot.pages(version)
        return read_card(file.name, json.loads(metadata), title, [page.text for page in pages])

    def encrypted(self, version: str) -> bool:
        """Whether a password was needed for what is stored."""
        with self._catalog.snapshot() as snapshot:
            _, metadata = snapshot.title_and_metadata(version)
        return "encryption" in json.loads(metadata)
