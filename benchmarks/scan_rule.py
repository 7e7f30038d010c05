"""List the pages of a folder's PDFs that the engine treats as scans although they contain readable text.

    python -m benchmarks scan_rule FOLDER…

What counts as an error was defined before the engine's rule for scans was written. Filings made with word processors
have no scans, so none of their pages with text may be listed. Every listed page of other folders is inspected by a
person. It must be a picture with only a stamp, a running head or a page number as text.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hybrid_core.errors import DocumentError, PageIndexError
from hybrid_core.text.tokens import readable
from indexers.formats.pdf.read import PdfFile


def main(folders: list[str]) -> int:
    for folder in folders:
        pages = named = 0
        for path in sorted(Path(folder).rglob("*.pdf")):
            try:
                file = PdfFile(path)
            except PageIndexError:
                continue
            for page in file.read(range(1, file.pages + 1), lambda _: None):
                pages += 1
                if not isinstance(page, DocumentError) and page.needs_ocr and page.lines and readable(page.text):
                    named += 1
                    print(f"{path.name} page {page.number}: {' '.join(page.text.split())[:100]!r}")
            file.close()
        print(f"{folder}: {named} of {pages:,} pages are scans under readable text")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
