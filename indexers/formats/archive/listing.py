"""What an archive holds, as a page to read: the members themselves are documents of their own."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from indexers.formats.flow.blocks import Block, Flow, Heading, Item, Paragraph, Part
from indexers.formats.members import clean_name


def listing(path: Path, entries: Iterable[tuple[str, int | None]]) -> Flow:
    """``entries`` are names and sizes in bytes, None where it is not said."""
    blocks: list[Block] = [Heading(1, path.name, place="entry 0")]
    blocks += [
        Item(clean_name(name) + ("" if size is None else f" ({size:,} bytes)"), place=f"entry {at}")
        for at, (name, size) in enumerate(entries, 1)
    ]
    if len(blocks) == 1:
        blocks.append(Paragraph("An empty archive.", "entry 0"))
    return Flow(iter([Part(blocks)]))
