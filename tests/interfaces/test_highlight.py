"""The words of a question stand out in a terminal, whatever form they have in the text."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from hybrid_pageindex.cli.search import highlight_terms


def shown(text: str, *terms: str, terminal: bool = True) -> str:
    out = StringIO()
    console = Console(
        file=out,
        force_terminal=terminal,
        highlight=False,
        soft_wrap=True,
        color_system="standard" if terminal else None,
    )
    console.print(highlight_terms(text, terms), end="")
    return out.getvalue()


def test_words_of_the_question_are_bold() -> None:
    assert shown("Net sales were [1,577] in all", "sale", "1577") == (
        "Net \x1b[1msales\x1b[0m were [\x1b[1m1,577\x1b[0m] in all"
    )
    assert shown("犯盗窃罪的", "盗窃") == "犯\x1b[1m盗窃\x1b[0m罪的"


def test_nothing_is_marked_in_a_pipe_and_texts_command_no_terminal() -> None:
    assert shown("Net sales [bold]x[/]", "sale", terminal=False) == "Net sales [bold]x[/]"
    assert "\x1b" not in shown("sales \x1b[31m red", "none")
