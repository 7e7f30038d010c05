"""Files whose pages are special: tables, running heads, scripts, scans, many pages."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pymupdf

from tests.pdfs.sheet import HEIGHT, LEFT, RIGHT, WIDTH, Sheet, landmark, prose, save

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
    return save(document, path, "Morrow Gear Works: tables")


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
    return save(document, path, "Ellery Canal Trust yearbook")


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
    return save(document, path, "青禾灌溉设备公司采购制度")


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
    return save(document, path, "Arabic report")


def mixed(path: Path) -> Path:
    """One page each of English, Chinese, and both on one line."""
    document = pymupdf.open()
    Sheet(document).text("The harbour company Larkmoor Quays opened a second crane in spring.")
    for text in ("拉克摩尔码头公司在春季启用了第二台起重机。", "Larkmoor Quays 拉克摩尔码头 2024 年报"):
        page = document.new_page(width=WIDTH, height=HEIGHT)
        page.insert_text((LEFT, 110), text, fontsize=12, fontname="china-s")
    return save(document, path)


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
    return save(document, path, "Delivery notes")


def one_blank_page(path: Path) -> Path:
    document = pymupdf.open()
    document.new_page(width=WIDTH, height=HEIGHT)
    return save(document, path)


def rotated(path: Path) -> Path:
    """An upright page, then one turned by 90 degrees: its words run level when it is shown."""
    document = pymupdf.open()
    Sheet(document).text("The first page stands upright.")
    page = document.new_page(width=WIDTH, height=HEIGHT)
    page.insert_text((100, 700), "Wide schedule of pipe diameters", fontsize=14, fontname="helv", rotate=90)
    page.set_rotation(90)
    return save(document, path)


def numbered(path: Path, pages: int, topic: str) -> Path:
    """Many pages about one topic; only page n contains ``landmark(topic, n)``."""
    document = pymupdf.open()
    for number in range(1, pages + 1):
        sheet = Sheet(document)
        if number % 10 == 1:
            sheet.heading(f"Part {number // 10 + 1} of {topic}")
        sheet.text(f"The word for this page is {landmark(topic, number)}.")
        sheet.text(prose(topic, number, 10))
    return save(document, path, topic)
