"""Positions of blocks in the files of an EPUB book: nearest id, offset, and CFI.

A CFI is an EPUB position as specified in https://w3c.github.io/epub-specs. Blocks are located in the file's XML by
their words, in order.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lxml import etree

from hybrid_core.errors import DocumentError
from hybrid_core.types.locators import book_place, cfi_assertion
from indexers.formats.flow.blocks import Block, Picture, Table
from indexers.formats.flow.safety import read_xml

_ENTITY = re.compile(rb"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z][A-Za-z0-9]{1,31});")
_DROPPED = frozenset(("script", "style"))
_QUOTE = 40  # letters by which a block is searched
_WINDOW = 4_000  # letters of the file between two blocks that belong to no block
_LEAST = 8  # minimum letters of a block that is searched for further on in the file


def placed(blocks: Sequence[Block], data: bytes, name: str, spine: str) -> list[Block]:
    """Return the blocks of a file in an EPUB book with their positions. If the file is not XML, they are unchanged.

    ``spine`` is the beginning of their CFIs (EPUB positions), which leads to the file.
    """
    try:
        root, _ = read_xml(_ENTITY.sub(_character, data), name)
    except DocumentError:
        return list(blocks)
    text = _Text(root)
    at = 0
    placed_blocks: list[Block] = []
    for block in blocks:
        words = _keep_letters(_block_text(block))
        start = text.find(words, at)
        is_found = start is not None
        at = at if start is None else start
        id, offset, path = text.where(at, is_found)
        placed_blocks.append(
            replace(block, place=book_place(name, id, offset, text.length, f"epubcfi({spine}!{path})"))
        )
        if is_found:
            at += len(words) if text.letters.startswith(words, at) else len(words[:_QUOTE])
    return placed_blocks


@dataclass(frozen=True, slots=True)
class _Node:
    """A text node of a file, with the number of letters and characters before it, and its CFI (EPUB position)."""

    letter: int
    character: int
    text: str
    path: str


class _Text:
    """The text of a file's body, searchable by its letters and digits."""

    def __init__(self, root: etree._Element) -> None:
        self._nodes: list[_Node] = []
        self._ids: list[str] = []
        self._id_letters: list[int] = []
        self.length = self._count = 0
        self._said: list[str] = []
        self._read(root)
        self.letters = "".join(self._said)
        self._starts = [node.letter for node in self._nodes]
        self._passed = (0, 0, 0)  # last position returned: node, and the characters and letters in the node before it

    def _read(self, root: etree._Element) -> None:
        """Read the tree. In a CFI, elements have even numbers and the texts between them odd ones."""
        body = next(root.iter("{*}body"), root)
        paths, counts, inside = [""], [0], False
        for event, element in etree.iterwalk(root, events=("start", "end")):
            dropped = etree.QName(element).localname in _DROPPED
            if event == "start":
                id = element.get("id", "")
                if element is not root:
                    counts[-1] += 1
                    paths.append(f"{paths[-1]}/{2 * counts[-1]}{cfi_assertion(id)}")
                    counts.append(0)
                inside = inside or element is body
                if inside and cfi_assertion(id):
                    self._ids.append(id)
                    self._id_letters.append(self._count)
                if inside and not dropped:
                    self._add(element.text, f"{paths[-1]}/1")
            else:
                inside = inside and element is not body
                if element is not root:
                    paths.pop()
                    counts.pop()
                    if inside:
                        self._add(element.tail, f"{paths[-1]}/{2 * counts[-1] + 1}")

    def _add(self, text: str | None, path: str) -> None:
        if text:
            self._nodes.append(_Node(self._count, self.length, text, path))
            self._said.append(_keep_letters(text))
            self._count += len(self._said[-1])
            self.length += len(text)

    def find(self, words: str, at: int) -> int | None:
        """Return the next position of these words at or soon after ``at``, in letters; None if they are not there."""
        if not words:
            return None
        if self.letters.startswith(words[:_QUOTE], at):
            return at
        index = self.letters.find(words[:_QUOTE], at, at + _WINDOW) if len(words) >= _LEAST else -1
        return index if index >= 0 else None

    def where(self, letter: int, is_found: bool) -> tuple[str, int, str]:
        """Return (nearest id before, characters before, EPUB position) of the letter with this index.

        If ``is_found`` is False, the position (a CFI) is that of the end of the letter before it. Each call must have
        the same or a larger index than the previous one.
        """
        position = letter if is_found else max(0, letter - 1)
        number = max(0, bisect_right(self._starts, position) - 1)
        last = bisect_right(self._id_letters, letter) - 1
        id = self._ids[last] if last >= 0 else ""
        if not self._nodes:
            return id, 0, ""
        node = self._nodes[number]
        before, at, passed = self._passed
        if before != number or node.letter + passed > position:
            at = passed = 0
        while at < len(node.text) and (passed < position - node.letter or not _keep_letters(node.text[at])):
            passed += len(_keep_letters(node.text[at]))
            at += 1
        self._passed = number, at, passed
        at += not is_found and letter > 0
        return id, node.character + at, f"{node.path}:{at}"


def _block_text(block: Block) -> str:
    if isinstance(block, Table):
        return "".join(cell for row in block.rows for cell in row)
    return "" if isinstance(block, Picture) else block.text


def _keep_letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))


def _character(named: re.Match[bytes]) -> bytes:
    """Return a matched HTML entity as XML character references; unknown entities stay as they are."""
    text = html.unescape(named[0].decode())
    return "".join(f"&#{ord(character)};" for character in text).encode() if not text.startswith("&") else named[0]
