"""The models that improve documents, their options, and the choice of pages for a vision model.

The options decide whether an improved version is still valid. Pages are chosen by their pictures and shapes. A model
may then remove some of them after seeing contact sheets.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ValidationError

from hybrid_core.errors import ChatError, DocumentError
from hybrid_core.llm.client.chat_model import ChatModel, Session
from hybrid_core.llm.client.scope import CallScope
from hybrid_core.llm.prompts import prompt
from hybrid_core.types.documents import Page
from hybrid_core.types.files import Kind
from hybrid_core.types.notes import Note
from hybrid_core.types.usage import Usage
from indexers.assembly.chunks import ChunkSize
from indexers.enrich.pages import PAGE_PROMPT
from indexers.formats.format import Drawing, PageLook
from indexers.formats.pdf.hidden import Box

Vision = Literal["auto", "always", "never"]
_CELLS = 40  # rows and columns of the grid by which areas are measured
_PICTURE = 0.12  # minimum share of the page that its pictures cover if they count as a figure
_WHOLE = 0.85  # minimum share of a picture that is the page itself: a scan, or a photograph
_LITTLE = 400  # with fewer characters, such a page shows more than its text says
# minimum number of curves, slanting lines and bars of a chart, and the share of the page that they cover
_SHAPES, _DRAWN = 8, 0.05
_FURNITURE = 0.25  # share of the pages (at least 3) from which a repeated picture or shape belongs to the layout


def choose(pages: Sequence[Page], looks: Iterable[PageLook], vision: Vision) -> list[int]:
    """Return the numbers of the pages that a vision model should see, in order.

    ``auto`` chooses pages without readable text, pages that are one picture with little text, and pages with large
    pictures or drawings. Elements that recur on many pages (a logo, a background) do not count.
    """
    if vision == "never":
        return []
    if vision == "always":
        return [page.number for page in pages]
    by_number = {look.number: look for look in looks}
    furniture = _furniture(by_number.values(), len(pages))
    return [
        page.number
        for page in pages
        if page.needs_ocr or (page.number in by_number and _shows(page, by_number[page.number], furniture))
    ]


def scans(pages: Sequence[Page], looks: Iterable[PageLook]) -> frozenset[int]:
    """Return the pages whose text comes from their images, by OCR or from the text layer of a scan."""
    whole = {
        look.number for look in looks if covered([box for _, box in look.pictures], look.width, look.height) >= _WHOLE
    }
    return frozenset(page.number for page in pages if page.text.strip() and (page.number in whole or page.ocr))


def _shows(page: Page, seen: PageLook, furniture: frozenset[object]) -> bool:
    pictures = [box for what, box in seen.pictures if what not in furniture]
    pictured = covered(pictures, seen.width, seen.height)
    if pictured >= _WHOLE:  # if there is much text, it is from OCR or from the text layer of a scan
        return len(page.text.strip()) < _LITTLE
    shapes = [box for box in seen.shapes if box not in furniture]
    drawn = covered(shapes, seen.width, seen.height) if len(shapes) >= _SHAPES else 0.0
    return pictured >= _PICTURE or drawn >= _DRAWN


def _furniture(looks: Iterable[PageLook], pages: int) -> frozenset[object]:
    """Return the pictures and shapes that occur on many pages, such as a logo or a background."""
    on: Counter[object] = Counter()
    for look in looks:
        on.update({what for what, _ in look.pictures} | set(look.shapes))
    return frozenset(what for what, count in on.items() if count >= max(3, _FURNITURE * pages))


def covered(boxes: Sequence[Box], width: float, height: float) -> float:
    """Return the share of a page's area that boxes cover together, 0 to 1.

    It is measured on a grid; a cell counts if its centre is in a box. A box smaller than a cell covers the cell that
    contains it.
    """
    seen: set[tuple[int, int]] = set()
    for x0, y0, x1, y1 in boxes:
        columns = _middles(x0, x1, width)
        seen.update((column, row) for row in _middles(y0, y1, height) for column in columns)
    return len(seen) / _CELLS**2


def _middles(start: float, end: float, side: float) -> list[int]:
    cell = max(side, 1.0) / _CELLS
    inside = [i for i in range(_CELLS) if start <= (i + 0.5) * cell <= end]
    return inside or [min(_CELLS - 1, max(0, int((start + end) / 2 / cell)))]


GLANCE_PROMPT = "pages-glance"
_FEWEST = 3  # minimum pages of a contact sheet: showing fewer one by one costs little more
_REPLY = 300  # tokens

Sheet = Callable[[Sequence[int]], "Future[object]"]


class Glance(BaseModel):
    """The model's reply to the prompt ``pages-glance``. ``skip`` are the pages of a contact sheet to leave out."""

    skip: list[int] = []


def passed_over(
    model: ChatModel, scope: CallScope, title: str, numbers: Sequence[int], each: int, drawn: Sheet
) -> frozenset[int]:
    """Return the pages that a model would skip, after it has seen contact sheets of small page images.

    Each sheet shows ``each`` pages. If a sheet cannot be drawn or the reply is unusable, none of its pages is skipped.
    Replies are cached.
    """
    session, skipped = Session(model, scope), set[int]()
    for sheet in _sheets(numbers, each):
        try:
            image = drawn(sheet).result()
            if not isinstance(image, bytes):
                raise TypeError(f"drawing a contact sheet returned {type(image).__name__} instead of an image")
            skipped |= set(_look_at_sheet(session, title, sheet, image).skip).intersection(sheet)
        except (ChatError, DocumentError):
            continue  # its pages are then described one by one, which reports any error
    return frozenset(skipped)


def _look_at_sheet(session: Session, title: str, sheet: Sequence[int], image: bytes) -> Glance:
    key = session.key(GLANCE_PROMPT, title, image)
    if (cached := session.peek(key)) is not None:
        try:
            reply = Glance.model_validate_json(cached)
        except ValidationError:  # cached with an older schema
            pass
        else:
            session.scope.add(Usage(cached=1))
            return reply
    values = {"document": title, "pages": ", ".join(map(str, sheet))}
    reply = session.ask(GLANCE_PROMPT, Glance, values, tokens=_REPLY, images=(image,))
    session.put(key, reply.model_dump_json())
    return reply


def _sheets(numbers: Sequence[int], each: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(numbers), each):
        if len(sheet := numbers[start : start + each]) >= _FEWEST:
            yield sheet


_SEEING = (PAGE_PROMPT,)
_READING = (
    "headings-check", "headings-contents", "headings-place", "headings-read", "section-summaries",
    "document-description",
)  # fmt: skip
_VERSION = "1"  # version of the code that uses replies; with a new version all documents are improved again


@dataclass(frozen=True, slots=True)
class EnrichModels:
    """The models of a run. ``llm`` and ``vlm`` are None if they are not configured or do not work.

    ``names`` are the names of all configured models; ``notes`` report models that do not work.
    """

    llm: ChatModel | None = None
    vlm: ChatModel | None = None
    names: Mapping[Kind, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class EnrichOptions:
    """Options for improving documents with models.

    ``documents`` and ``pages`` are the numbers processed at the same time. ``sheet`` is the number of pages on a
    contact sheet, 0 to use none.
    """

    vision: Vision = "auto"
    drawing: Drawing = field(default_factory=Drawing)
    documents: int = 8
    pages: int = 5
    sheet: int = 0
    chunks: ChunkSize = field(default_factory=ChunkSize)

    def tags(self, names: Mapping[Kind, str]) -> dict[Kind, str]:
        """Return for each configured model a hash of its name, prompts and options that affect its results."""
        pictures: list[object] = [
            self.vision,
            self.drawing.dpi,
            self.drawing.format,
            self.drawing.side,
            self.drawing.tiles,
        ]
        decisive: dict[Kind, tuple[list[object], tuple[str, ...]]] = {"llm": ([], _READING), "vlm": (pictures, _SEEING)}
        if self.sheet:
            decisive["vlm"] = ([*pictures, self.sheet], (*_SEEING, GLANCE_PROMPT))
        return {
            kind: _hashed(
                [_VERSION, names[kind], *more, [[prompt(name).id, prompt(name, "zh").id] for name in prompts]]
            )
            for kind, (more, prompts) in decisive.items()
            if kind in names
        }


def _hashed(values: list[object]) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:8]
