"""Versions of parsed documents: which code, options and models produced them. Lookup of stored versions."""

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

_BUILD = f"tree-7+summaries-1+cards-4+titles-1+flags-1+gaps-2+{TOKENISER}"


def version_of(sha256: str, format: Format, chunks: ChunkSize = ChunkSize()) -> ContentVersion:
    """Return the version record for these bytes, parsed as a format with these chunk sizes, without OCR or models."""
    return ContentVersion(sha256, format.name, format.version, chunks.policy, _BUILD)


def with_ocr(version: ContentVersion, ocr: Ocr, pages: int | None = None) -> ContentVersion:
    """Return the version record after OCR has read ``pages`` scanned pages of the document, None for all."""
    return replace(version, ocr=ocr.tag, ocr_pages="" if pages is None else str(pages))


def card_of(file: Path, content: IndexedContent) -> Card:
    return read_card(file.name, content.metadata, content.title, [page.text for page in content.pages])


class StoredContents:
    """Lookup of parsed documents that the catalog already stores.

    ``ocr`` returns the OCR engines when needed; ``chunks`` is the chunk size of this run.
    """

    def __init__(self, catalog: Catalog, ocr: Callable[[], Ocr | NoOcr], chunks: ChunkSize) -> None:
        self._catalog, self.ocr, self._chunks = catalog, ocr, chunks

    def target_version(self, file: Path, sha256: str) -> ContentVersion:
        """Return the version record that indexing this file now would store, before models improve the document.

        The format is detected from the file.
        """
        return self.of_format(sha256, format_of(file))

    def of_format(self, sha256: str, format: Format) -> ContentVersion:
        """Return the version record that indexing these bytes as ``format`` now would store."""
        return version_of(sha256, format, self._chunks)

    def serves(self, stored: StoredVersion, target: ContentVersion, unread: bool | None = None) -> bool:
        """Return whether a stored version can be used instead of parsing the file as ``target``.

        It must come from the same bytes and code. If it has pages that need OCR, they must have been read by the
        present engines and languages. Without OCR engines, such pages may stay unread. ``unread`` tells whether it has
        unread pages; with None this is looked up.
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
        """Return a stored version that can be used instead of parsing again, None if there is none.

        A version that the models in ``tags`` have improved is preferred. If ``target`` has a refined tree, only
        versions with that tree can be used.
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
        """Return whether the file of a stored document could be read only with a password."""
        with self._catalog.snapshot() as snapshot:
            _, metadata = snapshot.title_and_metadata(content_id)
        return "encryption" in json.loads(metadata)


def _most_made(stored: StoredVersion) -> tuple[bool, bool, bool, int, str]:
    """Return a sort key for stored versions. Versions without work by models come first, those with most work last."""
    version = stored.version
    improved, refined = bool(version.llm or version.vlm), bool(version.outline)
    return improved, refined, bool(version.ocr), int(version.ocr_pages or 0), stored.content_id
