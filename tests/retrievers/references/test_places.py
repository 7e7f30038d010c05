"""Places that a question means: pages, parts and captions by number, sections by name, what a document is about."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pymupdf
import pytest

from hybrid_core.types.results import PageFound, SearchResult
from hybrid_pageindex import Engine, run

SURVEY = (  # (heading, level, text, printed number)
    ("Harbour Survey of Lumen Bay", 0, "A report of the harbour office", ""),
    ("Contents", 1, "Introduction 1\nMethods 2\nSampling 3\nFindings 4\nLimitations 5\nClosing remarks 6", "ii"),
    ("1 Introduction", 1, "The bay was surveyed because ships ran aground on its sandbanks every winter.", "1"),
    ("2 Methods", 1, "Boats with echo sounders crossed the bay.\nTable 1: Boats by month\nMay 3\nJune 5", "2"),
    ("2.1 Sampling", 2, "Lines were a hundred metres apart, and Table 1 lists who sailed them in which month.", "3"),
    ("3 Findings", 1, "The channel has moved to the east.\nFigure 2. Depth of the channel\nNote 4 is on sand.", "4"),
    ("Limitations", 1, "Nobody sounded the northern shore, where the ice stayed until the end of May.", "5"),
    ("4 Closing remarks", 1, "The harbour office should mark the eastern channel with buoys and lights.", "6"),
)  # fmt: skip


def survey(path: Path) -> Path:
    with pymupdf.open() as document:
        outline = []
        for number, (heading, level, text, label) in enumerate(SURVEY, 1):
            page = document.new_page()
            page.insert_text((72, 90), heading, fontsize=20 if level == 0 else 15)
            for at, line in enumerate(text.split("\n")):
                page.insert_text((72, 130 + 18 * at), line, fontsize=11)
            page.insert_text((300, 800), label, fontsize=10)
            if level:
                outline.append([level, heading, number])
        document.set_toc(outline)
        document.set_metadata({"title": SURVEY[0][0]})
        document.save(path)
    return path


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """The survey, a law in Chinese, and a note on tides that has pages and tables too."""
    folder = tmp_path_factory.mktemp("shelf")
    law = folder / "灯塔法.md"
    articles = {17: "灯塔由港务局管理。", 132: "灯塔的灯光应当保持明亮。", 133: "损坏灯塔的，处以罚款。"}
    lines = [f"第{number}条 {text}" for number, text in (("十七", articles[17]), ("一百三十二", articles[132]))]
    lines += [f"第一百三十三条 {articles[133]}", "第一百三十三条之一 偷窃灯油的，处以拘役。"]
    law.write_text("# 灯塔法\n\n" + "\n\n".join(lines) + "\n", encoding="utf-8")
    tides = folder / "tides.md"
    tides.write_text("# Tides of the bay\n\nPage 4 of the almanac has Table 1 of the tides.\n", encoding="utf-8")
    engine = Engine(folder / "home")
    run(engine.index([survey(folder / "survey.pdf"), law, tides]))
    yield engine
    engine.close()


def first(engine: Engine, question: str) -> PageFound:
    return found(engine, question).results[0]


def found(engine: Engine, question: str) -> SearchResult:
    return run(engine.search(question, effort="fast"))


@pytest.mark.parametrize(
    ("question", "page", "why"),
    [
        ("section 2.1 of the harbour survey", 5, "'2.1 Sampling' begins on this page"),
        ("§ 3 of the Harbour Survey of Lumen Bay", 6, "'3 Findings' begins on this page"),
        ("Table 1 of the harbour survey", 4, "'Table 1: Boats by month' is on this page"),
        ("Figure 2 in the harbour survey", 6, "'Figure 2. Depth of the channel' is on this page"),
        ("slide 5 of the harbour survey", 5, "slide 5 of the file"),
        ("page ii of the harbour survey", 2, "has the printed number ii"),
        ("limitations of the harbour survey", 7, "'Limitations' begins on this page"),
        ("the closing remarks section of the harbour survey", 8, "'4 Closing remarks' begins on this page"),
    ],
)  # fmt: skip
def test_a_place_that_a_question_names_comes_first(shelf: Engine, question: str, page: int, why: str) -> None:
    best = first(shelf, question)
    assert (best.doc_name, best.page, best.receipt.verdict) == ("survey.pdf", page, why)
    assert best.why.startswith(why)


def test_a_page_number_is_that_of_the_file_or_the_one_in_print(shelf: Engine) -> None:
    both = found(shelf, "page 4 of the harbour survey").results[:2]
    assert [(one.page, one.receipt.verdict) for one in both] == [
        (4, "page 4 of the file"),
        (6, "has the printed number 4"),
    ]
    assert sum(one.receipt.contributions["reference"] for one in both) > 0
    moved = first(shelf, "what moved according to page 4 of the harbour survey? the channel")
    assert (moved.page, moved.receipt.verdict) == (
        6,
        "has the printed number 4",
    )  # what else is asked for tells them apart


@pytest.mark.parametrize(
    ("question", "article"),
    [
        ("灯塔法第133条", "第一百三十三条"), ("灯塔法第十七条怎么规定", "第十七条"),
        ("灯塔法第一百三十三条之一", "第一百三十三条之一"), ("灯塔法第132条", "第一百三十二条"),
    ],
)  # fmt: skip
def test_articles_of_a_law(shelf: Engine, question: str, article: str) -> None:
    best = first(shelf, question)
    assert best.doc_name == "灯塔法.md" and f"'{article}" in best.receipt.verdict
    assert best.snippet.startswith(article)


@pytest.mark.parametrize("question", ["What is the harbour survey about?", "Summarise the Harbour Survey of Lumen Bay"])
def test_what_a_document_is_about(shelf: Engine, question: str) -> None:
    pages = [one.page for one in found(shelf, question).results]
    assert pages[0] == 3 and {1, 2, 8} <= set(pages)  # introduction, then conclusion, cover and contents
    assert "summarises the whole document" in first(shelf, question).receipt.verdict


@pytest.mark.parametrize(
    "question",
    [
        "What does the Harbour Survey of Lumen Bay deal with?", "Walk me through the harbour survey",
        "What is in the harbour survey, briefly?", "The harbour survey in two sentences",
        "Wovon handelt der Harbour Survey of Lumen Bay?",
    ],
)  # fmt: skip
def test_a_question_for_nothing_in_a_document_is_for_the_whole(shelf: Engine, question: str) -> None:
    assert (first(shelf, question).doc_name, first(shelf, question).page) == ("survey.pdf", 3)


def test_what_a_law_says_in_chinese(shelf: Engine) -> None:
    assert first(shelf, "灯塔法规定了哪些内容").receipt.contributions["overview"] > 0


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote the harbour survey?", "What does the harbour survey say of ice?", "harbour survey",
        "How does the harbour survey deal with sandbanks?", "What does a buoy contain?",
        "What are the bays mentioned in this document?", "What are the examples of what makes a harbour survey?",
    ],
)  # fmt: skip
def test_a_question_for_something_in_a_document_is_not(shelf: Engine, question: str) -> None:
    assert "overview" not in first(shelf, question).receipt.contributions


def test_evidence_is_strong_where_a_place_is_all_that_is_asked_for(shelf: Engine) -> None:
    assert found(shelf, "page 4 of the Harbour Survey of Lumen Bay").evidence.level == "strong"
    whole = run(shelf.search("What is this document about?", documents="survey.pdf", effort="fast"))
    assert (whole.evidence.level, whole.results[0].page) == ("strong", 3)
    assert found(shelf, "What is this document about?").evidence.level == "unclear"
    assert found(shelf, "zeppelins on page 4 of the Harbour Survey of Lumen Bay").evidence.level != "strong"


def test_conclusions_come_first_where_they_are_asked_for(shelf: Engine) -> None:
    assert first(shelf, "What does the harbour survey conclude?").page == 8


@pytest.mark.parametrize(
    "question",
    ["Which boats crossed the bay with echo sounders?", "What is said about buoys in the harbour survey?"],
)
def test_other_questions_are_answered_by_their_words(shelf: Engine, question: str) -> None:
    assert "reference" not in first(shelf, question).receipt.contributions
    assert first(shelf, question).receipt.verdict.startswith("found by searching the section tree")


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is on page 5 of the Harbour Survey?", "Sampling Lines were"),
        ("What does page 4 of the Harbour Survey say of sounders?", "Boats with echo sounders"),
    ],
)
def test_a_page_asked_for_shows_its_text_and_not_its_footer(tmp_path: Path, question: str, text: str) -> None:
    with pymupdf.open(survey(tmp_path / "survey.pdf")) as document:
        for number, page in enumerate(document, 1):
            for at in range(9):
                page.insert_text((72, 240 + 40 * at), f"Between these lines the mate counted {at} gulls over the bow.")
            page.insert_text((72, 815), f"Harbour Survey of Lumen Bay, Page {number}", fontsize=9)
        document.save(tmp_path / "footed.pdf")
    engine = Engine(tmp_path / "home")
    run(engine.index(tmp_path / "footed.pdf"))
    snippet = first(engine, question).snippet
    engine.close()
    assert text in snippet and "Page" not in snippet


def test_a_line_that_says_all_that_is_asked_comes_before_a_heading_that_says_some(tmp_path: Path) -> None:
    text = "# Lumen Notes\n\nOf the bay.\n\n" + "".join(
        f"# {heading}\n\n{body}\n\f\n"
        for heading, body in (("You need Buoys", "Many."), ("Value", "Grades of Buoys\n\nRed."))
    )
    (tmp_path / "lumen.md").write_text(text, encoding="utf-8")
    engine = Engine(tmp_path / "home")
    run(engine.index(tmp_path / "lumen.md"))
    found = first(engine, "the grades of buoys section in Lumen Notes")
    engine.close()
    assert found.section.title == "Value" and "Grades of Buoys" in found.snippet
