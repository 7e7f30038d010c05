"""PDFs for tests: small, made on the spot, and about companies that do not exist.

Every function writes one file and returns its path. The same call writes the same bytes, except for
encrypted files, whose salt is random. Constants beside a function say what a correct reader finds in
its file: (level, title, physical page) for outlines, (question, file name, page) for questions.
"""

from tests.pdfs.filings import FISCAL_QUESTIONS, fiscal_reports
from tests.pdfs.odd_outlines import cyclic_bookmarks, far_bookmarks, many_bookmarks, outside_bookmarks
from tests.pdfs.outlines import (
    BOOKMARKED,
    PRINTED,
    PRINTED_LABELS,
    PRINTED_PAGES,
    SHARED_PAGE,
    bookmarked,
    printed_contents,
    two_sections_on_a_page,
)
from tests.pdfs.pages import (
    ARABIC,
    CHINESE,
    RUNNING_FOOT,
    RUNNING_HEAD,
    TABLE_CELL,
    arabic,
    chinese,
    mixed,
    numbered,
    one_blank_page,
    rotated,
    running_heads,
    scanned,
    tables,
)
from tests.pdfs.pictured import PICTURED, pictured
from tests.pdfs.sheet import HEIGHT, LEFT, RIGHT, WIDTH, Outline, Sheet, landmark, prose
from tests.pdfs.unreadable import (
    PASSWORD,
    empty_file,
    encrypted,
    no_pages,
    not_a_pdf,
    permissions_only,
    truncated,
    truncated_late,
)

__all__ = [
    "ARABIC",
    "BOOKMARKED",
    "CHINESE",
    "FISCAL_QUESTIONS",
    "HEIGHT",
    "LEFT",
    "PASSWORD",
    "PICTURED",
    "PRINTED",
    "PRINTED_LABELS",
    "PRINTED_PAGES",
    "RIGHT",
    "RUNNING_FOOT",
    "RUNNING_HEAD",
    "SHARED_PAGE",
    "TABLE_CELL",
    "WIDTH",
    "Outline",
    "Sheet",
    "arabic",
    "bookmarked",
    "chinese",
    "cyclic_bookmarks",
    "empty_file",
    "encrypted",
    "far_bookmarks",
    "fiscal_reports",
    "landmark",
    "many_bookmarks",
    "mixed",
    "no_pages",
    "not_a_pdf",
    "numbered",
    "one_blank_page",
    "outside_bookmarks",
    "permissions_only",
    "pictured",
    "printed_contents",
    "prose",
    "rotated",
    "running_heads",
    "scanned",
    "tables",
    "truncated",
    "truncated_late",
    "two_sections_on_a_page",
]
