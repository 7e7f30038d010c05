"""Print to the terminal: the console, tables, and text without markup or control characters."""

from __future__ import annotations

import argparse
import re

from rich.console import Console
from rich.markup import escape as escape_markup

from hybrid_core.text.prose import counted
from hybrid_core.types.documents import Section
from hybrid_core.types.locators import shown_place
from hybrid_core.types.results import SectionFound
from hybrid_core.types.usage import Usage
from hybrid_pageindex.cli.output import visible

PATH = " › "
_PLACE = re.compile(r".*[ !:]")  # "slide 3", "lines 1-40", "Sales!A1:H50"; labels printed on paper are "iv", "A-3"
_PIPED_WIDTH = 240  # width of a table that is not printed to a terminal, wide enough not to be cut


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Raise BrokenPipeError, which ``main`` handles, because Rich would end the process with exit code 1."""
        raise BrokenPipeError


console = _Console(highlight=False, soft_wrap=True)


def tables() -> Console:
    return _Console(highlight=False, width=None if console.is_terminal else _PIPED_WIDTH)


def escape(text: str) -> str:
    """Return text with markup and control characters escaped, so that it fits one line and cannot
    control the terminal.
    """
    return escape_markup(visible(text))


def usage_line(usage: Usage) -> str:
    """Return the calls, tokens and cost of models as one line."""
    cost = f", cost {usage.cost:.4f}" if usage.cost else ""
    cached = f" (and {usage.cached} from the cache)" if usage.cached else ""
    return f"{counted(usage.calls, 'model call')}{cached}, {usage.input_tokens} + {usage.output_tokens} tokens{cost}"


def page_span(section: Section | SectionFound) -> str:
    first, last = section.start_page, section.end_page
    return f"page {first}" if first == last else f"pages {first}-{last}"


def label_suffix(label: str, page: int) -> str:
    """Return a page's label in brackets, "" if it only repeats the page number.

    The label is a printed page number such as "iv", or a position in a file without pages.
    """
    if not label or label == str(page):
        return ""
    return f" ({escape(label)})" if _PLACE.match(label) else f" (printed {escape(label)})"


def place_suffix(place: str, label: str) -> str:
    """Return the position of a match in its file, after a comma; "" if the page label contains it."""
    if not place or place == label:
        return ""
    return f", {escape(shown_place(place))}"


def wants_json_output(options: argparse.Namespace) -> bool:
    return getattr(options, "json", False)


def library_option(options: argparse.Namespace) -> str | None:
    return getattr(options, "library", None)
