"""PDFs for tests: small, made on the spot, and about companies that do not exist.

Every function writes one file and returns its path. The same call writes the same bytes, except for
encrypted files, whose salt is random. Constants beside a function say what a correct reader finds in
its file: (level, title, physical page) for outlines, (question, file name, page) for questions.
"""

from __future__ import annotations

import hashlib
import random
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pymupdf

WIDTH, HEIGHT, LEFT, RIGHT = 595.0, 842.0, 72.0, 523.0
_DATE = "D:20250301090000Z"
_SUBJECTS = (
    "The maintenance crew", "Our regional office", "The supervisory board", "A customer in the north",
    "The calibration laboratory", "Each field engineer", "The purchasing team", "An outside reviewer",
)  # fmt: skip
_VERBS = ("examined", "scheduled", "described", "replaced", "documented", "postponed", "compared", "approved")
_OBJECTS = (
    "the spare parts in the eastern store", "the shift plan for the winter months", "a set of worn couplings",
    "the drawings of the second hall", "the agreement with the carrier", "the readings of the night shift",
    "the training of new colleagues", "the list of open complaints",
)  # fmt: skip
_ENDS = ("before the season began", "after a long discussion", "without delay", "as the plan had foreseen")

Outline = tuple[tuple[int, str, int], ...]


def prose(topic: str, seed: int, sentences: int = 8) -> str:
    """Plain sentences about a topic, different for every seed."""
    pick = random.Random(f"{topic}/{seed}").choice
    kinds = (_SUBJECTS, _VERBS, _OBJECTS, _ENDS)
    parts = [" ".join(map(pick, kinds)) + "." for _ in range(sentences - 1)]
    return " ".join([f"This part deals with {topic}.", *parts])


def landmark(topic: str, number: int) -> str:
    """A made-up word that stands on page ``number`` of ``numbered(..., topic)`` and nowhere else."""
    digest = hashlib.sha256(f"{topic}/{number}".encode()).hexdigest()[:10]
    return "zo" + digest.translate(str.maketrans("0123456789abcdef", "bdfghjklmnprtvwz")) + "ox"


class Sheet:
    """One page being written from top to bottom."""

    def __init__(self, document: pymupdf.Document, top: float = 96.0) -> None:
        self.page = document.new_page(width=WIDTH, height=HEIGHT)
        self.y = top

    def heading(self, text: str, size: float = 15.0) -> None:
        self.y += size + 4
        self.page.insert_text((LEFT, self.y), text, fontsize=size, fontname="hebo")
        self.y += 10

    def text(self, text: str, size: float = 10.5, font: str = "tiro", width: int = 88) -> None:
        lines = textwrap.wrap(text, width)
        self.y += size * 1.3
        self.page.insert_text((LEFT, self.y), lines, fontsize=size, fontname=font, lineheight=1.3)
        self.y += size * 1.3 * (len(lines) - 1) + 8

    def at(self, x: float, y: float, text: str, size: float = 9.0, font: str = "helv") -> None:
        self.page.insert_text((x, y), text, fontsize=size, fontname=font)

    def right(self, x: float, text: str, size: float = 10.0, font: str = "helv") -> None:
        self.at(x - pymupdf.get_text_length(text, fontname=font, fontsize=size), self.y, text, size, font)

    def row(self, label: str, cells: Sequence[str], font: str = "helv") -> None:
        """A table row: its label at the left margin, its cells right-aligned in columns of 75 points."""
        self.y += 15
        self.at(LEFT, self.y, label, 10, font)
        for i, cell in enumerate(cells):
            self.right(RIGHT - 75 * (len(cells) - 1 - i), cell, 10, font)

    def dots(self, title: str, label: str, indent: float = 0.0) -> None:
        """A line of a printed contents: title, dot leaders, label at the right margin."""
        self.y += 17
        used, dot = (pymupdf.get_text_length(text, "tiro", 10.5) for text in (title + label, "."))
        dots = "." * int((RIGHT - LEFT - indent - used - 12) / dot)
        self.at(LEFT + indent, self.y, f"{title} {dots}", 10.5, "tiro")
        self.right(RIGHT, label, 10.5, "tiro")


def _save(document: pymupdf.Document, path: Path, title: str = "", **options: object) -> Path:
    document.set_metadata({"title": title, "author": "", "creationDate": _DATE, "modDate": _DATE})
    document.save(path, garbage=3, deflate=True, no_new_id=True, **options)
    document.close()
    return path


# --- outlines ---------------------------------------------------------------------------------------

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
    return _save(document, path, "Tarn Hollow Ceramics: report to the members 2024")


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
    return _save(document, path, "Halden Lift Controller HL-40")


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
    return _save(document, path, "Bramble & Oake: cost handbook")


# --- content of pages -------------------------------------------------------------------------------

TABLE_CELL = "48,215"  # Net sales of Region North in 2024, on page 2


def tables(path: Path) -> Path:
    """Two pages of tables: staff by site, then net sales by region and year."""
    document = pymupdf.open()
    sheet = Sheet(document)
    sheet.heading("Staff by site")
    sheet.row("Site", ["2024", "2023", "2022"], "hebo")
    for site, count in (("Foundry", 412), ("Paint shop", 96), ("Test field", 58), ("Head office", 131)):
        sheet.row(site, [str(count), str(count - 7), str(count - 19)])
    sheet = Sheet(document)
    sheet.heading("Net sales by region")
    sheet.text("Amounts are in thousands of crowns. Figures in brackets are reductions.")
    sheet.row("Region", ["2024", "2023", "Change"], "hebo")
    sheet.row("Region North", [TABLE_CELL, "45,870", "2,345"])
    sheet.row("Region South", ["31,660", "32,904", "(1,244)"])
    sheet.row("Overseas", ["17,093", "15,558", "1,535"])
    sheet.row("Total", ["96,968", "94,332", "2,636"], "hebo")
    return _save(document, path, "Morrow Gear Works: tables")


RUNNING_HEAD = "Ellery Canal Trust - Yearbook 2022"
RUNNING_FOOT = "Printed on recycled paper"


def running_heads(path: Path, pages: int = 6) -> Path:
    """Every page carries RUNNING_HEAD above, RUNNING_FOOT and its number below, and a heading of its own."""
    document = pymupdf.open()
    for number in range(1, pages + 1):
        sheet = Sheet(document, 110)
        sheet.at(LEFT, 50, RUNNING_HEAD, 9, "heit")
        sheet.at(LEFT, 806, RUNNING_FOOT, 8)
        sheet.at(RIGHT - 12, 806, str(number), 8)
        sheet.heading(f"Lock number {number}")
        sheet.text(prose(f"the lock at mile {number * 3}", number, 12))
    return _save(document, path, "Ellery Canal Trust yearbook")


CHINESE = (
    ("第一章 总则", "为了规范青禾灌溉设备公司的采购活动，提高资金使用效益，制定本制度。"),
    ("第二章 采购计划", "各部门应当于每年十一月底前提交下一年度的采购计划，由财务部汇总审核。"),
    ("第三章 资本支出", "二〇二五年度资本支出为三千二百万元，主要用于建设滴灌管生产线。"),
)


def chinese(path: Path) -> Path:
    """Three pages of Chinese, one chapter each (CHINESE: heading, text)."""
    document = pymupdf.open()
    for title, text in CHINESE:
        page = document.new_page(width=WIDTH, height=HEIGHT)
        page.insert_text((LEFT, 110), title, fontsize=18, fontname="china-s")
        lines = textwrap.wrap(text, 32)
        page.insert_text((LEFT, 150), lines, fontsize=12, fontname="china-s", lineheight=1.5)
    return _save(document, path, "青禾灌溉设备公司采购制度")


ARABIC = (
    ("تقرير الشركة", "بلغت النفقات الرأسمالية خمسين مليون دينار"),
    ("شبكة المياه", "أنشأت الشركة محطة جديدة لتحلية مياه البحر"),
)


def arabic(path: Path) -> Path:
    """Two pages of Arabic (ARABIC: heading, text), stored letter by letter as presentation forms."""
    document = pymupdf.open()
    font = pymupdf.Font("helv")  # Arabic letters come from its built-in fallback
    for title, text in ARABIC:
        page = document.new_page(width=WIDTH, height=HEIGHT)
        writer = pymupdf.TextWriter(page.rect)
        writer.append((LEFT, 110), title, font=font, fontsize=20, right_to_left=True)
        writer.append((LEFT, 150), text, font=font, fontsize=12, right_to_left=True)
        writer.write_text(page)
    return _save(document, path, "Arabic report")


def mixed(path: Path) -> Path:
    """One page each of English, Chinese, and both on one line."""
    document = pymupdf.open()
    Sheet(document).text("The harbour company Larkmoor Quays opened a second crane in spring.")
    for text in ("拉克摩尔码头公司在春季启用了第二台起重机。", "Larkmoor Quays 拉克摩尔码头 2024 年报"):
        page = document.new_page(width=WIDTH, height=HEIGHT)
        page.insert_text((LEFT, 110), text, fontsize=12, fontname="china-s")
    return _save(document, path)


def scanned(path: Path, pages: int = 3, dpi: int = 50, turn: int = 0, stamp: str = "") -> Path:
    """Pages that show text only as a picture, which lies on its side or head (``turn`` in degrees), under a stamp."""
    document = pymupdf.open()
    for number in range(1, pages + 1):
        source = pymupdf.open()
        sheet = Sheet(source)
        sheet.heading(f"Delivery note {number}")
        sheet.text(prose("a delivery of sand", number, 10))
        picture = sheet.page.get_pixmap(dpi=dpi, colorspace=pymupdf.csGRAY)
        page = document.new_page(width=WIDTH, height=HEIGHT)
        page.insert_image((0, 0, WIDTH, HEIGHT), pixmap=picture, rotate=turn)
        if stamp:
            page.insert_text((RIGHT - 60, 830), stamp, fontsize=9)
        source.close()
    return _save(document, path, "Delivery notes")


def one_blank_page(path: Path) -> Path:
    document = pymupdf.open()
    document.new_page(width=WIDTH, height=HEIGHT)
    return _save(document, path)


def rotated(path: Path) -> Path:
    """An upright page, then one turned by 90 degrees: its words run level when it is shown."""
    document = pymupdf.open()
    Sheet(document).text("The first page stands upright.")
    page = document.new_page(width=WIDTH, height=HEIGHT)
    page.insert_text((100, 700), "Wide schedule of pipe diameters", fontsize=14, fontname="helv", rotate=90)
    page.set_rotation(90)
    return _save(document, path)


def numbered(path: Path, pages: int, topic: str) -> Path:
    """Many pages about one topic; only page n contains ``landmark(topic, n)``."""
    document = pymupdf.open()
    for number in range(1, pages + 1):
        sheet = Sheet(document)
        if number % 10 == 1:
            sheet.heading(f"Part {number // 10 + 1} of {topic}")
        sheet.text(f"The word for this page is {landmark(topic, number)}.")
        sheet.text(prose(topic, number, 10))
    return _save(document, path, topic)


# --- files that want a password, or are broken ------------------------------------------------------

PASSWORD = "open sesame"


def _locked(path: Path, user: str) -> Path:
    document = pymupdf.open()
    Sheet(document).text("The vault of Wexcombe Savings opens at nine.")
    return _save(
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
    whole = _raw_pdf(["Repairable page one", "Repairable page two"])
    path.write_bytes(whole[: whole.rindex(b"xref\n", 0, whole.rindex(b"startxref"))])
    return path


def not_a_pdf(path: Path) -> Path:
    path.write_bytes(b"PK\x03\x04 this is something else with the wrong name\n" * 40)
    return path


def empty_file(path: Path) -> Path:
    path.write_bytes(b"")
    return path


def no_pages(path: Path) -> Path:
    path.write_bytes(_raw_pdf([]))
    return path


# --- outlines that the API would refuse to write ----------------------------------------------------


def _raw_pdf(texts: Sequence[str], outline: Iterable[str] = ()) -> bytes:
    """A PDF written object by object.

    Objects 1 to 3 are catalog, page tree and font; text i (from 0) is page object 4 + 2i. The outline's
    objects follow, its root first: see ``_outline_object``.
    """
    kids = [4 + 2 * i for i in range(len(texts))]
    first = _outline_object(len(texts))
    entries = list(outline)
    objects = [
        "<< /Type /Catalog /Pages 2 0 R" + (f" /Outlines {first} 0 R" if entries else "") + " >>",
        f"<< /Type /Pages /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] /Count {len(kids)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for kid, text in zip(kids, texts, strict=True):
        stream = f"BT /F1 12 Tf 72 740 Td ({text}) Tj ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {kid + 1} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate([*objects, *entries], start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    start = len(out)
    out += f"xref\n0 {len(offsets) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += f"trailer\n<< /Size {len(offsets) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def _outline_object(pages: int) -> int:
    return 4 + 2 * pages


def cyclic_bookmarks(path: Path) -> Path:
    """Three pages; the second bookmark's next is the first, and its child is its own parent."""
    root = _outline_object(3)
    a, b = root + 1, root + 2
    outline = [
        f"<< /Type /Outlines /First {a} 0 R /Last {b} 0 R /Count 2 >>",
        f"<< /Title (Alpha) /Parent {root} 0 R /Next {b} 0 R /Prev {b} 0 R /Dest [4 0 R /Fit] >>",
        f"<< /Title (Beta) /Parent {root} 0 R /Next {a} 0 R /Prev {a} 0 R"
        f" /First {b} 0 R /Last {a} 0 R /Count 1 /Dest [6 0 R /Fit] >>",
    ]
    path.write_bytes(_raw_pdf(["Alpha page", "Beta page", "Gamma page"], outline))
    return path


def outside_bookmarks(path: Path) -> Path:
    """Three pages; the bookmark "Beta" is right (page 2), the others lead to no page of this file."""
    return _with_targets(path, {
        "Not a page": "/Dest [3 0 R /Fit]",
        "Beta": "/Dest [6 0 R /Fit]",
        "Missing object": "/Dest [4711 0 R /Fit]",
        "Nowhere": "",
        "Elsewhere": "/A << /S /URI /URI (nothing:here) >>",
    })  # fmt: skip


def far_bookmarks(path: Path) -> Path:
    """Three pages; one bookmark names page 100, another page -4: MuPDF then refuses the whole outline."""
    return _with_targets(path, {
        "Far away": "/Dest [99 /Fit]",
        "Beta": "/Dest [6 0 R /Fit]",
        "Negative": "/Dest [-5 /Fit]",
    })  # fmt: skip


def _with_targets(path: Path, targets: Mapping[str, str]) -> Path:
    root, count = _outline_object(3), len(targets)
    outline = [f"<< /Type /Outlines /First {root + 1} 0 R /Last {root + count} 0 R /Count {count} >>"]
    for i, (title, target) in enumerate(targets.items(), start=1):
        outline.append(f"<< /Title ({title}) /Parent {root} 0 R{_neighbours(root, i, count)} {target} >>")
    path.write_bytes(_raw_pdf(["Alpha page", "Beta page", "Gamma page"], outline))
    return path


def _neighbours(root: int, i: int, count: int) -> str:
    previous = f" /Prev {root + i - 1} 0 R" if i > 1 else ""
    return previous + (f" /Next {root + i + 1} 0 R" if i < count else "")


def many_bookmarks(path: Path, count: int = 10_000, pages: int = 50) -> Path:
    """``count`` bookmarks on one level, "Entry 1" on, spread in order over ``pages`` pages."""
    root = _outline_object(pages)
    outline = [f"<< /Type /Outlines /First {root + 1} 0 R /Last {root + count} 0 R /Count {count} >>"]
    for i in range(1, count + 1):
        page = 4 + 2 * ((i - 1) * pages // count)
        target = f"/Dest [{page} 0 R /Fit]"
        outline.append(f"<< /Title (Entry {i}) /Parent {root} 0 R{_neighbours(root, i, count)} {target} >>")
    path.write_bytes(_raw_pdf([f"Index page {n}" for n in range(1, pages + 1)], outline))
    return path


# --- a small library for routing --------------------------------------------------------------------

_COMPANIES = {  # net sales, inventories, dividends per share for fiscal 2023 and 2024
    "Corvane Optics Corporation": ("optical lenses", {2023: (418.2, 77.4, 1.10), 2024: (455.9, 81.3, 1.25)}),
    "Dunlin Freight Lines, Inc.": ("rail freight", {2023: (963.5, 21.8, 0.42), 2024: (902.7, 19.6, 0.42)}),
}
FISCAL_QUESTIONS = (
    ("What were the net sales of Corvane Optics in fiscal 2023?", "corvane-optics-2023-10k.pdf", 3),
    ("What were Corvane Optics' net sales in FY2024?", "corvane-optics-2024-10k.pdf", 3),
    ("How large were Dunlin Freight's inventories at the end of 2024?", "dunlin-freight-2024-10k.pdf", 4),
    ("What dividend per share did Dunlin Freight Lines pay for 2023?", "dunlin-freight-2023-10k.pdf", 5),
)


def fiscal_reports(folder: Path) -> list[Path]:
    """Annual reports of two companies for two fiscal years; FISCAL_QUESTIONS have one right page each."""
    written = []
    for name, (business, years) in _COMPANIES.items():
        for year, (sales, stock, dividend) in years.items():
            slug = "-".join(name.lower().split()[:2])
            written.append(folder / f"{slug}-{year}-10k.pdf")
            document = pymupdf.open()
            cover = Sheet(document, 200)
            cover.heading("ANNUAL REPORT", 22)
            cover.heading(name, 18)
            cover.text(f"For the fiscal year ended December 31, {year}", 13)
            for title, text in (
                ("Item 1. Business", f"{name} is active in {business}."),
                ("Item 7. Results of operations", f"Net sales were ${sales} million in fiscal {year}."),
                ("Consolidated balance sheet", "Amounts are in millions of dollars."),
                ("Shareholder information", f"A dividend of ${dividend:.2f} per share was paid for {year}."),
            ):
                sheet = Sheet(document)
                sheet.heading(title)
                sheet.text(text)
                if title.endswith("sheet"):
                    sheet.row("December 31,", [str(year)], "hebo")
                    for label, share in (("Cash", 0.8), ("Inventories", 1.0), ("Property", 5.5)):
                        sheet.row(label, [f"{stock * share:.1f}"])
                else:
                    sheet.text(prose(f"{business} and {title.lower()}", year))
            _save(document, written[-1], f"{name} annual report {year}")
    return written
