"""Tables that are printed on the terminal, written as Markdown and shown on the HTML page."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from hybrid_core.errors import StoreError
from hybrid_pageindex.cli.output import dump, visible

_PIPED_WIDTH = 200  # used if no terminal limits the width, so that the table is not truncated


@dataclass(frozen=True, slots=True)
class Cell:
    """A table cell. Rows are sorted by the ``value`` of a cell, or by its text if the value is None."""

    text: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a ``note`` that explains it.

    Every row has one cell for each column. A table without rows and note is not shown.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    @property
    def shown(self) -> bool:
        return bool(self.rows or self.note)

    def numeric(self, column: int) -> bool:
        """Return whether the column contains only numbers, which are aligned right."""
        cells = [row[column] for row in self.rows if row[column] != NONE]
        return bool(cells) and all(cell.value is not None for cell in cells)


NONE = Cell("–")


def text(value: object) -> Cell:
    return Cell(str(value))


def share(value: float | None) -> Cell:
    """Return a cell for a number between 0 and 1, with three digits."""
    return NONE if value is None else Cell(f"{value:.3f}", value)


def number(value: float | None, digits: int = 0, unit: str = "") -> Cell:
    return NONE if value is None else Cell(f"{value:,.{digits}f}{unit}", value)


def to_markdown(table: Table) -> str:
    """Return the table in GitHub's Markdown, with escaped cells."""
    lines = [f"## {_escape_markdown(table.title)}", ""]
    if table.note:
        lines += [_escape_markdown(table.note), ""]
    if table.rows:
        lines.append(_markdown_row([_escape_markdown(name) for name in table.columns]))
        lines.append(_markdown_row(["--:" if table.numeric(column) else "---" for column in range(len(table.columns))]))
    lines += [_markdown_row([_escape_markdown(cell.text) for cell in row]) for row in table.rows]
    return "\n".join(lines) + "\n"


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escape_markdown(text: str) -> str:
    for sign, entity in (
        ("&", "&amp;"),
        ("<", "&lt;"),
        (">", "&gt;"),
        ("\\", "&#92;"),
        ("|", "&#124;"),
        ("`", "&#96;"),
    ):
        text = text.replace(sign, entity)
    return " ".join(text.split())


def show(tables: Iterable[Table], notes: Iterable[str] = ()) -> None:
    """Print the notes and the tables on stdout."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = _PIPED_WIDTH
    for note in notes:
        console.print(f"[yellow]note[/] {_typed(note)}")
    for table in tables:
        console.print(f"\n[bold]{_typed(table.title)}[/]")
        shown = RichTable(box=box.SIMPLE_HEAD)
        for column, name in enumerate(table.columns):
            shown.add_column(_typed(name), justify="right" if table.numeric(column) else "left")
        for row in table.rows:
            shown.add_row(*(_typed(cell.text) for cell in row))
        if table.rows:
            console.print(shown)
        if table.note:
            console.print(f"[dim]{_typed(table.note)}[/]")


def _typed(text: str) -> str:
    """Escape rich's markup and terminal control characters."""
    return escape(visible(text))


def print_report(
    options: argparse.Namespace, tables: Sequence[Table], data: dict[str, Any], notes: Sequence[str]
) -> None:
    """Print the tables and notes, or only ``data`` as JSON with --json.

    With --markdown, also write the tables to a file.
    """

    tables = [table for table in tables if table.shown]
    if getattr(options, "markdown", None):
        write_text(options.markdown, "\n".join([*(f"{note}\n" for note in notes), *map(to_markdown, tables)]))
    if options.json:
        dump(data)
    else:
        show(tables, notes)


def write_text(path: str, text: str) -> None:
    """Write a text file and create its folder. Raise StoreError if that fails."""
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(
            f"{path}: the table cannot be written ({error.strerror}).", "Choose another path for the table."
        ) from error
