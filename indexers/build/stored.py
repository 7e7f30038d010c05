"""What the catalog holds of a file's bytes, and whether that is as good as what a run would make of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

from hybrid_core.cards.card import read_card
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.types.documents import Card, IndexedContent
from hybrid_core.types.versions import ContentVersion, Kind, StoredVersion
from indexers.build.chunks import ChunkSize
from indexers.build.versions import version_of, with_ocr
from indexers.formats.format import Format
from indexers.formats.registry import format_of
from indexers.ocr.find import NoOcr, Ocr


def card_of(file: Path, content: IndexedContent) -> Card:
    return read_card(file.name, content.metadata, content.title, [page.text for page in content.pages])


class StoredContents:
    """``ocr`` is called when a version depends on it, ``chunks`` is how this run cuts texts."""

    def __init__(self, catalog: Catalog, ocr: Callable[[], Ocr | NoOcr], chunks: ChunkSize) -> None:
        self._catalog, self.ocr, self._chunks = catalog, ocr, chunks

    def wanted(self, file: Path, sha256: str) -> ContentVersion:
        """What this run makes of a file's bytes by rules alone."""
        return self.of_format(sha256, format_of(file))

    def of_format(self, sha256: str, format: Format) -> ContentVersion:
        """The same of bytes whose format is known."""
        return version_of(sha256, format, self._chunks)

    def serves(self, stored: StoredVersion, wanted: ContentVersion, unread: bool | None = None) -> bool:
        """Whether a stored version is as good as what this run would make instead without models.

        Without OCR every version is; with it one whose pages were all readable, or were read in these languages.
        ``unread``: whether some were not, where that is known.
        """
        version = stored.version
        if not version.made_as(wanted):
            return False
        if not version.ocr and not (self._unread(stored.content_id) if unread is None else unread):
            return True
        ocr = self.ocr()
        return isinstance(ocr, NoOcr) or version.by_rules == with_ocr(wanted.by_rules, ocr)

    def _unread(self, content_id: str) -> bool:
        with self._catalog.snapshot() as snapshot:
            return bool(snapshot.unread(content_id))

    def best(self, wanted: ContentVersion, tags: Mapping[Kind, str] = {}) -> StoredVersion | None:
        """A stored version that serves; if there is one, that which these models improved. Where ``wanted`` has a
        refined tree, only such.
        """
        with self._catalog.snapshot() as snapshot:
            stored = snapshot.versions(wanted.sha256)
        serving = [one for one in sorted(stored, key=_most_made) if self.serves(one, wanted)]
        serving = [one for one in serving if not wanted.outline or one.version.outline == wanted.outline]
        done = [one for one in serving if tags and one.version.improved_by(tags)]
        return next(iter((*done, *serving)), None)

    def card(self, file: Path, content_id: str) -> Card:
        with self._catalog.snapshot() as snapshot:
            title, metadata = snapshot.title_and_metadata(content_id)
            pages = snapshot.pages(content_id)
        return read_card(file.name, json.loads(metadata), title, [page.text for page in pages])

    def encrypted(self, content_id: str) -> bool:
        """Whether a password was needed for what is stored."""
        with self._catalog.snapshot() as snapshot:
            _, metadata = snapshot.title_and_metadata(content_id)
        return "encryption" in json.loads(metadata)


def _most_made(stored: StoredVersion) -> tuple[bool, bool, bool, int, str]:
    """What the rules made comes before what others added to it."""
    version = stored.version
    improved, refined = bool(version.llm or version.vlm), bool(version.outline)
    return improved, refined, bool(version.ocr), int(version.ocr_pages or 0), stored.content_id
