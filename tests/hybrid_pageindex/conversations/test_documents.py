"""Conversations as Word documents and PDFs: they hold all that the Markdown of an export says."""

from __future__ import annotations

from pathlib import Path

import pymupdf

from hybrid_core.types.conversations import (
    Citation,
    Conversation,
    ConversationMessage,
    ConversationScope,
    TurnResult,
)
from hybrid_core.types.notes import Note
from hybrid_pageindex.conversations.documents import to_docx, to_pdf
from hybrid_pageindex.conversations.exports import exported
from tests.indexers.formats.packages import text_of


def test_a_word_document_and_a_pdf_have_all_that_the_markdown_has(tmp_path: Path) -> None:
    source = Citation(1, "l", "d", "mills.pdf", "c", "s", 7, "", ("Sales",), "It was 118 <b>.", True, state="changed")
    text = (
        "# Sums\n\nIt **was** 118 [[source:1]], `a < b`.\n\n"
        "1. one\n2. two\n   - 里面\n\n> Quoted\n\n```\nx = 1\ny = 2\n```\n\n"
        "| Year | Sum |\n|---|---|\n| 2024 | 118 |\n\nSee [the site](https://example.org/a?b=1&c=2).\x0b\n"
    )
    result = TurnResult(outcome="answered", evidence="weak", unsupported=(("118", Note.of("not on its page")),))
    answers = [
        ConversationMessage(1, "c", 0, "user", "What was it?", "complete", 0),
        ConversationMessage(2, "c", 1, "assistant", text, "cancelled", 0, result=result, citations=(source,)),
        ConversationMessage(
            4, "c", 1, "assistant", "", "complete", 0, result=TurnResult("no_model"), citations=(source,)
        ),
    ]
    markdown = exported(Conversation("c", "", "Mills", "user", ConversationScope(), 0, 0, 0), answers, "markdown")
    (tmp_path / "talk.docx").write_bytes(to_docx(markdown))
    written = text_of(tmp_path / "talk.docx")
    for words in (
        "What was it?", "It was 118 [1], a < b.", "1. one", "2. two", "• 里面", "Quoted", "x = 1", "y = 2", "2024",
        "the site (https://example.org/a?b=1&c=2)", "The answer was stopped before it was complete.",
        "Not supported by the sources: 118 (not on its page)", "No language model is set up",
        "mills.pdf, page 7 › Sales", "the document has changed since", "It was 118 <b>.",
    ):  # fmt: skip
        assert words in written, (words, written)
    with pymupdf.open("pdf", to_pdf(markdown)) as document:
        drawn = " ".join(document[0].get_text().split())
        links = {link["uri"] for link in document[0].get_links()}
    for words in ("What was it?", "It was 118 [1], a < b.", "1. one", "里面", "Quoted", "x = 1", "2024", "the site"):
        assert words in drawn, (words, drawn)
    assert "Not supported by the sources: 118 (not on its page)" in drawn and "It was 118 <b>." in drawn
    assert links == {"https://example.org/a?b=1&c=2"}


def test_a_pdf_keeps_every_word_of_a_long_text_and_stays_small() -> None:
    words = [f"word{number}" for number in range(3000)]
    long, code = "x" * 400, "y" * 400
    content = to_pdf(f"{' '.join(words)}\n\n{long}\n\n```\n{code}\n```\n\n中文 עברית \x00\n")
    with pymupdf.open("pdf", content) as document:
        assert document.page_count > 3
        text = "".join(page.get_text() for page in document)
        assert set(words) <= set(text.split())
        inside = [word for page in document for word in page.get_text("words") if word[2] > page.rect.width]
    assert not inside and "".join(text.split()).replace("\u200b", "").count("x" * 400) == 1 and len(content) < 300_000
