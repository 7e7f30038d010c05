"""Pages that are pictures in a document of text: covers, publishers' marks, advertisements, maps."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_core.types.documents import ParsedPage


def find_plates(pages: Sequence[ParsedPage]) -> frozenset[int]:
    """Numbers of the pages that were read by OCR alone among printed ones; none where most of the text was.

    Large letters on them are pictures more often than headings. Neighbours that were both read so are
    a scanned part, which has headings like any text.
    """
    with_text = [page for page in pages if page.lines]
    read = {page.number for page in with_text if page.ocr}
    if 2 * len(read) >= len(with_text):
        return frozenset()
    return frozenset(number for number in read if not read & {number - 1, number + 1})
