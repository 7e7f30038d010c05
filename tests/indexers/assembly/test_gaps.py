"""What a document leaves open is told by rules, and only where it is sure."""

from __future__ import annotations

from pathlib import Path

from hybrid_pageindex import Engine, run

_OPEN = """# Supply agreement

## Delivery

The seller delivers as set out in Schedule 2. The price is described in Appendix B. Both follow Exhibit C to the Master
Agreement. What is to be determined by the buyer is no gap.

Delivery date: TBD

Contact: [insert name]

The price is [***] crowns.

## Prices

The following table shows the prices.

They rise each year.

## Terms

### Warranty

## Measures

Table 1: Widths

Table 2: Heights

Table 7 shows the depths.

# Schedule 2

What is delivered where.
"""


def test_gaps_stand_at_their_sections_and_in_the_warnings(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "agreement.md"
    file.write_text(_OPEN)
    report = run(engine.index(file))
    assert "gaps in the document: " in report.files[0].note
    outline = run(engine.outline("agreement.md"))
    gaps = {node.section.title: node.section.gaps for node in outline.nodes if node.section.gaps}
    assert gaps == {
        "Delivery": (
            "to be filled in: 'Delivery date: TBD', page 1",
            "to be filled in: 'Contact: [insert name]', page 1",
            "text left out: 'The price is [***]', page 1",
            "Appendix B, to which page 1 refers, is not in this file",
        ),
        "Prices": ("page 1 announces a table that does not follow",),
        "Warranty": ("'Warranty' has no text, page 1",),
        "Measures": ("Table 7, to which page 1 refers, does not exist",),
    }
    found = run(engine.search("delivery date")).results[0]
    assert found.section.gaps == gaps["Delivery"]


def test_a_whole_document_has_none(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "whole.md"
    whole = (
        _OPEN.split("## Prices", maxsplit=1)[0]
        .replace("TBD", "3 May")
        .replace("[insert name]", "A. Reed")
        .replace("[***]", "9")
    )
    file.write_text(whole + "\n# Schedule 2\n\nGoods.\n\n# Appendix B\n\nPrices.\n\n# Warranty\n\nTwo years.\n")
    assert run(engine.index(file)).files[0].note == ""


def test_parts_headed_by_their_number_alone_are_there(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "paper.md"
    file.write_text(
        "# Tides\n\nSee Appendix A, see Appendix A.1, see Appendix B, see Appendix D and see Appendix E.2.\n\n"
        "# A Proofs\n\nThey are long.\n\n## A.1 Of the first\n\nIt holds.\n\n# Survey\n\nB. Questions\n\nE.2 Answers\n"
    )
    run(engine.index(file))
    [node] = [node for node in run(engine.outline("paper.md")).nodes if node.section.gaps]
    assert node.section.gaps == ("Appendix D, to which page 1 refers, is not in this file",)


def test_a_table_in_a_cell_is_of_anywhere(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "tables.md"
    file.write_text(
        "# Widths\n\nTable 1: Widths\n\nTable 2: Heights\n\n| source | value |\n|---|---|\n| Table 9 | 3 |\n\n"
        "Table 8 is read too.\n"
    )
    run(engine.index(file))
    gaps = [gap for node in run(engine.outline("tables.md")).nodes for gap in node.section.gaps]
    assert gaps == ["Table 8, to which page 1 refers, does not exist"]
