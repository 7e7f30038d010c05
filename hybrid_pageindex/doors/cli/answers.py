"""How an answer, and the steps that a model takes to it, reach the terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from hybrid_core.types.answers import Answer
from hybrid_core.types.results import ReasoningStep
from hybrid_pageindex.doors.cli.output import visible
from hybrid_pageindex.doors.cli.show import console, escape, label, place, spent

_STEP = 160  # characters shown of a step


class Streamed:
    """Writes an answer as it comes. ``begun`` says that something was written."""

    def __init__(self, *, quiet: bool) -> None:
        self.begun = False
        self._quiet = quiet

    def piece(self, text: str) -> None:
        if not self._quiet:
            self.begun = True
            sys.stdout.write("\n".join(map(visible, text.split("\n"))))
            sys.stdout.flush()


@contextmanager
def steps(*, quiet: bool) -> Iterator[Callable[[ReasoningStep], None] | None]:
    """Shows a model's steps on stderr as they happen, to a person only."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    err = Console(stderr=True, highlight=False, soft_wrap=True)

    def show(step: ReasoningStep) -> None:
        text = step.text if len(step.text) <= _STEP else step.text[: _STEP - 1] + "…"
        err.print(f"[dim]{step.kind}: {escape(text)}[/]")

    yield show


def show_answer(answer: Answer, streamed: Streamed) -> None:
    """The answer where it was not streamed, what became of it, its sources; passages where there is no answer."""
    if streamed.begun:
        console.print()
    if answer.status == "answered" and not streamed.begun:
        console.print(escape_lines(answer.text))
    if answer.why:
        console.print(f"[yellow]{escape(answer.why)}[/]")
    for note in answer.notes:
        console.print(f"[yellow]note[/] {escape(note)}")
    for one in answer.calculations:
        if not one.right:
            console.print(f"[red]not borne out[/] {escape(one.text)} [dim]({escape(one.why)})[/]")
    for claim in answer.pictured:
        console.print(f"[yellow]from a picture[/] {escape(claim.text)} [dim]({escape(claim.why)})[/]")
    for claim in answer.unsupported:
        console.print(f"[red]unsupported[/] {escape(claim.text)} [dim]({escape(claim.why)})[/]")
    cited = {number for claim in answer.claims for number in claim.sources}
    for source in answer.sources:
        if answer.status == "answered" and source.number not in cited:
            continue
        where = f"{escape(source.short_path or source.doc_name)}, page {source.page}{label(source.label, source.page)}"
        where += place(source.place, source.label)
        console.print(f"\n[bold]source {source.number}: {where}[/]  [dim]{escape(' › '.join(source.section_path))}[/]")
        console.print(f"   [italic]{escape(source.snippet)}[/]")
    if answer.evidence.hint:
        console.print(f"\n[yellow]hint[/] {escape(answer.evidence.hint)}")
    console.print(f"\n[dim]evidence {answer.evidence.level} · effort {answer.effort.used} · {spent(answer.usage)}[/]")


def escape_lines(text: str) -> str:
    return "\n".join(map(escape, text.split("\n")))
