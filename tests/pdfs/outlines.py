"""Files whose headings are known, by bookmarks, printed contents or layout."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pymupdf

from tests.pdfs.sheet import LEFT, Outline, Sheet, prose, save

BOOKMARKED: Outline = (
    (1, "Summary", 2),
    (1, "Operations", 3),
    (2, "Plants", 3),
    (3, "Plant in Orsova Bay", 4),
    (2, "Transport", 5),
    (1, "Finance", 6),
    (2, "Revenue", 6),
    (2, "Borrowings", 7),
    (1, "Outlook", 8),
)


def bookmarked(path: Path) -> Path:
    """A report of eight pages whose bookmarks are BOOKMARKED; each leads to the heading with its title."""
    document = pymupdf.open()
    toc: list[list[object]] = []
    cover = Sheet(document, 300)
    cover.heading("Tarn Hollow Ceramics", 26)
    cover.heading("Report to the members 2024", 16)
    for number in range(2, 9):
        sheet = Sheet(document)
        for level, title, page in BOOKMARKED:
            if page == number:
                target = {"kind": pymupdf.LINK_GOTO, "to": pymupdf.Point(LEFT, sheet.y)}
                toc.append([level, title, page, target])
                sheet.heading(title, 20 - 3 * level)
                sheet.text(prose(title.lower(), number, 14 - 2 * level))
        sheet.at(300, 810, str(number))
    document.set_toc(toc)
    return save(document, path, "Tarn Hollow Ceramics: report to the members 2024")


PRINTED: Outline = (
    (1, "Preface", 4),
    (1, "1 Introduction", 5),
    (2, "1.1 Who should read this manual", 5),
    (2, "1.2 Warning signs", 6),
    (1, "2 Installation", 8),
    (2, "2.1 Preparing the shaft", 8),
    (2, "2.2 Wiring the door contacts and the emergency telephone of each landing", 10),
    (1, "3 Operation", 12),
    (2, "3.1 Normal service", 12),
    (2, "3.2 Fire service", 14),
    (1, "4 Maintenance", 16),
    (1, "Appendix A Fault codes", 18),
)
PRINTED_PAGES = 18
PRINTED_LABELS = ("i", "ii", "iii", "iv", *(str(n) for n in range(1, 15)))


def printed_contents(path: Path, *, labels: bool = True) -> Path:
    """A manual with a printed contents on page 3 (dot leaders; one title wrapped) that gives PRINTED.

    Four pages of front matter are numbered in roman, the body in arabic from 1. Each page prints its
    label at the foot; with ``labels`` the PDF defines page labels too. It has no bookmarks.
    """
    document = pymupdf.open()
    cover = Sheet(document, 280)
    cover.heading("Halden Lift Controller HL-40", 24)
    cover.heading("Service manual, third edition", 14)
    imprint = Sheet(document, 600)
    imprint.text("Halden Lift Works. All drawings in this manual are the property of the maker.", 9)
    contents = Sheet(document)
    contents.heading("Contents", 18)
    for level, title, page in PRINTED:
        indent = 18.0 * (level - 1)
        *first, last = textwrap.wrap(title, 52)
        for line in first:
            contents.y += 17
            contents.at(LEFT + indent, contents.y, line, 10.5, "tiro")
        contents.dots(last, PRINTED_LABELS[page - 1], indent)
    for number in range(4, PRINTED_PAGES + 1):
        sheet = Sheet(document)
        for level, title, page in PRINTED:
            if page == number:
                for i, line in enumerate(textwrap.wrap(title, 60)):
                    sheet.heading(line, 16 if level == 1 else 12.5)
                    sheet.y -= 8 if i else 0
                sheet.text(prose(title.lower(), number, 9))
        if not any(page == number for _, _, page in PRINTED):
            sheet.text(prose("the same subject, continued", number, 16))
    for page, label in zip(document, PRINTED_LABELS, strict=True):
        page.insert_text((295, 810), label, fontsize=9, fontname="helv")
    if labels:
        document.set_page_labels([
            {"startpage": 0, "prefix": "", "style": "r", "firstpagenum": 1},
            {"startpage": 4, "prefix": "", "style": "D", "firstpagenum": 1},
        ])  # fmt: skip
    return save(document, path, "Halden Lift Controller HL-40")


SHARED_PAGE: Outline = (
    (1, "Licence fees", 1),
    (1, "Warehouse rents", 2),
    (1, "Insurance of vehicles", 2),
    (1, "Travel", 2),
    (1, "Closing remarks", 3),
)


def two_sections_on_a_page(path: Path) -> Path:
    """Three pages; the second holds the end of one section and three whole ones."""
    document = pymupdf.open()
    for number in (1, 2, 3):
        sheet = Sheet(document)
        if number == 2:
            sheet.text("Licence fees, continued: the quillwort tariff stays in force until June.")
        for _, title, page in SHARED_PAGE:
            if page == number:
                sheet.heading(title)
                sheet.text(prose(title.lower(), number, 7))
    return save(document, path, "Bramble & Oake: cost handbook")
