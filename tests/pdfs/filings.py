"""A small library of annual reports, for routing."""

from __future__ import annotations

from pathlib import Path

import pymupdf

from tests.pdfs.sheet import Sheet, prose, save

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
            save(document, written[-1], f"{name} annual report {year}")
    return written
