"""Pages of office files as LibreOffice prints them: another view of them, which defines nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hybrid_core.errors import UsageError
from hybrid_pageindex.services import reading
from hybrid_pageindex.services.page_work import PageWork, format_of_document

if TYPE_CHECKING:
    from indexers.formats.drawing import Picture

_VERSION = "printed-1"
_MOST_KEPT = 20_000_000  # bytes of a PDF in the cache


def draw_printed(work: PageWork, library: str, name: str, number: int, picture: Picture) -> bytes:
    """Raises UsageError where its format is not one that LibreOffice prints, DocumentError where LibreOffice is not
    installed, fails, or the original has moved or changed.
    """
    from indexers.workers.protocol import PrintedPictureTask, PrintTask

    with work.catalog.snapshot() as snapshot:
        found = reading.one(snapshot, library, name)
        held = snapshot.library(library).id
        reading.check_inside([number], found)
        [page] = snapshot.pages(found.content_id, [number])
    format = format_of_document(found)
    if not format.printed:
        raise UsageError(f"{found.name}: LibreOffice does not print {format.title}.", "Look at it without this view.")
    key = f"{_VERSION}/{found.sha256}"
    printed = work.cache.get(key)
    if printed is None:
        with work.original(held, found) as path:
            printed = cast(bytes, work.run(PrintTask(path)))
        if len(printed) <= _MOST_KEPT:
            work.cache.offer({key: printed})
    slide = format.place == "slide"
    return cast(bytes, work.run(PrintedPictureTask(printed, number, page.text, slide, picture)))
