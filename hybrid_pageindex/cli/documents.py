"""Commands about documents: read, list, correct and remove them."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from hybrid_core.errors import DocumentError, StoreError, UsageError
from hybrid_core.text.prose import counted
from hybrid_core.types.documents import Document
from hybrid_core.types.libraries import is_there
from hybrid_core.types.usage import Usage
from hybrid_pageindex.cli.console import (
    PATH,
    console,
    escape,
    label_suffix,
    library_option,
    page_span,
    tables,
    usage_line,
    wants_json_output,
)
from hybrid_pageindex.cli.output import dump
from hybrid_pageindex.engine.engine import Engine

if TYPE_CHECKING:
    from hybrid_pageindex.engine.documents.briefing import Briefing
    from hybrid_pageindex.engine.documents.contents import Outline
    from hybrid_pageindex.engine.documents.reading import PageRead, PlaceFound
    from indexers.formats.format import ImageFormat

_MAX_FILES_NAMED = 3  # maximum missing files to name
_TITLE_WIDTH = 60  # maximum characters of a title in a table
_OPENERS = ("open",) if sys.platform == "darwin" else ("xdg-open", "gio", "wslview")
_PAGED_SUFFIXES = (".pdf",)  # formats whose viewers understand "#page=3" after the address
_IMAGE_FORMATS: dict[str, ImageFormat] = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg"}


async def outline_command(engine: Engine, options: argparse.Namespace) -> int:
    if options.text and options.format == "text" and not wants_json_output(options):
        raise UsageError("--text works only with the formats json and pageindex.", "Add --format pageindex, or --json.")
    outline = await engine.outline(
        options.document, library=library_option(options), query=options.query, depth=options.depth, text=options.text,
        expert=options.expert,
    )  # fmt: skip
    if options.format == "pageindex":
        dump(outline.to_pageindex())
    elif options.format == "json" or wants_json_output(options):
        dump(outline.to_dict())
    else:
        show_outline(outline)
    return 0


async def briefing_command(engine: Engine, options: argparse.Namespace) -> int:
    briefing = await engine.documents.briefing(options.document, library=library_option(options), model=options.model)
    dump(briefing.to_dict()) if wants_json_output(options) else show_briefing(briefing)
    return 0


async def page_command(engine: Engine, options: argparse.Namespace) -> int:
    library, numbers, place = library_option(options), options.pages, None
    if options.quote:
        place = await engine.documents.find_place(options.document, numbers, options.quote, library=library)
        numbers = str(place.page)
    pages = await engine.pages(options.document, numbers, library=library)
    if options.tables:
        pages = [await engine.documents.with_tables(page, library=library) for page in pages]
    images: list[str] = []
    if options.view != "page" and not options.image:
        raise UsageError("--view chooses how --image draws a page, but --image is missing.", "Add --image FILE.png.")
    if options.image:
        target = Path(options.image)
        kind = _IMAGE_FORMATS.get(target.suffix.lower())
        if kind is None:
            raise UsageError(
                f"The name of the image file '{target}' does not end in .png or .jpg.",
                "Choose a file name that ends in .png or .jpg.",
            )
        for page in pages:
            image = await engine.pictures.page(
                page.doc_id, page.page, library=library, password=options.password, format=kind, view=options.view
            )
            path = target if len(pages) == 1 else target.with_stem(f"{target.stem}-{page.page}")
            try:
                path.write_bytes(image)
            except OSError as error:
                raise StoreError(
                    f"{path}: the file cannot be written ({error.strerror}).", "Choose another path for the file."
                ) from error
            images.append(str(path))
    if wants_json_output(options):
        dump(
            {"pages": [page.to_dict() for page in pages], "images": images}
            | ({"found": asdict(place)} if place else {})
        )
    else:
        show_pages(pages, images)
        if place is not None:
            show_quote_place(place)
    return 0


async def open_command(engine: Engine, options: argparse.Namespace) -> int:
    library, page = library_option(options), options.page
    if page is not None:
        await engine.pages(options.document, page, library=library)  # raises an error if there is no such page
    document = await engine.documents.get(options.document, library=library)
    file = await engine.documents.original(document.doc_id, library=library)
    open_file(file, page)
    if wants_json_output(options):
        dump({"file": str(file), "page": page})
    else:
        show_opened(document.name, page)
    return 0


async def original_command(engine: Engine, options: argparse.Namespace) -> int:
    library, target = library_option(options), Path(options.file)
    if options.password and not options.highlights:
        raise UsageError("--password is only needed to write highlights.", "Add --highlights, or leave --password out.")
    document = (await engine.documents.get(options.document, library=library)).doc_id
    lent = (
        engine.documents.annotated_original(document, library=library, password=options.password)
        if options.highlights
        else engine.documents.lent_original(document, library=library)
    )
    async with lent as file:
        try:
            with target.open("xb") as copy, file.open("rb") as source:
                shutil.copyfileobj(source, copy)
        except FileExistsError as error:
            raise UsageError(
                f"The file {target} already exists, so it was not overwritten.",
                "Give the path of a file that does not exist yet.",
            ) from error
        except OSError as error:
            raise StoreError(
                f"{target}: the file cannot be written ({error.strerror}).", "Choose another path for the file."
            ) from error
    if wants_json_output(options):
        dump({"file": str(target), "highlights": options.highlights})
    else:
        console.print(f"file written: {escape(str(target))}")
    return 0


async def list_command(engine: Engine, options: argparse.Namespace) -> int:
    documents = await engine.documents.list(library=library_option(options), where=options.where)
    dump({"documents": [document_dict(d) for d in documents]}) if wants_json_output(options) else show_documents(
        documents, filtered=bool(options.where)
    )
    return 0


async def edit_command(engine: Engine, options: argparse.Namespace) -> int:
    pairs = [assignment.partition("=") for assignment in options.set]
    if wrong := next((assignment for assignment, pair in zip(options.set, pairs, strict=True) if not pair[1]), None):
        raise UsageError(
            f"The correction '{wrong}' does not have the form FIELD=VALUE.",
            "Write --set FIELD=VALUE, for example --set year=2022.",
        )
    changes = {field: value for field, _, value in pairs}
    document = await engine.documents.edit(
        options.document, set=changes, unset=options.unset, library=library_option(options)
    )
    dump(document_dict(document)) if wants_json_output(options) else show_document(document)
    return 0


async def remove_command(engine: Engine, options: argparse.Namespace) -> int:
    removal = await engine.documents.discard(
        options.documents, library=library_option(options), for_good=options.for_good
    )
    if wants_json_output(options):
        removed = [{"doc_id": d.doc_id, "name": d.name, "path": d.path} for d in removal.documents]
        dump({"removed": removed, "bin": removal.entry})
    else:
        show_removed([document.name for document in removal.documents], removal.entry)
    return 0


def open_file(file: Path, page: int | None) -> None:
    """Open a file with the system's default program. Raise DocumentError if there is none or it fails."""
    target = file.as_uri() + f"#page={page}" if page and file.suffix.lower() in _PAGED_SUFFIXES else str(file)
    if sys.platform == "win32":
        os.startfile(target)
        return
    opener = next((program for name in _OPENERS if (program := shutil.which(name))), None)
    if opener is None:
        raise DocumentError(f"no program to open this file was found (looked for {', '.join(_OPENERS)}).", file=file)
    command = [opener, "open", target] if Path(opener).name == "gio" else [opener, target]
    quiet = subprocess.DEVNULL
    done = subprocess.run(command, stdin=quiet, stdout=quiet, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        reason = " ".join(done.stderr.split()) or f"{Path(opener).name} ended with {done.returncode}"
        raise DocumentError(f"the file could not be opened ({reason}).", file=file)


def show_outline(outline: Outline) -> None:
    document = outline.document
    console.print(f"[bold]{escape(document.name)}[/]  {escape(document.description)}")
    for note in outline.notes:
        console.print(f"[yellow]note[/] {escape(note)}")
    for node in outline.nodes:
        section = node.section
        indent = "  " * section.level
        title = f"[dim]{escape(section.title)}[/]" if section.synthetic else escape(section.title)
        scored = ""
        if node.node_score is not None:
            best = f", best {', '.join(map(str, node.best_pages))}" if node.best_pages else ""
            scored = f"  [cyan]{node.node_score:.2f}{best}[/]"
        console.print(f"{indent}[dim]{section.node_id}[/] {title}  [dim]{page_span(section)}[/]{scored}")
        for gap in section.gaps:
            console.print(f"{indent}  [yellow]open[/] {escape(gap)}")


def show_briefing(briefing: Briefing) -> None:
    kinds = ", ".join(f"{count} {kind}" for kind, count in briefing.kinds)
    counts = f"documents {briefing.documents}, pages {briefing.pages}"
    console.print(f"[bold]{escape(briefing.title)}[/]  {counts}  [dim]{escape(kinds)}[/]")
    if briefing.description:
        console.print(escape(briefing.description))
    for part in briefing.parts:
        console.print(f"  {escape(part.title)}  [dim]pages {part.start_page}-{part.end_page}[/]")
    for figure in briefing.figures:
        console.print(f"  [cyan]figure[/] {escape(figure.text)}  [dim]page {figure.page}[/]")
    for question in briefing.questions:
        console.print(
            f"  [green]ask[/] {escape(question.question)}  [dim]{escape(question.doc_name)}, page {question.page}[/]"
        )


def show_pages(read: Sequence[PageRead], images: Sequence[str]) -> None:
    for page in read:
        span = f" [dim]{escape(page.span)}[/]" if page.span else ""
        console.print(f"[bold]{escape(page.doc_name)}, page {page.page}[/]{label_suffix(page.label, page.page)}{span}")
        for section in page.sections:
            console.print(f"[dim]{escape(PATH.join(section.path))}[/]")
        if page.needs_ocr:
            console.print(
                "[yellow]this page has no readable text, perhaps because it is a scan; look at it with --image[/]"
            )
        if page.read_by and not page.text:
            console.print("[yellow]OCR found no text on this page; look at it with --image[/]")
        elif page.read_by:
            what = "letters" if page.read_by.startswith("OCR") else "words"
            console.print(f"[dim]read by {escape(page.read_by)}: {what} may be wrong; compare the page with --image[/]")
        if page.note:
            console.print(f"[yellow]note[/] {escape(page.note)}")
        if page.hidden_text:
            console.print("[yellow]hidden text on this page[/]: readers of the file do not see these lines")
            for line in page.hidden_text:
                console.print(f"[yellow]hidden[/] {escape(line)}")
        if page.summary:
            console.print(f"[italic]Summary: {escape(page.summary)}[/]")
        if page.described:
            for description in page.described.split("\n"):
                console.print(f"[italic]{escape(description)}[/]")
        text = "\n".join(escape(line) for line in page.text.split("\n"))
        console.print(f"\n{text}\n")
    for image in images:
        console.print(f"image written: {escape(image)}")


def show_quote_place(at: PlaceFound) -> None:
    moved = "these words have moved or changed since they were cited; " if at.moved else ""
    console.print(f"[dim]{moved}they are in line {at.line + 1} of this page[/]")


def show_documents(listed: Sequence[Document], *, filtered: bool) -> None:
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
    for document in listed:
        error = f"[red]{escape(document.error)}[/]" if document.error else ""
        table.add_row(
            document.doc_id, escape(document.name), escape(_title_column(document)), str(document.pages),
            str(document.sections), error or escape(_card_line(document)), document.indexed_at,
        )  # fmt: skip
    nothing = "No document meets these conditions." if filtered else "The library is empty."
    tables().print(table) if listed else console.print(nothing)
    gone = [document.name for document in listed if not is_there(document.path)]
    if gone:
        named = escape(", ".join(gone[:_MAX_FILES_NAMED])) + (
            f" and {len(gone) - _MAX_FILES_NAMED} more" if len(gone) > _MAX_FILES_NAMED else ""
        )
        files = counted(len(gone), "file is", "files are")
        console.print(
            f"[yellow]note[/] {files} missing ({named}); index the folder with --prune to remove the documents of "
            "missing files"
        )


def _card_line(document: Document) -> str:
    card = document.card
    when = str(card.years[0]) if card.years else ""
    parts = [
        card.organisation if card.organisation not in (Path(document.name).stem, document.title) else "",
        card.type,
        when + (f" Q{card.quarter}" if card.quarter else ""),
    ]
    return ", ".join(part for part in parts if part)


def _title_column(document: Document) -> str:
    """Return a document's title, shortened to the column's width; "" if it equals the file name."""
    title = document.title if document.title != Path(document.name).stem else ""
    return title if len(title) <= _TITLE_WIDTH else title[: _TITLE_WIDTH - 1] + "…"


def show_document(document: Document) -> None:
    for key, value in document_dict(document).items():
        if value in ("", [], {}, None):
            continue
        if isinstance(value, dict):
            filled = {k: v for k, v in value.items() if v not in ("", [], (), None)}
            value = "; ".join(f"{k}: {_steps_line(v) if k == 'steps' else _flat(v)}" for k, v in filled.items())
        elif isinstance(value, list):
            value = "; ".join(map(str, value))
        elif key == "mtime":
            value = datetime.fromtimestamp(value).astimezone().isoformat(sep=" ", timespec="seconds") if value else "-"
        console.print(f"[bold]{key:<12}[/] {escape(str(value))}")
    if not is_there(document.path):
        console.print(
            "[yellow]note[/] the file of this document is missing; index its folder with --prune to remove the document"
        )


def document_dict(document: Document) -> dict[str, Any]:
    """Return a document's metadata and status as JSON values."""
    status = "failed" if document.error else "indexed"
    return {"status": status} | asdict(document) | {"warnings": list(document.warnings)}


def _steps_line(steps: dict[str, dict[str, Any]]) -> str:
    """Return one line on what models did for a document: pages done and failed, and usage, per step."""
    parts = []
    for name, step in steps.items():
        usage = Usage(**{key: value for key, value in step.items() if key not in ("done", "failed")})
        parts.append(f"{name} {step['done']} done, {step['failed']} failed, {usage_line(usage)}")
    return " | ".join(parts)


def _flat(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def show_opened(name: str, page: int | None) -> None:
    console.print(f"opened {escape(name)}" + (f", page {page}" if page else ""))


def show_removed(names: Sequence[str], entry: str = "") -> None:
    """Print the names of removed documents, and the command that restores the bin entry ``entry``."""
    for name in names:
        console.print(f"removed {escape(name)}")
    if not names:
        console.print("nothing to remove")
    if entry:
        command = shlex.join(("hybrid-pageindex", "bin", "restore", entry))
        console.print(f"For 30 days '{escape(command)}' restores it; --for-good deletes at once.")
