"""Documents are compared section by section: what came, went, moved and changed, with words, figures and pages."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_pageindex import Engine, run

PAY = "Pay is made monthly on the last working day of the month by transfer to a bank."
OLD = {
    "Scope": "This policy applies to all staff. It ends in 2024.",
    "Leave": "Staff have 20 days of leave a year. Leave is asked for in writing.",
    "Pay": PAY,
    "Old rules": "Typing pools open at eight and close at noon on Fridays without exception.",
    "Travel": "Travel by train is paid in full, travel by car at 30 cents a mile.",
}
NEW = {
    "Scope": "This policy applies to all staff. It ends in 2025.",
    "Pay": PAY,
    "Leave of absence": "Staff have 25 days of leave a year. Leave is asked for in writing.",
    "Remote work": "Staff may work from home on three days of any week when their manager agrees.",
    "Travel": "Travel by train is paid in full, travel by car at 30 cents a mile.",
}


def _written(file: Path, sections: dict[str, str]) -> Path:
    parts = (f"## {number} {title}\n\n{text}\n" for number, (title, text) in enumerate(sections.items(), 1))
    file.write_text("# Policy\n\n" + "\n".join(parts), encoding="utf-8")
    return file


@pytest.fixture
def policies(engine: Engine, tmp_path: Path) -> Engine:
    run(engine.index([_written(tmp_path / "old.md", OLD), _written(tmp_path / "new.md", NEW)]))
    return engine


def test_sections_are_aligned_whatever_their_number_and_title(policies: Engine) -> None:
    compared = run(policies.compare("old.md", "new.md"))
    by_title = {(one.right or one.left).title.partition(" ")[2]: one for one in compared.sections}  # type: ignore[union-attr]
    assert {title: one.kind for title, one in by_title.items()} == {
        "Scope": "changed", "Pay": "changed", "Leave of absence": "changed", "Old rules": "removed",
        "Remote work": "added",
    }  # fmt: skip
    assert (compared.added, compared.removed, compared.changed, compared.moved, compared.unchanged) == (1, 1, 3, 1, 2)
    [figure] = by_title["Leave of absence"].figure_changes
    assert (figure.before, figure.after, figure.label) == ("20", "25", "Staff have")
    [change] = by_title["Scope"].changes
    assert (change.before, change.after) == ("2024.", "2025.")
    assert not by_title["Pay"].changes, "it has another number, and the same words"
    side = by_title["Scope"].right
    assert side is not None and side.link.endswith(f"/page/{side.start_page}") and side.link.startswith("pageindex://")


LAW = (
    "为了保护劳动者的合法权益，制定本法。", "用人单位应当依法建立劳动规章制度，并向劳动者公示。",
    "工会应当帮助劳动者与用人单位订立劳动合同。", "劳动者提前三十日以书面形式通知，可以解除劳动合同。",
    "用人单位应当按照国家规定，及时足额支付劳动报酬。", "试用期不得超过6个月，并包含在劳动合同期限内。",
)  # fmt: skip
CLAUSES = (
    "The supplier delivers the pumps within thirty days of each order to the yard of the buyer.",
    "Either side keeps the papers of the other secret while this agreement lasts and three years longer.",
    "The buyer pays each invoice within 30 days, and late payments bear interest.",
    "The laws of Norway govern this agreement, and the courts of Bergen have jurisdiction over it.",
)
ARTICLES = (
    "Members elect the board every second year by a secret ballot at the spring meeting.",
    "The treasurer keeps the books, and two auditors examine them before the annual meeting.",
    "A member who has not paid the fee for 2 years is struck from the list by the board.",
    "The association is dissolved only by three quarters of all votes at two meetings in a row.",
)


@pytest.mark.parametrize(
    ("number", "texts", "old", "new", "figure"),
    [
        ("第{}条 ", LAW, "6个月", "3个月", ("6", "3")),
        ("## Section {}\n\n", CLAUSES, "30 days", "45 days", ("30", "45")),
        ("## Article {}\n\n", ARTICLES, "2 years", "3 years", ("2", "3")),
    ],
)
def test_sections_that_are_only_numbered_are_aligned_by_their_words(
    engine: Engine, tmp_path: Path, number: str, texts: tuple[str, ...], old: str, new: str, figure: tuple[str, str]
) -> None:
    def written(name: str, parts: Sequence[str]) -> Path:
        numerals = "一二三四五六七八九十" if "第" in number else "123456789"
        lines = [number.format(numeral) + part for numeral, part in zip(numerals, parts, strict=False)]
        (tmp_path / name).write_text("# 法 Rules\n\n" + "\n\n".join(lines) + "\n", encoding="utf-8")
        return tmp_path / name

    shorter = [text.replace(old, new) for at, text in enumerate(texts) if at != 1]
    run(engine.index([written("old.md", texts), written("new.md", shorter)]))
    compared = run(engine.compare("old.md", "new.md"))
    assert (compared.added, compared.removed, compared.moved) == (0, 1, 0)
    [gone] = [section.left for section in compared.sections if section.right is None]
    assert gone is not None and ("二" in gone.title or gone.title.endswith("2"))
    [changed] = [section for section in compared.sections if section.changes]
    assert [(each.before, each.after) for each in changed.figure_changes] == [figure]
    for change in changed.changes:
        assert len(change.before) < 9 > len(change.after), "only the words that differ are listed"


def test_a_document_is_the_same_as_itself(policies: Engine) -> None:
    compared = run(policies.compare("old.md", "old.md"))
    assert compared.sections == () and compared.unchanged == compared.left.sections


def test_the_way_back_is_the_mirror(policies: Engine) -> None:
    there, back = run(policies.compare("old.md", "new.md")), run(policies.compare("new.md", "old.md"))
    assert (there.added, there.removed) == (back.removed, back.added)


def test_one_section_is_compared_and_parts_go_on(policies: Engine) -> None:
    old = {one.section.title: one.section.node_id for one in run(policies.outline("old.md")).nodes}
    new = {one.section.title: one.section.node_id for one in run(policies.outline("new.md")).nodes}
    nodes = {"left_node": old["2 Leave"], "right_node": new["3 Leave of absence"]}
    [only] = run(policies.compare("old.md", "new.md", **nodes)).sections
    assert only.kind == "changed" and only.figures == 1
    cursor, titles = "", []
    while True:
        part = run(policies.compare("old.md", "new.md", limit=2, cursor=cursor))
        titles += [(one.right or one.left).title for one in part.sections]  # type: ignore[union-attr]
        if not (cursor := part.cursor):
            break
    assert len(titles) == len(set(titles)) == 5
    with pytest.raises(NotFoundError):
        run(policies.compare("old.md", "new.md", left_node="9999"))
    with pytest.raises(UsageError):
        run(policies.compare("old.md", "new.md", cursor="x"))


@pytest.mark.parametrize(
    ("folder", "before", "after", "unchanged", "both"),
    [
        ("financebench", "AMERICANWATERWORKS_2020_10K", "AMERICANWATERWORKS_2021_10K", 0.1, "Item 1A. Risk Factors"),
        ("financebench", "CORNING_2021_10K", "CORNING_2022_10K", 0.05, "Item 2. Properties"),
    ],
)
def test_filings_of_consecutive_years(
    engine: Engine, folder: str, before: str, after: str, unchanged: float, both: str
) -> None:
    data = os.environ.get("PAGEINDEX_EVAL_DATA")
    if not data:
        pytest.skip("needs PAGEINDEX_EVAL_DATA")
    files = [next((Path(data) / folder).rglob(f"{name}.pdf")) for name in (before, after)]
    run(engine.index(files))
    compared = run(engine.compare(files[0].name, files[1].name, limit=1000))
    aligned = compared.unchanged + sum(one.left is not None and one.right is not None for one in compared.sections)
    assert aligned >= 0.8 * min(compared.left.sections, compared.right.sections)
    assert compared.unchanged >= unchanged * compared.left.sections
    assert any(
        both in one.left.title and both in one.right.title for one in compared.sections if one.left and one.right
    )
    years = [(one.before, one.after) for section in compared.sections for one in section.figure_changes]
    assert (before[-8:-4], after[-8:-4]) in years
    for section in compared.sections:
        for side, document in ((section.left, compared.left), (section.right, compared.right)):
            assert side is None or 1 <= side.start_page <= side.end_page <= document.pages


@pytest.mark.parametrize("folder", ["cuad", "statutes_zh"])
def test_contracts_and_statutes_are_the_same_as_themselves(engine: Engine, folder: str) -> None:
    data = os.environ.get("PAGEINDEX_EVAL_DATA")
    if not data:
        pytest.skip("needs PAGEINDEX_EVAL_DATA")
    found = [*sorted((Path(data) / folder).rglob("*.pdf")), *sorted((Path(data) / folder).rglob("*.md"))]
    files = [file for file in found if file.name != "README.md"][:3]
    run(engine.index(files))
    for file in files:
        assert run(engine.compare(file.name, file.name)).sections == ()
    other = run(engine.compare(files[0].name, files[1].name, limit=1000))
    assert other.added + other.removed + other.changed + other.moved >= 1
