"""A report some of whose pages show what their text does not say."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pymupdf

from tests.pdfs.sheet import HEIGHT, LEFT, RIGHT, WIDTH, Sheet, prose, save

PICTURED = {"chart": 2, "lines": 3, "scan": 6, "photograph": 7}
"""The pages that need eyes; the others are prose (1), a shaded table (4) and prose in a rounded frame (5)."""


def pictured(path: Path, word: str = "flint") -> Path:
    """Seven pages with the same logo. ``word`` stands on the first page only."""
    document = pymupdf.open()
    logo = _noise(40, 40)
    sheet = Sheet(document)
    sheet.heading("Quarry report")
    sheet.text(f"The word of the year is {word}. " + prose("the quarry", 1, 14))
    sheet = Sheet(document)
    sheet.heading("Tons per month")
    sheet.text("See the chart below.")
    for at in range(10):
        height = 60 + 17 * (at * 7 % 11)
        bar = (LEFT + 40 * at, 700 - height, LEFT + 40 * at + 26, 700)
        sheet.page.draw_rect(bar, color=None, fill=(0.2, 0.3, 0.7))
    sheet = Sheet(document)
    sheet.heading("Price per ton")
    sheet.text(prose("prices", 3, 6))
    points = [(LEFT + 30 * at, 640 - 13 * (at * 5 % 12)) for at in range(14)]
    for a, b in pairwise(points):
        sheet.page.draw_line(a, b, color=(0.7, 0.1, 0.1))
    sheet = Sheet(document)
    sheet.heading("Staff by pit")
    for at, pit in enumerate(("North pit", "South pit", "East pit", "West pit", "Old pit", "New pit", "Yard")):
        top = sheet.y - 12
        sheet.page.draw_rect((LEFT, top, RIGHT, top + 16), color=None, fill=(0.9, 0.9, 0.95), overlay=False)
        sheet.row(f"{pit} and the people who work there", [str(40 + 3 * at), str(44 - at), str(12 * at)])
    sheet = Sheet(document)
    sheet.page.draw_rect((LEFT - 14, 90, RIGHT + 14, 780), color=(0, 0, 0), radius=0.05)
    sheet.heading("Outlook")
    sheet.text(prose("the outlook", 5, 20))
    source = pymupdf.open()
    scanned = Sheet(source)
    scanned.heading("Letter from the inspector")
    scanned.text(prose("the inspection", 6, 10))
    page = document.new_page(width=WIDTH, height=HEIGHT)
    page.insert_image((0, 0, WIDTH, HEIGHT), pixmap=scanned.page.get_pixmap(dpi=50, colorspace=pymupdf.csGRAY))
    sheet = Sheet(document)
    sheet.heading("The new pit")
    sheet.text(prose("the pit", 7, 12))
    sheet.page.insert_image((LEFT, 420, RIGHT, 760), pixmap=_noise(120, 80))
    for page in document:
        if page.number != PICTURED["scan"] - 1:
            page.insert_image((RIGHT - 40, 30, RIGHT, 70), pixmap=logo)
    return save(document, path, "Quarry report")


def _noise(width: int, height: int) -> pymupdf.Pixmap:
    """A picture without words."""
    made = pymupdf.Pixmap(pymupdf.csRGB, (0, 0, width, height), False)
    made.clear_with(200)
    for x in range(0, width, 5):
        for y in range(0, height, 5):
            made.set_pixel(x, y, (x * 2 % 256, y * 3 % 256, 90))
    return made
