"""What people see: tables and short texts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape as escape_markup
from rich.table import Table

from hybrid_core.text.plural import counted
from hybrid_core.types.addresses import is_there, shown_name
from hybrid_core.types.documents import Document, Section
from hybrid_core.types.libraries import Library
from hybrid_core.types.results import Receipt, SearchResult, SectionFound
from hybrid_core.types.usage import Usage
from hybrid_pageindex.doors.cli.grouped import grouped
from hybrid_pageindex.doors.cli.highlight import highlit
from hybrid_pageindex.doors.cli.output import visible

if TYPE_CHECKING:
    from hybrid_core.embed.export import ExportReport
    from hybrid_core.store.catalog.bin import BinEntry
    from hybrid_pageindex.services.briefing import Briefing
    from hybrid_pageindex.services.migrating import CatalogCopy, Migration
    from hybrid_pageindex.services.outline import Outline
    from hybrid_pageindex.services.places import PlaceFound
    from hybrid_pageindex.services.reading import PageRead
    from hybrid_pageindex.services.sizes import HomeSize, LibrarySize
    from hybrid_pageindex.services.upkeep import Health
    from indexers.build.embed import EmbedReport
    from indexers.stages.report import IndexReport


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """A reader that went away is main's to handle; Rich would end the process with 1."""
        raise BrokenPipeError


console = _Console(highlight=False, soft_wrap=True)
_PATH = " › "
_PLACE = re.compile(r".*[ !:]")  # «slide 3», «lines 1-40», «Sales!A1:H50»; what is printed on paper is «iv», «A-3»
_NAMED = 3  # files that are gone
_GAPS = 2  # of a section, beside a page
_TITLE_WIDTH = 60  # characters of a title in a table
_PIPED_WIDTH = 240  # where nobody's window limits it, a table is not cut


def tables() -> Console:
    return _Console(highlight=False, width=None if console.is_terminal else _PIPED_WIDTH)


def escape(text: str) -> str:
    """Text for one line of output: neither markup nor control characters have an effect."""
    return escape_markup(visible(text))


def index_report(report: IndexReport) -> None:
    counts = {status: sum(f.status == status for f in report.files) for status in ("indexed", "unchanged", "failed")}
    pages = sum(file.pages for file in report.files if file.status == "indexed")
    console.print(
        f"{counts['indexed']} indexed ({counted(pages, 'page')}), {counts['unchanged']} unchanged, "
        f"{counts['failed']} failed" + (f", {len(report.removed)} removed" if report.removed else "")
    )
    for file in report.files:
        if file.status == "failed":
            console.print(f"  [red]failed[/] {escape(file.path)}: {escape(file.error or '')}")
    for said in grouped((shown_name(file.path), file.note) for file in report.files if file.note and not file.error):
        console.print(f"  [yellow]note[/] {escape(said)}")
    if any(file.steps for file in report.files):
        _models(report)
    for note in report.notes:
        console.print(f"[yellow]note[/] {escape(note)}")


def _models(report: IndexReport) -> None:
    """What models did for each file, and what it took."""
    table = Table(
        "models", "pages", "sections", "failed", "calls", "cached", "tokens in", "out", "cost", "seconds",
        box=None, header_style="bold", pad_edge=False,
    )  # fmt: skip
    worked = [file for file in report.files if file.steps]
    for name, files, usage in [
        *((shown_name(file.path), [file], file.usage) for file in worked),
        *([("together", worked, report.usage)] if len(worked) > 1 else []),
    ]:
        steps = [step for file in files for step in file.steps]
        done = {kind: sum(step.done for step in steps if step.step == kind) for kind in ("pages", "sections")}
        table.add_row(
            escape(name), str(done["pages"]), str(done["sections"]), str(sum(step.failed for step in steps)),
            f"{usage.calls:,}", f"{usage.cached:,}", f"{usage.input_tokens:,}", f"{usage.output_tokens:,}",
            f"{usage.cost:.4f}" if usage.cost else "-", f"{sum(file.model_seconds for file in files):.1f}",
        )  # fmt: skip
    tables().print(table)


def export_report(report: ExportReport) -> None:
    console.print(
        f"{escape(report.model)} is exported to [bold]{escape(report.folder)}[/] ({report.megabytes} MB, int8; its "
        f"vectors have a cosine of {report.cosine:.3f} with the model's own, {report.least_cosine:.3f} at least)."
    )
    console.print(f"Use it with: embed --embedder onnx:{escape(report.folder)}")


def embed_report(report: EmbedReport | None) -> None:
    if report is None:
        console.print("vectors taken away; words and section trees decide")
        return
    console.print(
        f"{counted(report.documents, 'document')} embedded by {escape(report.embedder)} "
        f"({report.dimension} dimensions): "
        f"{counted(report.vectors, 'vector')} made, {report.reused} reused, {report.seconds:.1f} s"
    )
    if not report.serving:
        console.print("[yellow]note[/] documents were added meanwhile; run embed again to let the new vectors serve")


def search_result(result: SearchResult, *, parts: bool, effort: bool) -> None:
    """``parts`` shows what each score is made of; ``effort`` how hard the search thought, also where that is usual."""
    evidence = result.evidence
    colour = {"strong": "green", "weak": "yellow", "none": "red", "unclear": "yellow"}[evidence.level]
    used = result.effort
    thought = f" · effort {used.used} ({escape(used.why)})" if effort or "deep" in (used.asked, used.used) else ""
    console.print(
        f"evidence [{colour}]{evidence.level}[/] ({evidence.score:.2f}){thought} · {result.timings_ms['total']:.0f} ms"
    )
    if evidence.hint:
        console.print(f"[yellow]hint[/] {escape(evidence.hint)}; `outline DOC` shows what a document is about")
    if result.route.used != "auto":
        said = f": filter {'; '.join(result.route.filter)}" if result.route.filter else ""
        console.print(f"documents by {result.route.used} ({escape(result.route.why)}){escape(said)}")
    for note in result.notes:
        console.print(f"[yellow]note[/] {escape(note)}")
    for rank, found in enumerate(result.results, 1):
        receipt = found.receipt
        where = f"page {found.page}{label(found.label, found.page)}{place(found.place, found.label)}"
        where += ", printed contents or an index" if found.contents else ""
        where += ", hidden text on this page" if found.hidden_text else ""
        name = escape((f"{found.library}: " if found.library else "") + (found.short_path or found.doc_name))
        console.print(f"\n[bold]{rank}. {name}, {where}[/]  score {found.score:.3f}")
        console.print(f"   {escape(_PATH.join(found.section.path))}  ({_span(found.section)})")
        console.print(f"   [italic]{highlit(found.snippet, receipt.terms)}[/]")
        console.print(f"   [dim]why: {escape(found.why)}[/]")
        if found.near:
            console.print(f"   [dim]nearly as {escape(found.near)}[/]")
        for one in found.see:
            console.print(f"   see {escape(one.written)}: page {one.page} [dim]({escape(one.why)})[/]")
        for gap in found.section.gaps[:_GAPS]:
            console.print(f"   [yellow]open[/] {escape(gap)}")
        if parts:
            console.print(f"   [dim]{escape(_parts(receipt))}[/]")
        if receipt.reasoning is not None:
            console.print(f"   [dim]{escape(receipt.verdict)}[/]")
        if found.also_in:
            console.print(f"   [dim]also in: {escape('; '.join(found.also_in))}[/]")
    if not result.results:
        console.print("No page found.")
    if result.usage != Usage():
        console.print(f"\n[dim]{spent(result.usage)}[/]")


def _parts(receipt: Receipt) -> str:
    """What a score is made of."""
    terms = ", ".join(f"{term} {add:.2f}" for term, add in list(receipt.terms.items())[:6])
    said = f"page {receipt.page:.2f} + document {receipt.document:.2f} + structure {receipt.structure:.2f}"
    later = {"rerank": receipt.rerank, "reasoning": receipt.reasoning}
    said += "".join(f" + {name} {add:.2f}" for name, add in later.items() if add)
    routed = f"; routed by {receipt.routing_reason}" if receipt.routing_reason else ""
    addends = ", ".join(f"{name} {add:.2f}" for name, add in list(receipt.addends.items())[:6])
    features = f"; features {addends}" if addends else ""
    return f"{said}{features}; terms {terms}; NodeScore {receipt.node_score:.2f}{routed}"


def spent(usage: Usage) -> str:
    """What calls of models took, in a line."""
    cost = f", cost {usage.cost:.4f}" if usage.cost else ""
    kept = f" (and {usage.cached} from the cache)" if usage.cached else ""
    return f"{counted(usage.calls, 'model call')}{kept}, {usage.input_tokens} + {usage.output_tokens} tokens{cost}"


def _span(section: Section | SectionFound) -> str:
    first, last = section.start_page, section.end_page
    return f"page {first}" if first == last else f"pages {first}-{last}"


def outline(found: Outline) -> None:
    document = found.document
    console.print(f"[bold]{escape(document.name)}[/]  {escape(document.description)}")
    for note in found.notes:
        console.print(f"[yellow]note[/] {escape(note)}")
    for node in found.nodes:
        section = node.section
        indent = "  " * section.level
        title = f"[dim]{escape(section.title)}[/]" if section.synthetic else escape(section.title)
        scored = ""
        if node.node_score is not None:
            best = f", best {', '.join(map(str, node.best_pages))}" if node.best_pages else ""
            scored = f"  [cyan]{node.node_score:.2f}{best}[/]"
        console.print(f"{indent}[dim]{section.node_id}[/] {title}  [dim]{_span(section)}[/]{scored}")
        for gap in section.gaps:
            console.print(f"{indent}  [yellow]open[/] {escape(gap)}")


def briefing(found: Briefing) -> None:
    kinds = ", ".join(f"{count} {kind}" for kind, count in found.kinds)
    console.print(
        f"[bold]{escape(found.title)}[/]  documents {found.documents}, pages {found.pages}  [dim]{escape(kinds)}[/]"
    )
    if found.description:
        console.print(escape(found.description))
    for part in found.parts:
        console.print(f"  {escape(part.title)}  [dim]pages {part.start_page}-{part.end_page}[/]")
    for figure in found.figures:
        console.print(f"  [cyan]figure[/] {escape(figure.text)}  [dim]page {figure.page}[/]")
    for one in found.questions:
        console.print(f"  [green]ask[/] {escape(one.question)}  [dim]{escape(one.doc_name)}, page {one.page}[/]")


def label(label: str, page: int) -> str:
    """A printed label that says more than the page's number; where the format has no pages, the place in the file."""
    if not label or label == str(page):
        return ""
    return f" ({escape(label)})" if _PLACE.match(label) else f" (printed {escape(label)})"


def place(place: str, label: str) -> str:
    """Where in the file a match stands, if the page's label does not say it."""
    if not place or place == label:
        return ""
    from hybrid_core.types.locators import shown_place

    return f", {escape(shown_place(place))}"


def pages(read: Sequence[PageRead], images: Sequence[str]) -> None:
    for page in read:
        span = f" [dim]{escape(page.span)}[/]" if page.span else ""
        console.print(f"[bold]{escape(page.doc_name)}, page {page.page}[/]{label(page.label, page.page)}{span}")
        for section in page.sections:
            console.print(f"[dim]{escape(_PATH.join(section.path))}[/]")
        if page.needs_ocr:
            console.print("[yellow]no readable text on this page (scanned?); see it with --image[/]")
        if page.read_by and not page.text:
            console.print("[yellow]OCR found no text on this page; see it with --image[/]")
        elif page.read_by:
            what = "letters" if page.read_by.startswith("OCR") else "words"
            console.print(f"[dim]read by {escape(page.read_by)}: {what} may be wrong; see the page with --image[/]")
        if page.note:
            console.print(f"[yellow]note[/] {escape(page.note)}")
        if page.hidden_text:
            console.print("[yellow]hidden text on this page[/]: readers of the file do not see these lines")
            for line in page.hidden_text:
                console.print(f"[yellow]hidden[/] {escape(line)}")
        if page.summary:
            console.print(f"[italic]Summary: {escape(page.summary)}[/]")
        if page.described:
            for said in page.described.split("\n"):
                console.print(f"[italic]{escape(said)}[/]")
        text = "\n".join(escape(line) for line in page.text.split("\n"))
        console.print(f"\n{text}\n")
    for image in images:
        console.print(f"image written: {escape(image)}")


def found_place(at: PlaceFound) -> None:
    moved = "these words have moved or changed since; " if at.moved else ""
    console.print(f"[dim]{moved}they stand in line {at.line + 1} of this page[/]")


def documents(found: Sequence[Document], *, filtered: bool) -> None:
    table = Table(
        "id",
        "name",
        "title",
        "pages",
        "sections",
        "what it is",
        "indexed",
        box=None,
        header_style="bold",
        pad_edge=False,
    )
    for document in found:
        error = f"[red]{escape(document.error)}[/]" if document.error else ""
        table.add_row(
            document.doc_id, escape(document.name), escape(_title(document)), str(document.pages),
            str(document.sections), error or escape(_card(document)), document.indexed_at,
        )  # fmt: skip
    nothing = "No document meets these conditions." if filtered else "The library is empty."
    tables().print(table) if found else console.print(nothing)
    gone = [document.name for document in found if not is_there(document.path)]
    if gone:
        named = escape(", ".join(gone[:_NAMED])) + (f" and {len(gone) - _NAMED} more" if len(gone) > _NAMED else "")
        files = counted(len(gone), "file is", "files are")
        console.print(f"[yellow]note[/] {files} gone ({named}); index the folder with --prune to remove what is gone")


def _card(document: Document) -> str:
    card = document.card
    when = str(card.years[0]) if card.years else ""
    parts = [
        card.names[0] if card.names and card.names[0] not in (Path(document.name).stem, document.title) else "",
        card.type,
        when + (f" Q{card.quarter}" if card.quarter else ""),
    ]
    return ", ".join(part for part in parts if part)


def _title(document: Document) -> str:
    """The title in one column's width, nothing where it is the file's name again."""
    title = document.title if document.title != Path(document.name).stem else ""
    return title if len(title) <= _TITLE_WIDTH else title[: _TITLE_WIDTH - 1] + "…"


def info(document: Document) -> None:
    for key, value in document_dict(document).items():
        if value in ("", [], {}, None):
            continue
        if isinstance(value, dict):
            held = {k: v for k, v in value.items() if v not in ("", [], (), None)}
            value = "; ".join(f"{k}: {_steps(v) if k == 'steps' else _flat(v)}" for k, v in held.items())
        elif isinstance(value, list):
            value = "; ".join(map(str, value))
        elif key == "mtime":
            value = datetime.fromtimestamp(value).astimezone().isoformat(sep=" ", timespec="seconds") if value else "-"
        console.print(f"[bold]{key:<12}[/] {escape(str(value))}")
    if not is_there(document.path):
        console.print("[yellow]note[/] its file is gone; index its folder with --prune to remove the document")


def _steps(steps: dict[str, dict[str, Any]]) -> str:
    """What models did for the version that is published, step by step."""
    told = []
    for name, step in steps.items():
        taken = Usage(**{key: value for key, value in step.items() if key not in ("done", "failed")})
        told.append(f"{name} {step['done']} done, {step['failed']} failed, {spent(taken)}")
    return " | ".join(told)


def _flat(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def document_dict(document: Document) -> dict[str, Any]:
    """The JSON shape of a document."""
    status = "failed" if document.error else "indexed"
    return {"status": status} | asdict(document) | {"warnings": list(document.warnings)}


def opened(name: str, page: int | None) -> None:
    console.print(f"opened {escape(name)}" + (f", page {page}" if page else ""))


def removed(names: Sequence[str], entry: str = "") -> None:
    """Show what was removed, and how to bring back what went into the bin as ``entry``."""
    for name in names:
        console.print(f"removed {escape(name)}")
    if not names:
        console.print("nothing to remove")
    if entry:
        command = shlex.join(("hybrid-pageindex", "bin", "restore", entry))
        console.print(f"For 30 days «{escape(command)}» brings it back; --for-good deletes at once.")


def bin_entries(entries: Sequence[BinEntry]) -> None:
    """Show the bin, the newest entry first."""
    for entry in entries:
        rest = entry.documents - len(entry.names)
        names = ", ".join(entry.names) + (f" and {rest} more" if rest > 0 else "")
        what = f"library {entry.library}" if entry.kind == "library" else f"{names} of {entry.library}"
        console.print(
            f"{escape(entry.id)}  {escape(what)}  ({counted(entry.documents, 'document')}, "
            f"{counted(entry.pages, 'page')}; removed {entry.removed_at[:10]}, deleted after {entry.expires_at[:10]})"
        )
    if not entries:
        console.print("The bin is empty.")


def restored(entry: BinEntry) -> None:
    """Show what came back from the bin."""
    documents = counted(entry.documents, "document")
    where = f"library {entry.library} is back" if entry.kind == "library" else f"back in {entry.library}"
    console.print(escape(f"{where}: {documents}"))


def conversations_left(number: int) -> None:
    """Say what a library leaves behind, and how to be rid of it."""
    stay = "stays, with what it quotes" if number == 1 else "stay, with what they quote"
    console.print(
        f"{counted(number, 'conversation')} about it {stay}; the sources are named as gone. "
        "«chat list» shows them, «chat remove ID» deletes one."
    )


def home_cleared(home: Path | str) -> None:
    """Say what clearing everything leaves behind, and how to be rid of that."""
    console.print(
        "Tokens, users, conversations and notes are gone, too. config.yaml stays, and how much models were used, "
        f"without names, for the limits of the month. Delete {escape(str(home))} to remove these."
    )


def library(one: Library) -> None:
    alias = f", also called {one.alias}" if one.alias else ""
    console.print(f"library {escape(one.name)}{escape(alias)}")


def libraries(sizes: Sequence[LibrarySize], home: Path | str) -> None:
    table = Table(
        "library", "searchable", "pages", "waiting", "failed", "vector index", "embedder",
        box=None, header_style="bold", pad_edge=False,
    )  # fmt: skip
    for size in sizes:
        table.add_row(
            escape(size.name + (f" ({size.alias})" if size.alias else "")), str(size.documents), str(size.pages),
            str(size.waiting), str(size.failed), _megabytes(size.vector_bytes), escape(_embedder(size)),
        )  # fmt: skip
    tables().print(table) if sizes else console.print(f"No library in {escape(str(home))} yet.")
    for size in sizes:
        if size.last_error:
            console.print(f"[yellow]failed[/] {escape(size.name)}: {escape(size.last_error)}")


def home(found: HomeSize) -> None:
    libraries(found.libraries, found.home)
    parts = {
        "catalog": found.catalog_bytes, "cache": found.cache_bytes, "indexes": found.index_bytes,
        "kept files": found.original_bytes,
    }  # fmt: skip
    taken = ", ".join(f"{name} {_megabytes(size)}" for name, size in parts.items() if size)
    console.print(f"{escape(found.home)}: {_megabytes(sum(parts.values()))} ({taken})")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"


def _embedder(size: LibrarySize) -> str:
    if not size.embedder:
        return "none"
    coming = f" ({size.next_embedder} in the making)" if size.next_embedder else ""
    return f"{size.embedder}, {size.embedded} of {size.documents} documents{coming}"


def migrations(moved: Sequence[Migration]) -> None:
    table = Table("library", "now", "vectors", "catalog", "seconds", box=None, header_style="bold", pad_edge=False)
    for one in moved:
        table.add_row(escape(one.library), one.to, str(one.vectors), str(one.expected), f"{one.seconds:.1f}")
    tables().print(table) if moved else console.print("There is no library to move.")
    for one in moved:
        for note in one.notes:
            console.print(f"[yellow]note[/] {escape(one.library)}: {escape(note)}")


def replicas_completed(copies: Mapping[str, int]) -> None:
    made = sum(copies.values())
    console.print(f"{made} copies made; every part of {len(copies)} collections is on as many nodes as it shall be")


def catalog_copied(copied: CatalogCopy) -> None:
    console.print(
        f"{copied.rows} rows of {len(copied.tables)} tables copied to {escape(copied.to)}, each table compared"
    )
    console.print(escape(copied.next))


def catalog_upgraded(schema: int) -> None:
    console.print(f"The catalog is of schema {schema}, which this version works with")


def originals_uploaded(originals: int) -> None:
    console.print(f"The bucket has {counted(originals, 'original')} of this home; they stay here, too")


def workers_alive(alive: int) -> None:
    console.print(f"{counted(alive, 'worker')} of this machine")


def indexes_rebuilt(vectors: Mapping[str, int]) -> None:
    for library, number in vectors.items():
        console.print(f"{escape(library)}: the search index was made anew, {number} vectors")


def health(found: Health) -> None:
    console.print(f"hybrid-pageindex {found.version}, home {escape(found.home)}")
    for check in found.checks:
        mark = "[green]ok[/]    " if check.ok else "[red]failed[/]"
        console.print(f"{mark} {escape(check.name)}: {escape(check.detail)}")


def mcp_installed(file: Path, backup: Path | None) -> None:
    copy = f" (what it held before is in {escape(str(backup))})" if backup else ""
    console.print(f"wrote the server into {escape(str(file))}{copy}; restart the client")
