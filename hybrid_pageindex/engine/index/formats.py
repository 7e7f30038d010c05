"""File formats and the model that finds headings, for use by the evaluation package."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from hybrid_core.errors import DocumentError
from hybrid_core.types.documents import ParsedDocument, Section
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import format_of, formats, open_file
from indexers.outline.heading_model import FEATURES, PRIOR, BoostedTrees, Possible, read_trees
from indexers.outline.merge import Possibilities, possible_headings
from indexers.outline.numbering import bare, compact
from indexers.outline.quality import SIGNS
from indexers.outline.tree import TreeLimits, estimated_tree
from indexers.outline.view import view


def suffixes_read() -> frozenset[str]:
    """Return the file suffixes of all supported formats, in lower case with the dot."""
    return frozenset(suffix for format in formats() for suffix in format.suffixes)


__all__ = [
    "FEATURES", "PRIOR", "SIGNS", "BoostedTrees", "Possibilities", "Possible", "bare", "compact", "make_tree",
    "parse_document", "possibilities", "read_trees",
]  # fmt: skip


def parse_document(path: Path) -> ParsedDocument:
    """Parse a document without its bookmarks and without OCR. Raise DocumentError if it cannot be read."""
    with closing(open_file(path, None, ParseLimits())) as file:
        pages = []
        for page in file.read(range(1, file.pages + 1), lambda _: None):
            if isinstance(page, DocumentError):
                raise page
            pages.append(page)
    return ParsedDocument(format_of(path).name, tuple(pages), (), {})


def possibilities(parsed: ParsedDocument) -> Possibilities:
    """Return the lines and printed table-of-contents entries of a document that may be headings."""
    return possible_headings([], view(parsed.pages), TreeLimits().toc_pages)


def make_tree(
    parsed: ParsedDocument, trees: BoostedTrees | None = None
) -> tuple[tuple[Section, ...], tuple[float, ...]]:
    """Return the section tree that the heading model makes of a document, and numeric signs of the tree's quality.

    ``trees`` replaces the shipped model.
    """
    return estimated_tree(parsed, trees=trees)
