"""Files that want a password, or are broken."""

from __future__ import annotations

from pathlib import Path

import pymupdf

from tests.pdfs.odd_outlines import raw_pdf
from tests.pdfs.outlines import bookmarked
from tests.pdfs.sheet import Sheet, save

PASSWORD = "open sesame"


def _locked(path: Path, user: str) -> Path:
    document = pymupdf.open()
    Sheet(document).text("The vault of Wexcombe Savings opens at nine.")
    return save(
        document, path, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw=user, owner_pw="the owner",
        permissions=pymupdf.PDF_PERM_PRINT,
    )  # fmt: skip


def encrypted(path: Path) -> Path:
    """Needs PASSWORD to be opened."""
    return _locked(path, PASSWORD)


def permissions_only(path: Path) -> Path:
    """Encrypted so as to forbid copying and changes, but opens without a password."""
    return _locked(path, "")


def truncated(path: Path, keep: float = 0.04) -> Path:
    """A PDF of eight pages cut off after a share of its bytes: with 0.04 no page can be recovered."""
    whole = bookmarked(path).read_bytes()
    path.write_bytes(whole[: int(keep * len(whole))])
    return path


def truncated_late(path: Path) -> Path:
    """A PDF that lost its end (the cross-reference table): readers repair it and find pages."""
    whole = raw_pdf(["Repairable page one", "Repairable page two"])
    path.write_bytes(whole[: whole.rindex(b"xref\n", 0, whole.rindex(b"startxref"))])
    return path


def not_a_pdf(path: Path) -> Path:
    path.write_bytes(b"PK\x03\x04 this is something else with the wrong name\n" * 40)
    return path


def empty_file(path: Path) -> Path:
    path.write_bytes(b"")
    return path


def no_pages(path: Path) -> Path:
    path.write_bytes(raw_pdf([]))
    return path
