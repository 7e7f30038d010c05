"""PPTX -> a part for each slide: title, shapes from top to bottom, tables, charts, the speaker's notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hybrid_core.errors import BrokenFileError
from indexers.formats.flow.blocks import Block, Flow, Heading, Item, Note, Paragraph, Part, Picture, Table
from indexers.formats.flow.safety import Package, read_xml
from indexers.formats.limits import ParseLimits, plain_reason
from indexers.formats.office.ooxml import CHART, DRAWN, choose_alternatives, diagram_lines, paragraph_text, properties
from indexers.formats.office.word_numbers import written
from indexers.formats.pictures import may_show_words, packed_pictures

_GROUP = 6  # MSO_SHAPE_TYPE.GROUP
_LISTS = frozenset((2, 7, 19))  # PP_PLACEHOLDER: body, object, vertical object
_BODY, _SLIDE_NUMBER = 2, 13  # PP_PLACEHOLDER, as these:
_RUNNING = frozenset((14, 15, 16))  # header, footer, date
_DEEPEST = 20
_SAME_HEIGHT = 100_000  # a ninth of an inch
_NUMBERED = re.compile(r"(arabic|alphaLc|alphaUc|romanLc|romanUc)(ParenBoth|ParenR|Period|Plain)")
_NUMBER_KINDS = {"arabic": "decimal", "alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman",
                 "romanUc": "upperRoman"}  # fmt: skip
_RELATIONS = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_EMBEDDED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}embed"
_DATA = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"


def read_pptx(path: Path, limits: ParseLimits) -> Flow:
    """Read a PowerPoint file (PPTX, PPTM, PPSX, POTX). Raise DocumentError if it is damaged beyond reading."""
    package = Package(path, limits)
    metadata = properties(package)
    package.close()
    from pptx.package import Package as Presentation

    warnings: list[str] = []
    try:
        document: Any = Presentation.open(str(path)).main_document_part
        slides = document.presentation.slides
        size = (document.presentation.slide_width or 1, document.presentation.slide_height or 1)
        count = len(slides)
    except Exception as error:
        raise BrokenFileError(
            f"{path}: damaged, its slides cannot be listed ({plain_reason(error, str(path))})."
        ) from error
    images = packed_pictures(path, limits)
    return Flow(_slide_parts(slides, count, size, warnings), metadata, warnings, images=images)


def _slide_parts(slides: Any, count: int, size: tuple[int, int], warnings: list[str]) -> Iterator[Part]:
    heads: set[str] = set()  # of pages of notes
    for number in range(1, count + 1):
        blocks: list[Block] = []
        try:
            blocks += _slide(slides[number - 1], number, size, warnings, heads)
        except Exception as error:  # noqa: BLE001 - a damaged slide must not cost the others
            warnings.append(f"slide {number} could not be read ({plain_reason(error)})")
        yield Part(blocks, f"slide {number}", whole=True)


def _slide(slide: Any, number: int, size: tuple[int, int], warnings: list[str], heads: set[str]) -> Iterator[Block]:
    choose_alternatives(slide.shapes._spTree)
    try:
        title = slide.shapes.title
    except (AttributeError, KeyError, ValueError):
        title = None
    titled = title.shape_id if title is not None else None
    if title is not None and title.has_text_frame and (words := _frame(title.text_frame)).strip():
        yield Heading(1, words, place=_shape_place(title, number, size))
    for shape in _sort_shapes(_shapes(slide.shapes, 0)):
        if shape.shape_id != titled:
            try:
                yield from _shape(shape, _shape_place(shape, number, size))
            except Exception as error:  # noqa: BLE001 - nor a damaged shape the slide
                warnings.append(f"a shape of slide {number} could not be read ({plain_reason(error)})")
    if slide.has_notes_slide:
        yield from _note_blocks(slide.notes_slide, number, heads)
    for relation in slide.part.rels.values():
        if relation.reltype.rpartition("/")[2] in ("comments", "comment") and not relation.is_external:
            root, _ = read_xml(relation.target_part.blob, f"the comments of slide {number}")
            for comment in root.iter("{*}cm", "{*}reply"):
                words = " ".join(
                    "".join(map(str, element.itertext()))
                    for element in comment
                    if element.tag.endswith(("}text", "}txBody"))
                )
                yield Note(" ".join(words.split()), "comment", f"slide {number} comments")


def _note_blocks(notes: Any, number: int, heads: set[str]) -> Iterator[Block]:
    """Return the speaker's notes of a slide and other text on the notes page; running heads only once."""
    choose_alternatives(notes.shapes._spTree)
    body = notes.notes_text_frame
    place = f"slide {number} notes"
    if body is not None:
        yield Note(_frame(body), "notes", place)
    for shape in _sort_shapes(_shapes(notes.shapes, 0)):
        kind = shape.placeholder_format.type if shape.is_placeholder else None
        if getattr(shape, "has_table", False) and shape.has_table:
            yield from _shape(shape, place)
        elif shape.has_text_frame and kind not in (_BODY, _SLIDE_NUMBER):
            words = " ".join(_frame(shape.text_frame).split())
            if words and (kind not in _RUNNING or words not in heads):
                yield Note(words, "notes", place)
            heads.add(words)


def _shapes(shapes: Any, deep: int) -> Iterator[Any]:
    for shape in shapes:
        try:
            group = shape.shape_type == _GROUP
        except NotImplementedError:
            group = False
        if group and deep < _DEEPEST:
            yield from _shapes(shape.shapes, deep + 1)
        else:
            yield shape


def _sort_shapes(shapes: Iterable[Any]) -> Iterator[Any]:
    """Sort shapes from top to bottom, then left to right; those with an inherited place come first."""
    line: list[Any] = []
    for shape in sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0)):
        if line and (shape.top or 0) - (line[0].top or 0) > _SAME_HEIGHT:
            yield from sorted(line, key=lambda shape: shape.left or 0)
            line = []
        line.append(shape)
    yield from sorted(line, key=lambda shape: shape.left or 0)


def _shape_place(shape: Any, number: int, size: tuple[int, int]) -> str:
    """Return the slide, the shape's id and its box in percent of the slide."""
    try:
        left, top, width, height = shape.left, shape.top, shape.width, shape.height
    except Exception:  # noqa: BLE001 - python-pptx raises many types for damaged values
        left = None
    if left is None or top is None or width is None or height is None:
        return f"slide {number} shape {shape.shape_id}"
    box = (left / size[0], top / size[1], (left + width) / size[0], (top + height) / size[1])
    return f"slide {number} shape {shape.shape_id} box {','.join(str(round(100 * side)) for side in box)}"


def _shape(shape: Any, place: str) -> Iterator[Block]:
    if getattr(shape, "has_table", False) and shape.has_table:
        yield Table(_table_rows(shape.table), place=place)
    elif getattr(shape, "has_chart", False) and shape.has_chart:
        yield from _chart(shape.chart, place)
    elif shape.has_text_frame:
        listed = shape.is_placeholder and shape.placeholder_format.type in _LISTS
        counts: dict[int, int] = {}  # numbers of the lists that are open, by their level
        for paragraph in shape.text_frame.paragraphs:
            if text := _break_lines(paragraph_text(paragraph._p)).strip():
                mark = _number(paragraph._p, paragraph.level, counts)
                if mark or listed or paragraph.level:
                    yield Item(text, mark or "-", paragraph.level, place)
                else:
                    yield Paragraph(text, place)
    else:
        for diagram in shape._element.iter(_RELATIONS):
            part = shape.part.related_part(diagram.get(_DATA))
            for depth, line in diagram_lines(read_xml(part.blob, "a diagram")[0]):
                yield Item(line, depth=depth, place=place)
        for drawn in shape._element.iter():
            if isinstance(drawn.tag, str) and drawn.tag.endswith("}cNvPr") and drawn.get("descr"):
                yield Picture(drawn.get("descr"), place)
            elif drawn.tag == f"{DRAWN}blip" and (image := _image(shape.part, drawn.get(_EMBEDDED))):
                yield Picture("", place, image)


def _table_rows(table: Any) -> tuple[tuple[str, ...], ...]:
    """Return a table's rows; a merged cell's words stand on each of its rows, in its first column."""
    rows: list[tuple[str, ...]] = []
    below: dict[int, tuple[int, str]] = {}  # column: rows that a cell above reaches down to, and its words
    for row in table.rows:
        cells: list[str] = []
        for at, cell in enumerate(row.cells):
            text, (rest, words) = _frame(cell.text_frame), below.get(at, (0, ""))
            if cell.is_merge_origin:
                below[at] = (cell.span_height - 1, text)
            elif cell.is_spanned and rest > 0:
                below[at] = (rest - 1, words)
                text = text or words
            cells.append(text)
        rows.append(tuple(cells))
    return tuple(rows)


def _number(paragraph: Any, level: int, counts: dict[int, int]) -> str:
    """Count a paragraph of a numbered list and return its number as it shows; "" where it has none."""
    for deeper in [at for at in counts if at > level]:
        del counts[deeper]
    how = paragraph.find(f"{DRAWN}pPr/{DRAWN}buAutoNum")
    if how is None or (named := _NUMBERED.match(how.get("type") or "")) is None:
        counts.pop(level, None)
        return ""
    start = how.get("startAt") or "1"
    counts[level] = counts[level] + 1 if level in counts else int(start) if start.isdigit() and len(start) < 6 else 1
    number = written(counts[level], _NUMBER_KINDS[named[1]])
    return {"ParenBoth": f"({number})", "ParenR": f"{number})", "Plain": number}.get(named[2], f"{number}.")


def _image(part: Any, id: str | None) -> str:
    """Return the package's name of a picture that a part shows, "" where it is none that may show words."""
    if id is None or id not in part.rels or part.rels[id].is_external:
        return ""
    image = part.rels[id].target_part
    name = str(image.partname).lstrip("/")
    return name if may_show_words(name, len(image.blob)) else ""


def _chart(chart: Any, place: str) -> Iterator[Block]:
    """Yield a chart as the table that it draws."""
    title = chart.chart_title.text_frame.text if chart.has_title and chart.chart_title.has_text_frame else ""
    if title:
        yield Paragraph(_break_lines(title), place)
    series = list(chart._chartSpace.iter(f"{CHART}ser"))  # python-pptx knows some kinds of charts only
    names = {at: name for row in series for tag in ("cat", "xVal") for at, name in _points(row, tag).items()}
    columns = [{**_points(row, "val"), **_points(row, "yVal")} for row in series]
    rows = [("", *(" ".join(_points(row, "tx").values()) for row in series))]
    numbers = sorted({at for column in (names, *columns) for at in column})
    rows += [(names.get(at, ""), *(column.get(at, "") for column in columns)) for at in numbers]
    yield Table(tuple(rows), place=place)


def _points(series: Any, tag: str) -> dict[int, str]:
    """Return the stored values of a part of a chart's series, by their number."""
    data = series.find(f"{CHART}{tag}")
    points = data.iter(f"{CHART}pt") if data is not None else ()
    return {int(point.get("idx", 0)): point.findtext(f"{CHART}v") or "" for point in points}


def _frame(frame: Any) -> str:
    """Return the paragraphs of a text frame, a line each."""
    return _break_lines("\n".join(paragraph_text(paragraph._p) for paragraph in frame.paragraphs))


def _break_lines(text: str) -> str:
    return text.replace("\v", "\n")
