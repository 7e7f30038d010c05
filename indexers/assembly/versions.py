"""Versions of the parsed documents that this pipeline makes, and lookup of stored versions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from hybrid_core.cards.card import read_card
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.text.tokens import TOKENISER
from hybrid_core.types.documents import Card, IndexedContent
from hybrid_core.types.files import ContentVersion, Kind, StoredVersion
from indexers.assembly.chunks import ChunkSize
from indexers.formats.format import Format
from indexers.formats.registry import format_of
from indexers.ocr.engines import NoOcr, Ocr

_BUILD = f"tree-6+summaries-1+cards-4+titles-1+flags-1+gaps-2+{TOKENISER}"


def version_of(sha256: str, format: Format, chunks: ChunkSize = ChunkSize()) -> ContentVersion:
    """Return the version of a file's bytes in a format, before OCR and models."""
    return ContentVersion(sha256, format.name, format.version, chunks.policy, _BUILD)


def with_ocr(version: ContentVersion, ocr: Ocr, pages: int | None = None) -> ContentVersion:
    """Return the version of a document after OCR has read ``pages`` of its scanned pages. None means all of them."""
    return replace(version, ocr=ocr.tag, ocr_pages="" if pages is None else str(pages))


def card_of(file: Path, content: IndexedContent) -> Card:
    return read_card(file.name, content.metadata, content.title, [page.text for page in content.pages])


class StoredContents:
    """Lookup of parsed documents in the catalog.

    ``ocr`` returns the OCR engines when needed; ``chunks`` is the chunk size of this run.
    """

    def __init__(self, catalog: Catalog, ocr: Callable[[], Ocr | NoOcr], chunks: ChunkSize) -> None:
        self._catalog, self.ocr, self._chunks = catalog, ocr, chunks

    def target_version(self, file: Path, sha256: str) -> ContentVersion:
        """Return the version that this run gives to a file's bytes, before models improve the document."""
        return self.of_format(sha256, format_of(file))

    def of_format(self, sha256: str, format: Format) -> ContentVersion:
        """Return the version that this run gives to a file's bytes, if the format of the bytes is already known."""
        return version_of(sha256, format, self._chunks)

    def serves(self, stored: StoredVersion, target: ContentVersion, unread: bool | None = None) -> bool:
        """Return whether a stored version is as good as the one that this run makes without models.

        Without OCR every version is. With OCR, a version is as good if all its pages are readable or were read in these
        languages. ``unread`` is True if pages are unread, None if unknown.
        """
        version = stored.version
        if not version.made_as(target):
            return False
        if not version.ocr and not (self._unread(stored.content_id) if unread is None else unread):
            return True
        ocr = self.ocr()
        return isinstance(ocr, NoOcr) or version.by_rules == with_ocr(target.by_rules, ocr)

    def _unread(self, content_id: str) -> bool:
        with self._catalog.snapshot() as snapshot:
            return bool(snapshot.unread(content_id))

    def best(self, target: ContentVersion, tags: Mapping[Kind, str] = {}) -> StoredVersion | None:
        """Return a stored version that can be used, preferably one that these models have improved.

        If ``target`` has a refined tree, only versions with that tree can be used.
        """
        with self._catalog.snapshot() as snapshot:
            stored = snapshot.versions(target.sha256)
        serving = [version for version in sorted(stored, key=_most_made) if self.serves(version, target)]
        serving = [version for version in serving if not target.outline or version.version.outline == target.outline]
        done = [version for version in serving if tags and version.version.improved_by(tags)]
        return next(iter((*done, *serving)), None)

    def card(self, file: Path, content_id: str) -> Card:
        with self._catalog.snapshot() as snapshot:
            title, metadata = snapshot.title_and_metadata(content_id)
            pages = snapshot.pages(content_id)
        return read_card(file.name, json.loads(metadata), title, [page.text for page in pages])

    def encrypted(self, content_id: str) -> bool:
        """Return whether a password was needed to read the stored document."""
        with self._catalog.snapshot() as snapshot:
            _, metadata = snapshot.title_and_metadata(content_id)
        return "encryption" in json.loads(metadata)


def _most_made(stored: StoredVersion) -> tuple[bool, bool, bool, int, str]:
    """Return a sort key that orders stored versions by how much work models have done on them, the least first."""
    version = stored.version
    improved, refined = bool(version.llm or version.vlm), bool(version.outline)
    return improved, refined, bool(version.ocr), int(version.ocr_pages or 0), stored.content_id
