"""What a document is, in one look: figures in whole sentences, and questions that a search answers."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hybrid_core.errors import UsageError
from hybrid_core.llm.client.chat_model import ChatModel
from hybrid_core.types.documents import Page
from hybrid_pageindex import Engine
from hybrid_pageindex.engine.documents.briefing import figures, question_of
from hybrid_pageindex.sample import write_sample_report
from tests.doubles.replies import FakeEndpoint


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("Capital expenditure in fiscal 2025 was $58.7 million.", "What was capital expenditure in fiscal 2025?"),
        ("Net sales were about $418.2 million.", "What were net sales?"),
        ("The term loan amounted to $90 million.", "What was the term loan?"),
        ("USA sales are 31 percent of the total.", "What are USA sales?"),
        ("It was $58.7 million.", ""),  # what «it» is stands elsewhere
        ("Prices rose by 3 percent.", ""),
    ],
)
def test_a_sentence_that_states_a_figure_answers_a_question(sentence: str, question: str) -> None:
    assert question_of(sentence) == question


def test_figures_are_sentences_and_no_rows_of_tables() -> None:
    table = "Net sales 418.2 395.1 370.0 351.9 340.2 322.8 310.4 million."
    said = "The weather was fine.\n\nNet sales were $418.2 million.\n\nSales of pumps grew."
    found = figures([Page(1, "1", 600, 800, table, ""), Page(2, "2", 600, 800, said, "")], 3)
    assert [one.page for one in found] == [2]
    assert found[0].text == "Net sales were $418.2 million."


def test_its_questions_are_answered_by_the_pages_they_name(tmp_path: Path) -> None:
    async def work() -> None:
        async with Engine(tmp_path / "home") as engine:
            await engine.index(write_sample_report(tmp_path / "report.pdf"), library="reports")
            [document] = await engine.documents.list(library="reports")
            of_document = await engine.documents.briefing(document.doc_id, library="reports")
            assert (of_document.documents, of_document.pages, of_document.written_by) == (1, 24, "")
            assert "Item 1A. Risk Factors" in [part.title for part in of_document.parts]
            assert of_document.figures
            of_library = await engine.documents.briefing(library="reports")
            assert [part.doc_id for part in of_library.parts] == [document.doc_id]
            for briefing in (of_document, of_library):
                assert len(briefing.questions) == 3
                for one in briefing.questions:
                    found = await engine.search(one.question, library="reports", effort="fast")
                    assert one.page in [page.page for page in found.results], one.question
            with pytest.raises(UsageError, match="No language model"):
                await engine.documents.briefing(library="reports", model=True)

    asyncio.run(work())


def test_a_model_writes_it_and_only_what_can_be_answered_is_asked(tmp_path: Path) -> None:
    asked = ["How much does the crane lift?", "Who painted the ceiling of the Sistine Chapel?"]
    endpoint = FakeEndpoint(lambda request: {"description": "About a harbour.", "questions": asked})

    async def work() -> None:
        (tmp_path / "harbour.md").write_text("# Harbour\n\n## Cranes\n\nThe crane lifts ninety tonnes.\n")
        async with Engine(tmp_path / "home", chat=ChatModel(endpoint)) as engine:
            await engine.index(tmp_path / "harbour.md")
            briefing = await engine.documents.briefing("harbour.md", model=True)
            assert briefing.description == "About a harbour." and briefing.written_by
            questions = [one.question for one in briefing.questions]
            assert asked[0] in questions and asked[1] not in questions

    asyncio.run(work())


def test_an_empty_library_has_nothing_to_tell(tmp_path: Path) -> None:
    async def work() -> None:
        async with Engine(tmp_path) as engine:
            await engine.libraries.create("bare")
            bare = await engine.documents.briefing(library="bare")
            assert (bare.documents, bare.parts, bare.questions) == (0, (), ())

    asyncio.run(work())


def test_figures_of_a_chinese_text() -> None:
    [found] = figures([Page(3, "3", 600, 800, "公司成立于上海。公司营业收入为12.5亿元，较上年增长8%。", "")], 3)
    assert found.text == "公司营业收入为12.5亿元，较上年增长8%。"
