"""Commands for questions: search, ask, grep and compare. Print their results."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape as escape_markup

from hybrid_core.errors import UsageError
from hybrid_core.text.names import has_cjk
from hybrid_core.text.prose import counted
from hybrid_core.text.tokens import tokenise
from hybrid_core.types.answers import Answer
from hybrid_core.types.exhaustive import GrepRequest
from hybrid_core.types.notes import without_codes
from hybrid_core.types.requests import OPTIONS, SearchRequest
from hybrid_core.types.results import ReasoningStep, Receipt, SearchResult
from hybrid_core.types.usage import Usage
from hybrid_pageindex.cli.console import (
    PATH,
    console,
    escape,
    label_suffix,
    library_option,
    page_span,
    place_suffix,
    usage_line,
    wants_json_output,
)
from hybrid_pageindex.cli.output import dump, visible

if TYPE_CHECKING:
    from hybrid_pageindex.config.running import RunningServer
    from hybrid_pageindex.config.settings import Settings
    from hybrid_pageindex.engine.documents.comparison import Comparison, SectionChange, SectionSide
    from hybrid_pageindex.engine.engine import Engine
    from hybrid_pageindex.engine.search.grep import GrepResult

_WORD = re.compile(r"[^\W_]+(?:[.,'’-][^\W_]+)*")
_BOLD, _END = "[bold not italic]", "[/]"
_GAPS = 2  # maximum gaps of a section to print with a page
_STEP_LENGTH = 160  # maximum characters of a step
_SERVER_SECONDS = 30.0  # seconds to wait for a running server


async def search_command(engine: Engine, options: argparse.Namespace) -> int:
    with show_steps(quiet=wants_json_output(options)) as on_step:
        result = await engine.search(_read_request(options), on_step=on_step)
    if wants_json_output(options):
        dump(result.to_dict())
    else:
        _show(result, options)
    return 0


def search_by_server(server: RunningServer, settings: Settings, options: argparse.Namespace) -> bool:
    """Search by the server that runs on this home (data folder), and print its result. Return whether it answered.

    A search with a language model is left to this process, which can show the model's steps as they happen.
    """
    request = _read_request(options)
    if settings.llm_model and (options.effort or settings.effort) != "fast":
        return False
    body = _answer_of(server, {name: getattr(request, name) for name in ("question", *OPTIONS)})
    if not body:
        return False
    if wants_json_output(options):
        dump(without_codes(json.loads(body)))
        return True
    from pydantic import TypeAdapter

    _show(TypeAdapter(SearchResult).validate_python(without_codes(json.loads(body))), options)
    return True


def _answer_of(server: RunningServer, fields: Mapping[str, Any]) -> bytes:
    """Return the server's JSON result of a search, b"" if the server does not answer or refuses the request."""
    from http.client import HTTPException
    from urllib.error import URLError
    from urllib.request import ProxyHandler, Request, build_opener

    data = json.dumps({name: value for name, value in fields.items() if value not in (None, ())}).encode()
    headers = {"Authorization": f"Bearer {server.secret}", "Content-Type": "application/json"}
    try:
        request = Request(f"{server.url}api/v1/search", data, headers)
        with build_opener(ProxyHandler({})).open(request, timeout=_SERVER_SECONDS) as response:
            body: bytes = response.read()
    except (URLError, HTTPException, OSError, ValueError):
        return b""
    return body


def _show(result: SearchResult, options: argparse.Namespace) -> None:
    show_search_result(result, parts=options.why, effort=options.why or options.effort in ("auto", "deep"))


async def ask_command(engine: Engine, options: argparse.Namespace) -> int:
    streamed = StreamedAnswer(quiet=wants_json_output(options))
    with show_steps(quiet=wants_json_output(options)) as on_step:
        answer = await engine.ask(
            _read_request(options),
            force=options.force,
            vision=options.vision,
            on_text=streamed.piece,
            on_step=on_step,
        )
    dump(answer.to_dict()) if wants_json_output(options) else show_answer(answer, streamed)
    return 1 if answer.status == "model_failed" else 0


def _read_request(options: argparse.Namespace) -> SearchRequest:
    return SearchRequest(_read_question(options), **{name: getattr(options, name) for name in OPTIONS})


def _read_question(options: argparse.Namespace) -> str:
    """Return the question that was typed.

    Raise UsageError for several words without quotes, because a shell changes some characters.
    """
    words: list[str] = options.question
    if len(words) > 1:
        raise UsageError(
            "The question has several words and is not in quotes.",
            f"Type: hybrid-pageindex {options.command} {json.dumps(' '.join(words), ensure_ascii=False)}",
        )
    return words[0]


async def grep_command(engine: Engine, options: argparse.Namespace) -> int:
    request = GrepRequest(
        options.pattern, options.regex, tuple(options.libraries or ()), options.all_libraries,
        documents=options.documents, where=options.where or (), node=options.node,
        listed="documents" if options.count else "pages", limit=options.limit, context=options.context,
        cursor=options.cursor,
    )  # fmt: skip
    result = await engine.grep(request)
    dump(result.to_dict()) if wants_json_output(options) else show_grep(result)
    return 0


async def compare_command(engine: Engine, options: argparse.Namespace) -> int:
    compared = await engine.compare(
        options.left, options.right, library=library_option(options), right_library=options.right_library,
        left_node=options.left_node, right_node=options.right_node, limit=options.limit, each=options.each,
        cursor=options.cursor,
    )  # fmt: skip
    dump(compared.to_dict()) if wants_json_output(options) else show_comparison(compared)
    return 0


def show_search_result(result: SearchResult, *, parts: bool, effort: bool) -> None:
    """Print the pages of a search result.

    ``parts`` adds the parts of each score, ``effort`` the reason for the search effort (fast or deep).
    """
    evidence = result.evidence
    colour = {"strong": "green", "weak": "yellow", "none": "red", "unclear": "yellow"}[evidence.level]
    used = result.effort
    thought = f" · effort {used.used} ({escape(used.why)})" if effort or "deep" in (used.asked, used.used) else ""
    score = round(evidence.score * 10_000) // 100 / 100  # cut: a rounded score could contradict the level
    console.print(
        f"evidence [{colour}]{evidence.level}[/] ({score:.2f}){thought} · {result.timings_ms['total']:.0f} ms"
    )
    if evidence.hint:
        console.print(f"[yellow]hint[/] {escape(evidence.hint)}; `outline DOC` shows what a document is about")
    if result.route.used != "auto":
        filters = f": filter {'; '.join(result.route.filter)}" if result.route.filter else ""
        console.print(f"documents by {result.route.used} ({escape(result.route.why)}){escape(filters)}")
    for note in result.notes:
        console.print(f"[yellow]note[/] {escape(note)}")
    for rank, page in enumerate(result.results, 1):
        receipt = page.receipt
        where = f"page {page.page}{label_suffix(page.label, page.page)}{place_suffix(page.place, page.label)}"
        where += ", a table of contents or an index" if page.contents else ""
        where += ", hidden text on this page" if page.hidden_text else ""
        name = escape((f"{page.library}: " if page.library else "") + (page.short_path or page.doc_name))
        console.print(f"\n[bold]{rank}. {name}, {where}[/]  score {page.score:.3f}")
        console.print(f"   {escape(PATH.join(page.section.path))}  ({page_span(page.section)})")
        console.print(f"   [italic]{highlight_terms(page.snippet, receipt.terms)}[/]")
        console.print(f"   [dim]why: {escape(page.why)}[/]")
        if page.near:
            console.print(f"   [dim]nearly as {escape(page.near)}[/]")
        for pointer in page.see:
            console.print(f"   see {escape(pointer.written)}: page {pointer.page} [dim]({escape(pointer.why)})[/]")
        for gap in page.section.gaps[:_GAPS]:
            console.print(f"   [yellow]open[/] {escape(gap)}")
        if parts:
            console.print(f"   [dim]{escape(_score_parts(receipt))}[/]")
        if receipt.reasoning is not None:
            console.print(f"   [dim]{escape(receipt.verdict)}[/]")
        if page.also_in:
            console.print(f"   [dim]also in: {escape('; '.join(page.also_in))}[/]")
    if not result.results:
        console.print("No page found.")
    if result.usage != Usage():
        console.print(f"\n[dim]{usage_line(result.usage)}[/]")


def _score_parts(receipt: Receipt) -> str:
    """Return the parts of a page's score as one line. ``receipt`` records how the score was computed."""
    terms = ", ".join(f"{term} {add:.2f}" for term, add in list(receipt.terms.items())[:6])
    scores = f"page {receipt.page:.2f} + document {receipt.document:.2f} + structure {receipt.structure:.2f}"
    later = {"rerank": receipt.rerank, "reasoning": receipt.reasoning}
    scores += "".join(f" + {name} {add:.2f}" for name, add in later.items() if add)
    routed = f"; routed by {receipt.routing_reason}" if receipt.routing_reason else ""
    addends = ", ".join(f"{name} {add:.2f}" for name, add in list(receipt.addends.items())[:6])
    features = f"; features {addends}" if addends else ""
    return f"{scores}{features}; terms {terms}; NodeScore {receipt.node_score:.2f}{routed}"


def highlight_terms(text: str, terms: Collection[str]) -> str:
    """Return the text in Rich's markup, with the words in bold whose stems are in ``terms``."""
    parts, last = [], 0
    for start, end in sorted(_term_spans(text, terms)):
        if start >= last:
            parts += [escape_markup(visible(text[last:start])), _BOLD, escape_markup(visible(text[start:end])), _END]
            last = end
    return "".join([*parts, escape_markup(visible(text[last:]))])


def _term_spans(text: str, terms: Collection[str]) -> Iterator[tuple[int, int]]:
    for term in terms:
        if has_cjk(term):
            yield from ((match.start(), match.end()) for match in re.finditer(re.escape(term), text))
    for match in _WORD.finditer(text):
        if not has_cjk(match[0]) and not set(tokenise(match[0])).isdisjoint(terms):
            yield match.span()


class StreamedAnswer:
    """A printer of an answer while a model writes it. ``begun`` is True once any text was printed."""

    def __init__(self, *, quiet: bool) -> None:
        self.begun = False
        self._quiet = quiet

    def piece(self, text: str) -> None:
        if not self._quiet:
            self.begun = True
            sys.stdout.write("\n".join(map(visible, text.split("\n"))))
            sys.stdout.flush()


@contextmanager
def show_steps(*, quiet: bool) -> Iterator[Callable[[ReasoningStep], None] | None]:
    """Yield a callback that prints a model's steps to stderr, None with ``quiet`` or without a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    err = Console(stderr=True, highlight=False, soft_wrap=True)

    def show(step: ReasoningStep) -> None:
        text = step.text if len(step.text) <= _STEP_LENGTH else step.text[: _STEP_LENGTH - 1] + "…"
        err.print(f"[dim]{step.kind}: {escape(text)}[/]")

    yield show


def show_answer(answer: Answer, streamed: StreamedAnswer) -> None:
    """Print the parts of an answer that were not streamed: text, notes, unsupported statements and sources."""
    if streamed.begun:
        console.print()
    if answer.status == "answered" and not streamed.begun:
        console.print(escape_lines(answer.text))
    if answer.why:
        console.print(f"[yellow]{escape(answer.why)}[/]")
    for note in answer.notes:
        console.print(f"[yellow]note[/] {escape(note)}")
    for calculation in answer.calculations:
        if not calculation.right:
            console.print(f"[red]not confirmed[/] {escape(calculation.text)} [dim]({escape(calculation.why)})[/]")
    for claim in answer.pictured:
        console.print(f"[yellow]from a picture[/] {escape(claim.text)} [dim]({escape(claim.why)})[/]")
    for claim in answer.unsupported:
        console.print(f"[red]unsupported[/] {escape(claim.text)} [dim]({escape(claim.why)})[/]")
    cited = {number for claim in answer.claims for number in claim.sources}
    for source in answer.sources:
        if answer.status == "answered" and source.number not in cited:
            continue
        where = f"{escape(source.short_path or source.doc_name)}, page {source.page}"
        where += label_suffix(source.label, source.page)
        where += place_suffix(source.place, source.label)
        console.print(f"\n[bold]source {source.number}: {where}[/]  [dim]{escape(' › '.join(source.section_path))}[/]")
        console.print(f"   [italic]{escape(source.snippet)}[/]")
    if answer.evidence.hint:
        console.print(f"\n[yellow]hint[/] {escape(answer.evidence.hint)}")
    console.print(
        f"\n[dim]evidence {answer.evidence.level} · effort {answer.effort.used} · {usage_line(answer.usage)}[/]"
    )


def escape_lines(text: str) -> str:
    return "\n".join(map(escape, text.split("\n")))


def show_grep(result: GrepResult) -> None:
    """Print the totals of an exhaustive search, and its matching pages with lines, or its documents with counts."""
    pages, documents = counted(result.total_pages, "page"), counted(result.total_documents, "document")
    whole = "all pages were searched" if result.complete else escape(result.note)
    console.print(f"{pages} in {documents}, {counted(result.total_matches, 'place')} · {whole}")
    for document in result.documents:
        console.print(f"{escape(document.path)}: {counted(document.pages, 'page')}, {document.matches} places")
    for page in result.pages:
        console.print(f"\n{escape(page.document)}, page {page.page}  ({counted(page.matches, 'place')})")
        for place in page.places:
            for line in place.text.split("\n"):
                console.print(f"   {escape(line)}")
    if result.cursor:
        console.print(f"\nfor more, add --cursor {result.cursor}")


def show_comparison(compared: Comparison) -> None:
    """Print the counts of a comparison, then each changed section with its words and figures."""
    console.print(f"{escape(compared.left.document)} → {escape(compared.right.document)}")
    console.print(
        f"{counted(compared.added, 'section')} added, {compared.removed} removed, {compared.changed} changed, "
        f"{compared.moved} moved, {compared.unchanged} the same"
    )
    for section in compared.sections:
        _show_section(section)
    if compared.cursor:
        console.print(f"\nfor more, add --cursor {compared.cursor}")


def _show_section(section: SectionChange) -> None:
    sides = " → ".join(_side_title(side) for side in (section.left, section.right) if side is not None)
    moved = ", moved" if section.moved and section.kind != "moved" else ""
    console.print(f"\n{section.kind}{moved}: {sides}")
    for change in section.changes:
        console.print(f"   p. {change.left_page} → {change.right_page}")
        for sign, words in (("-", change.before), ("+", change.after)):
            if words:
                console.print(f"   {sign} {escape(words)}")
    for figure in section.figure_changes:
        console.print(f"   figure: {escape(figure.label)}: {escape(figure.before)} → {escape(figure.after)}")
    if section.differences > len(section.changes):
        console.print(f"   … {section.differences} differences in all")


def _side_title(side: SectionSide) -> str:
    return f"{escape(side.title)} (page {side.start_page})"
