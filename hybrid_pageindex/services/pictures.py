"""Pictures of pages: of the original file, or of text and pictures where pages have no look of their own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from hybrid_core.store.shared_cache import SharedCache
from hybrid_core.types.documents import Document
from hybrid_pageindex.services import reading
from hybrid_pageindex.services.page_work import PageWork, format_of_document

if TYPE_CHECKING:
    from hybrid_core.types.layouts import Illustration
    from indexers.formats.drawing import Picture

SHEET = 12  # pages on a contact sheet
SIDE = 1568  # pixels: models that see scale down what is larger
MOST_BYTES = 300_000


class Pictures:
    """Safe for several threads."""

    def __init__(self, work: PageWork) -> None:
        self.work = work
        self._catalog, self._cache, self._settings = work.catalog, work.cache, work.settings
        self._shared = SharedCache(work.cache, work.catalog, "pictures")

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
        titles = "|".join(filter(None, (picture.title, *picture.titles)))
        part = f"{picture.clip}-{titles}-" if picture.clip or titles else ""
        shape = f"{part}{picture.dpi}-{picture.side}-{picture.most_bytes}.{picture.format}"
        place = f"image/{found.sha256}/{','.join(map(str, pages))}/"
        if own:
            return self._kept(place + shape, lambda: self._drawn(held, found, pages, picture, password))
        plain = f"{place}{hashlib.sha256(repr(texts).encode()).hexdigest()[:24]}-{shape}"
        if self.work.may_show(held, found):
            illustrated = f"{plain}-illustrated"
            if (kept := self._cache.get(illustrated)) is not None:
                return kept
            if (shown := self.work.illustrations(held, found, texts)) is not None:
                return self._kept(illustrated, lambda: self._drawn_texts(texts, picture, shown))
        return self._kept(plain, lambda: self._drawn_texts(texts, picture, ((),) * len(texts)))

    def _kept(self, key: str, draw: Callable[[], bytes]) -> bytes:
        image = self._shared.get(key)
        if image is None:
            image = draw()
            self._shared.offer({key: image})
        return image

    def _drawn(
        self, library: str, found: Document, pages: Sequence[int], picture: Picture, password: str | None
    ) -> bytes:
        from indexers.formats.limits import ParseLimits
        from indexers.workers.protocol import PictureTask

        with self.work.original(library, found) as path:
            limits = self._settings.part(ParseLimits)
            return cast(bytes, self.work.run(PictureTask(path, password, tuple(pages), limits, picture)))

    def _drawn_texts(
        self, texts: tuple[tuple[int, str], ...], picture: Picture, shown: tuple[tuple[Illustration, ...], ...]
    ) -> bytes:
        from indexers.workers.protocol import TextPictureTask

        return cast(bytes, self.work.run(TextPictureTask(texts, picture, shown)))
