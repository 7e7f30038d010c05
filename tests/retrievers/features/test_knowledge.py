"""What a question quotes, and phrases and roles of an expert file, as features of pages, through the engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pymupdf
import pytest

from hybrid_core.types.scoring import CandidateFeatures
from hybrid_pageindex import Engine, run
from tests.pdfs import prose

QUESTION = "How much was spent on machines?"
PAGES = {  # all hold the four words once
    "apart": ["Equipment was moved when the plant was painted.", "Our property tax rose, and so did purchases."],
    "within a line": ["In that year all purchases of property, plant and equipment were put off."],
    "a row": ["Proceeds from the sale of ships 12", "Purchases of property, plant & equipment (net) 34"],
    "a row over two lines": ["Proceeds from the sale of ships 12", "(Purchases of prop-", "erty, plant Équipment) 34"],
    "part of a word": ["Repurchases of property, plant and equipments were put off."],
}
SAID = "The harbour master weighs every crate twice"
FILES = {
    "said.md": f"# Port\n\n{prose('harbour', 1)} It is said: the harbour\nmaster weighs every crate twice, and so on.",
    "words.md": "# Crates\n\nEvery crate is weighed by the master. The harbour master weighs twice; every crate weighs "
    "less, and the harbour weighs the master's crate.",
    "master.md": "# Harbour master\n\nThe harbour master is a man of sixty.",  # titles that the words name
    "crate.md": "# Every crate\n\nEvery crate is of wood.",
    "法.md": "# 供货条款\n\n买受人应当在八日内通知供货方,逾期未通知的,视为验收合格。",
    "律.md": "# 验收\n\n供货方应当通知买受人,八日内未通知的,视为逾期;买受人应当在验收合格时通知。",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("knowledge")
    document = pymupdf.open()
    for number, lines in enumerate(PAGES.values()):
        page = document.new_page()
        words = prose("harbour", number).split()
        filler = [" ".join(words[at : at + 9]) for at in range(0, len(words), 9)]
        if title := {0: "Accounts", 3: "Statement of machines"}.get(number):
            page.insert_text((72, 60), title, fontsize=24)
        page.insert_text((72, 90), [*filler, *lines, "This is all."])
    document.save(folder / "accounts.pdf")
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    engine = Engine(folder / "home")
    run(engine.index(folder))
    yield engine
    engine.close()


def column(found: CandidateFeatures, name: str) -> dict[int, float]:
    """One feature of the candidates by page."""
    values = found.values[:, found.names.index(name)].tolist()
    return {page: value for (_, page), value in zip(found.pages, values, strict=True)}


def of_accounts(library: Engine, folder: Path, entry: str, feature: str) -> dict[str, float]:
    """A feature of the kinds of pages, with an expert file of one entry."""
    expert = folder / "expert.yaml"
    expert.write_text(f"expand:\n  - when: machines\n{entry}\nroles:\n  tables: statement of\n")
    fields = {"expert": str(expert), "documents": ["accounts.pdf"]}
    found = run(library.candidate_features(f"{QUESTION} Property?", **fields))  # type: ignore[arg-type]
    return {kind: column(found, feature)[number] for number, kind in enumerate(PAGES, 1)}


def test_a_phrase_counts_where_its_words_follow_each_other(library: Engine, tmp_path: Path) -> None:
    phrases = '    phrases: ["purchases of property, plant and equipment", "property tax"]'
    assert of_accounts(library, tmp_path, phrases, "pack_phrase") == {
        "apart": 0.5, "within a line": 0.5, "a row": 0.5, "a row over two lines": 0.5, "part of a word": 0.0,
    }  # fmt: skip


def test_single_words_are_no_phrases(library: Engine, tmp_path: Path) -> None:
    assert not any(of_accounts(library, tmp_path, "    phrases: [purchases, equipment]", "pack_phrase").values())


def test_a_page_has_the_role_of_the_section_that_begins_there(library: Engine, tmp_path: Path) -> None:
    entry = "    phrases: [purchases]\n    roles: [tables]"
    found = of_accounts(library, tmp_path, entry, "pack_role")
    assert [kind for kind, value in found.items() if value] == ["a row over two lines", "part of a word"]


@pytest.mark.parametrize(
    ("question", "file"),
    [
        (SAID, "said.md"),
        (f"What is meant by “{SAID.upper()}”?", "said.md"),
        ("买受人应当在八日内通知供货方", "法.md"),
    ],
)
def test_the_page_that_says_it_comes_before_one_that_has_its_words(library: Engine, question: str, file: str) -> None:
    found = run(library.search(question, effort="fast")).results
    assert Path(found[0].doc_name).name == file
    quoting = [Path(one.doc_name).name for one in found if one.receipt.addends.get("quoted", 0) > 0]
    assert quoting == [file]


@pytest.mark.parametrize(
    "question",
    ["harbour master weighs", 'Who is the "harbour master"?', "Why does the harbour master weigh every crate twice?"],
)
def test_few_words_and_questions_are_no_quotations(library: Engine, question: str) -> None:
    assert not any("quoted" in one.receipt.addends for one in run(library.search(question, effort="fast")).results)


def test_each_of_several_quotations_counts(library: Engine) -> None:
    found = run(library.candidate_features(f'Where stand "{SAID}" and "every crate is of wood"?'))
    quoted = found.values[:, found.names.index("quoted")]
    assert sorted(quoted[quoted > 0].tolist()) == [0.5, 0.5]
