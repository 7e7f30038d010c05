"""Reading of PPTX with a part for each slide: title, shapes from top to bottom, tables, charts, notes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hybrid_core.errors import BrokenFileError, DocumentError
from hybrid_core.types.notes import Note
from indexers.formats.flow.blocks import (
    Block,
    Flow,
    Heading,
    Item,
    Paragraph,
    Part,
    Picture,
    Remark,
    Table,
    comment,
)
from indexers.formats.flow.safety import Package, read_xml
from indexers.formats.limits import ParseLimits, plain_reason
from indexers.formats.office.charts import chart_blocks, is_chart
from indexers.formats.office.ooxml import (
    DRAWN,
    R,
    alternative_text,
    choose_alternatives,
    diagram_words,
    drawn_lines,
    paragraph_text,
    properties,
)
from indexers.formats.office.repack import repack
from indexers.formats.office.word_numbers import written
from indexers.formats.pictures import may_show_words, packed_pictures

_GROUP = 6  # MSO_SHAPE_TYPE.GROUP
_LISTS = frozenset((2, 7, 19))  # PP_PLACEHOLDER: body, object, vertical object
_BODY, _SLIDE_NUMBER = 2, 13  # PP_PLACEHOLDER, like the following
_RUNNING = frozenset((14, 15, 16))  # header, footer, date
_DEEPEST = 20
_SAME_HEIGHT = 100_000  # a ninth of an inch
_NUMBERED = re.compile(r"(\w+?)(ParenBoth|ParenR|Period|Plain|Minus)")
_NUMBER_KINDS = {"alphaLc": "lowerLetter", "alphaUc": "upperLetter", "romanLc": "lowerRoman", "romanUc": "upperRoman",
                 "circleNumDb": "decimalEnclosedCircle", "circleNumWdBlack": "decimalEnclosedCircle",
                 "circleNumWdWhite": "decimalEnclosedCircle", "arabicDb": "decimalFullWidth", "arabic1": "arabicAlpha",
                 "arabic2": "arabicAbjad", "hebrew2": "hebrew2", "thaiAlpha": "thaiLetters", "thaiNum": "thaiNumbers",
                 "hindiNum": "hindiNumbers", "ea1Chs": "chineseCounting", "ea1Cht": "chineseCounting",
                 "ea1JpnKor": "chineseCounting", "ea1JpnChsDb": "chineseCounting"}  # fmt: skip
_BULLETS = [f"{DRAWN}{name}" for name in ("buNone", "buAutoNum", "buChar", "buBlip")]
_MOST_LAYERS = 4  # a shape, and those of the layout, the master and the notes master whose lists it inherits
_RELATIONS = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_EMBEDDED = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}embed"
_DATA = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}dm"


def read_pptx(path: Path, limits: ParseLimits) -> Flow:
    """Read a PowerPoint file (PPTX, PPTM, PPSX, POTX). Raise DocumentError if it is damaged beyond reading."""
    package = Package(path, limits)
    metadata = properties(package)
    warnings: list[str] = []
    try:
        presentation = open_presentation(package, path, warnings)
        slides = presentation.slides
        size = (presentation.slide_width or 1, presentation.slide_height or 1)
        count = len(slides)
    except Exception as error:
        raise BrokenFileError(
            f"the file is damaged: its slides cannot be listed ({plain_reason(error, str(path))}).", file=path
        ) from error
    finally:
        package.close()
    images = packed_pictures(path, limits)
    authors = _comment_authors(presentation.part, warnings)
    return Flow(_slide_parts(slides, count, size, warnings, authors), metadata, warnings, images=images)


def open_presentation(package: Package, path: Path, warnings: list[str]) -> Any:
    """Open a presentation. If the library refuses it, repackage it and try again."""
    from pptx.package import Package as Presentation

    try:
        presentation = Presentation.open(str(path)).main_document_part.presentation
        if len(presentation.slides):
            return presentation
    except Exception as error:  # noqa: BLE001 - python-pptx raises many types
        plain_reason(error, str(path))  # logs the error
    data, missing = repack(package, path)
    if missing:
        warnings.append(Note("read.slides-missing", slides=missing))
    return Presentation.open(io.BytesIO(data)).main_document_part.presentation


def _comment_authors(main: Any, warnings: list[str]) -> dict[str, str]:
    """Return the names of the authors of comments by id, for both forms of comments."""
    names: dict[str, str] = {}
    for relation in main.rels.values():
        if relation.reltype.rpartition("/")[2] in ("commentAuthors", "authors") and not relation.is_external:
            try:
                root, _ = read_xml(relation.target_part.blob, "the authors of comments")
            except DocumentError:
                warnings.append(Note("read.part-unread", name=str(relation.target_part.partname).lstrip("/")))
                continue
            names |= {author.get("id", ""): author.get("name", "") for author in root.iter("{*}cmAuthor", "{*}author")}
    return names


def _slide_parts(
    slides: Any, count: int, size: tuple[int, int], warnings: list[str], authors: Mapping[str, str]
) -> Iterator[Part]:
    heads: set[str] = set()  # running heads of notes pages, and texts of layouts
    hidden = 0
    for number in range(1, count + 1):
        blocks: list[Block] = []
        try:
            slide = slides[number - 1]
            hidden += slide._element.get("show") in ("0", "false")
            blocks += _slide(slide, number, size, warnings, heads)
            blocks += _comments(slide, number, authors)
        except Exception as error:  # noqa: BLE001 - a damaged slide must not cost the others
            warnings.append(Note("read.slide-unread", slide=number, reason=plain_reason(error)))
            blocks += _plain_blocks(slides, number, blocks)
        yield Part(blocks, f"slide {number}", whole=True)
    if hidden:
        warnings.append(Note("read.hidden-slides", hidden=hidden, slides=count))


def _plain_blocks(slides: Any, number: int, blocks: Sequence[Block]) -> list[Block]:
    """Return the texts of a damaged slide that are missing in its ``blocks``, in the order of the file."""
    read = "\n".join(getattr(block, "text", "") for block in blocks)
    try:
        slide = slides[number - 1]._element
    except Exception:  # noqa: BLE001 - the slide is missing
        return []
    return [Paragraph(line, f"slide {number}") for line in drawn_lines(slide) if line not in read]


def _slide(slide: Any, number: int, size: tuple[int, int], warnings: list[str], heads: set[str]) -> Iterator[Block]:
    choose_alternatives(slide.shapes._spTree)
    try:
        title = slide.shapes.title
    except (AttributeError, KeyError, ValueError):
        title = None
    titled = title.shape_id if title is not None else None
    if title is not None and title.has_text_frame and (words := _frame(title.text_frame)).strip():
        yield Heading(1, words, place=_shape_place(title, _box(title), number, size))
    for group in slide.shapes._spTree.iter("{*}nvGrpSpPr"):
        if alt := alternative_text(group[0]):
            yield Picture(alt, f"slide {number} shape {group[0].get('id')}")
    for shape, box in _sort_shapes(_shapes(slide.shapes, 0)):
        if shape.shape_id != titled:
            try:
                yield from _shape(shape, _shape_place(shape, box, number, size))
            except Exception as error:  # noqa: BLE001 - nor a damaged shape the slide
                warnings.append(Note("read.shape-unread", slide=number, reason=plain_reason(error)))
    yield from _layout_blocks(slide, number, heads)
    if slide.has_notes_slide:
        yield from _note_blocks(slide.notes_slide, number, heads)


def _comments(slide: Any, number: int, authors: Mapping[str, str]) -> Iterator[Block]:
    for relation in slide.part.rels.values():
        if relation.reltype.rpartition("/")[2] in ("comments", "comment") and not relation.is_external:
            root, _ = read_xml(relation.target_part.blob, f"the comments of slide {number}")
            for node in root.iter("{*}cm", "{*}reply"):
                words = " ".join(
                    "".join(map(str, element.itertext()))
                    for element in node
                    if element.tag.endswith(("}text", "}txBody"))
                )
                author = authors.get(node.get("authorId", ""))
                yield comment(" ".join(words.split()), author, f"slide {number} comments")


def _note_blocks(notes: Any, number: int, heads: set[str]) -> Iterator[Block]:
    """Yield the speaker's notes of a slide, and other text on its notes page.

    Running heads that were already in ``heads`` are left out.
    """
    choose_alternatives(notes.shapes._spTree)
    body = notes.notes_text_frame
    place = f"slide {number} notes"
    if body is not None:
        yield Remark(_frame(body, _external(notes.part)), "notes", place)
    for shape, _ in _sort_shapes(_shapes(notes.shapes, 0)):
        kind = shape.placeholder_format.type if shape.is_placeholder else None
        if getattr(shape, "has_table", False) and shape.has_table:
            yield from _shape(shape, place)
        elif shape.has_text_frame and kind not in (_BODY, _SLIDE_NUMBER):
            words = " ".join(_frame(shape.text_frame).split())
            if words and (kind not in _RUNNING or words not in heads):
                yield Remark(words, "notes", place)
            heads.add(words)


def _layout_blocks(slide: Any, number: int, heads: set[str]) -> Iterator[Block]:
    """Yield the texts that a slide shows from its layout and its master, unless an earlier slide has shown them."""
    shows, sheets = slide._element.get("showMasterSp") not in ("0", "false"), []
    try:
        layout = slide.slide_layout if shows else None
        if layout is not None:
            sheets = [layout]
            sheets += [layout.slide_master] if layout._element.get("showMasterSp") not in ("0", "false") else []
    except (AttributeError, KeyError, ValueError):
        return  # a slide without a layout
    for sheet in sheets:
        for shape, _ in _shapes(sheet.shapes, 0):
            if not shape.is_placeholder and shape.has_text_frame:
                words = " ".join(_frame(shape.text_frame).split())
                if words and words not in heads:
                    heads.add(words)
                    yield Remark(words, "layout", f"slide {number} layout")


Box = tuple[float, float, float, float]  # left, top, width, height
Scale = tuple[float, float, float, float]  # transformation of a group's coordinates: factor and offset on each axis


def _shapes(shapes: Any, deep: int, scale: Scale = (1, 1, 0, 0)) -> Iterator[tuple[Any, Box | None]]:
    """Yield all shapes, including those in groups, each with its box on the slide, None if the box is inherited."""
    for shape in shapes:
        try:
            group = shape.shape_type == _GROUP
        except NotImplementedError:
            group = False
        if group and deep < _DEEPEST:
            yield from _shapes(shape.shapes, deep + 1, inside_group(shape._element, scale))
        elif (box := _box(shape)) is not None:
            across, down, right, below = scale
            yield shape, (box[0] * across + right, box[1] * down + below, box[2] * across, box[3] * down)
        else:
            yield shape, None


def inside_group(group: Any, scale: Scale) -> Scale:
    """Return the transformation of coordinates from inside a group (its XML element) to the slide.

    ``scale`` is the transformation for the group itself.
    """
    frame = group.find(f"{{*}}grpSpPr/{DRAWN}xfrm")
    names = ("off", "ext", "chOff", "chExt") if frame is not None else ()
    parts = [part.values()[:2] for name in names if (part := frame.find(f"{DRAWN}{name}")) is not None]
    try:
        (x, y), (wide, high), (left, top), (width, height) = ([int(value) for value in part] for part in parts)
    except ValueError:
        return scale
    across, down, right, below = scale
    by_width, by_height = wide / width if width else 1, high / height if height else 1
    return (
        across * by_width, down * by_height,
        right + across * (x - left * by_width), below + down * (y - top * by_height),
    )  # fmt: skip


def _box(shape: Any) -> Box | None:
    try:
        left, top, width, height = shape.left, shape.top, shape.width, shape.height
    except Exception:  # noqa: BLE001 - python-pptx raises many types for damaged values
        return None
    return None if left is None or top is None or width is None or height is None else (left, top, width, height)


def _sort_shapes(shapes: Iterable[tuple[Any, Box | None]]) -> Iterator[tuple[Any, Box | None]]:
    """Sort shapes from top to bottom, then left to right. Shapes with an inherited position come first."""

    def left(pair: tuple[Any, Box | None]) -> float:
        return pair[1][0] if pair[1] is not None else 0

    def top(pair: tuple[Any, Box | None]) -> float:
        return pair[1][1] if pair[1] is not None else 0

    line: list[tuple[Any, Box | None]] = []
    for pair in sorted(shapes, key=lambda pair: (top(pair), left(pair))):
        if line and top(pair) - top(line[0]) > _SAME_HEIGHT:
            yield from sorted(line, key=left)
            line = []
        line.append(pair)
    yield from sorted(line, key=left)


def _shape_place(shape: Any, box: Box | None, number: int, size: tuple[int, int]) -> str:
    """Return a text that locates a shape: the slide, the shape's id, and its box in percent of the slide."""
    if box is None:
        return f"slide {number} shape {shape.shape_id}"
    left, top, width, height = box
    sides = (left / size[0], top / size[1], (left + width) / size[0], (top + height) / size[1])
    return f"slide {number} shape {shape.shape_id} box {','.join(str(round(100 * side)) for side in sides)}"


def _shape(shape: Any, place: str) -> Iterator[Block]:
    if getattr(shape, "has_table", False) and shape.has_table:
        yield Table(_table_rows(shape.table), place=place)
    elif getattr(shape, "has_chart", False) and shape.has_chart:
        yield from chart_blocks(shape.chart._chartSpace, place)
    elif shape.has_text_frame:
        listed = shape.is_placeholder and shape.placeholder_format.type in _LISTS
        counts: dict[int, int] = {}  # numbers of the open lists, by level
        styles = list(list_styles(shape))
        links = _external(shape.part)
        for paragraph in shape.text_frame.paragraphs:
            if text := _break_lines(paragraph_text(paragraph._p, links)).strip():
                mark = number_item(paragraph._p, paragraph.level, counts, styles)
                if mark or listed or paragraph.level:
                    yield Item(text, mark or "-", paragraph.level, place)
                else:
                    yield Paragraph(text, place)
    else:
        yield from _drawn(shape, place)
        return
    for drawn in shape._element.iter("{*}cNvPr"):
        if alt := alternative_text(drawn):
            yield Picture(alt, place)


def _external(part: Any) -> dict[str, str]:
    """Return the addresses to which a part links, by the id of the relation."""
    return {id: part.rels[id].target_ref for id in part.rels if part.rels[id].is_external}


def _drawn(shape: Any, place: str) -> Iterator[Block]:
    """Yield a diagram, a chartex chart, the alternative texts and the pictures of a shape without text."""
    for node in shape._element.iter():
        if not isinstance(node.tag, str):
            continue
        if node.tag == _RELATIONS:
            rels = shape.part.rels
            data = rels[node.get(_DATA)].target_part.blob if node.get(_DATA) in rels else b""
            drawings = (
                read_xml(rel.target_part.blob, "a diagram")[0]
                for rel in rels.values()
                if rel.reltype.endswith("/diagramDrawing")
            )
            for depth, line in diagram_words(read_xml(data, "a diagram")[0] if data else None, drawings):
                yield Item(line, depth=depth, place=place)
        elif is_chart(node.tag) and node.get(f"{R}id") in shape.part.rels:
            part = shape.part.related_part(node.get(f"{R}id"))
            yield from chart_blocks(read_xml(part.blob, "a chart")[0], place)
        elif node.tag.endswith("}cNvPr") and (alt := alternative_text(node)):
            yield Picture(alt, place)
        elif node.tag == f"{DRAWN}blip" and (image := _image(shape.part, node.get(_EMBEDDED))):
            yield Picture("", place, image)


def _table_rows(table: Any) -> tuple[tuple[str, ...], ...]:
    """Return the rows of a table. The words of a merged cell are repeated on each of its rows, in its first column."""
    rows: list[tuple[str, ...]] = []
    below: dict[int, tuple[int, str]] = {}  # column: remaining rows of a merged cell above, and its words
    for row in table.rows:
        cells: list[str] = []
        for at, cell in enumerate(row.cells):
            text, (rest, words) = _frame(cell.text_frame, _external(table.part)), below.get(at, (0, ""))
            if cell.is_merge_origin:
                below[at] = (cell.span_height - 1, text)
            elif cell.is_spanned and rest > 0:
                below[at] = (rest - 1, words)
                text = text or words
            cells.append(text)
        rows.append(tuple(cells))
    return tuple(rows)


def list_styles(shape: Any) -> Iterator[Any]:
    """Yield the list styles of a shape, then those of the placeholders of its layout and its master."""
    for _ in range(_MOST_LAYERS):
        if shape is None:
            return
        if (style := shape._element.find(f".//{DRAWN}lstStyle")) is not None:
            yield style
        try:
            shape = getattr(shape, "_base_placeholder", None)
        except (AttributeError, KeyError, ValueError):
            return  # the slide has no layout


def number_item(paragraph: Any, level: int, counts: dict[int, int], styles: Sequence[Any] = ()) -> str:
    """Count a paragraph of a numbered list and return its displayed number, "" if it has none."""
    for deeper in [at for at in counts if at > level]:
        del counts[deeper]
    own = paragraph.find(f"{DRAWN}pPr")
    layers = [own, *(style.find(f"{DRAWN}lvl{level + 1}pPr") for style in styles)]
    bullets = (node for layer in layers if layer is not None for node in layer if node.tag in _BULLETS)
    how = next(bullets, None)
    if how is None or how.tag != f"{DRAWN}buAutoNum" or (named := _NUMBERED.fullmatch(how.get("type") or "")) is None:
        counts.pop(level, None)
        return ""
    start = how.get("startAt") or "1"
    counts[level] = counts[level] + 1 if level in counts else int(start) if start.isdigit() and len(start) < 6 else 1
    number = written(counts[level], _NUMBER_KINDS.get(named[1], "decimal"))
    if named[1].startswith("circleNum"):
        return number
    shown = {"ParenBoth": f"({number})", "ParenR": f"{number})", "Plain": number, "Minus": f"{number}-"}
    return shown.get(named[2], f"{number}.")


def _image(part: Any, id: str | None) -> str:
    """Return the name of a picture's entry in the package, "" if it cannot show words."""
    if id is None or id not in part.rels or part.rels[id].is_external:
        return ""
    image = part.rels[id].target_part
    name = str(image.partname).lstrip("/")
    return name if may_show_words(name, len(image.blob)) else ""


def _frame(frame: Any, links: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the paragraphs of a text frame, one per line, with the numbers of lists.

    ``links`` are the addresses to which it may link, by the id of the relation.
    """
    counts: dict[int, int] = {}
    lines = []
    for paragraph in frame.paragraphs:
        text = paragraph_text(paragraph._p, links)
        mark = number_item(paragraph._p, paragraph.level, counts) if text.strip() else ""
        lines.append(f"{mark} {text}" if mark else text)
    return _break_lines("\n".join(lines))


def _break_lines(text: str) -> str:
    return text.replace("\v", "\n")
