"""Print to the terminal: the console, tables, and escaped text."""

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
_PIPED_WIDTH = 240  # where nobody's window limits it, a table is not cut


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Leave a reader that went away to ``main``; Rich would end the process with 1."""
        raise BrokenPipeError


console = _Console(highlight=False, soft_wrap=True)


def tables() -> Console:
    return _Console(highlight=False, width=None if console.is_terminal else _PIPED_WIDTH)


def escape(text: str) -> str:
    """Escape markup and control characters, so that the text is shown on one line and cannot control the terminal."""
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
    """Return a page's label in brackets if it says more than the number: a printed label, or a position in the file."""
    if not label or label == str(page):
        return ""
    return f" ({escape(label)})" if _PLACE.match(label) else f" (printed {escape(label)})"


def place_suffix(place: str, label: str) -> str:
    """Return the position of a match in its file, unless the page label already contains it."""
    if not place or place == label:
        return ""
    return f", {escape(shown_place(place))}"


def wants_json_output(options: argparse.Namespace) -> bool:
    return getattr(options, "json", False)


def library_option(options: argparse.Namespace) -> str | None:
    return getattr(options, "library", None)
