"""Pictures of pages: of the original file, or of the text where pages have no look of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from hybrid_core.types.documents import Document
from hybrid_pageindex.services import reading
from hybrid_pageindex.services.page_work import PageWork, format_of_document

if TYPE_CHECKING:
    from indexers.formats.drawing import Picture

SHEET = 12  # pages on a contact sheet
SIDE = 1568  # pixels: models that see scale down what is larger
MOST_BYTES = 300_000


class Pictures:
    """Safe for several threads."""

    def __init__(self, work: PageWork) -> None:
        self._catalog, self._cache, self._settings, self._work = work.catalog, work.cache, work.settings, work

    def draw(self, library: str, name: str, pages: Sequence[int], picture: Picture, password: str | None) -> bytes:
        """A page, or several as a contact sheet; cached by content.

        Raises DocumentError where the original has moved, changed or cannot be drawn, UsageError where its format is
        not known here.
        """
        with self._catalog.snapshot() as snapshot:
            found = reading.one(snapshot, library, name)
            held = snapshot.library(library).id
            reading.check_inside(pages, found)
            own = format_of_document(found).show is not None
            texts = () if own else tuple((page.number, page.text) for page in snapshot.pages(found.content_id, pages))
        shape = f"{picture.dpi}-{picture.side}-{picture.most_bytes}.{picture.format}"
        drawn_from = "" if own else f"{hashlib.sha256(repr(texts).encode()).hexdigest()[:24]}-"
        key = f"image/{found.sha256}/{','.join(map(str, pages))}/{drawn_from}{shape}"
        if (kept := self._cache.get(key)) is not None:
            return kept
        image = self._drawn(held, found, pages, picture, password) if own else self._drawn_texts(texts, picture)
        self._cache.put({key: image})
        return image

    def _drawn(
        self, library: str, found: Document, pages: Sequence[int], picture: Picture, password: str | None
    ) -> bytes:
        from indexers.formats.limits import ParseLimits
        from indexers.workers.protocol import PictureTask

        with self._work.original(library, found) as path:
            limits = self._settings.part(ParseLimits)
            return cast(bytes, self._work.run(PictureTask(path, password, tuple(pages), limits, picture)))

    def _drawn_texts(self, texts: tuple[tuple[int, str], ...], picture: Picture) -> bytes:
        from indexers.workers.protocol import TextPictureTask

        return cast(bytes, self._work.run(TextPictureTask(texts, picture)))
