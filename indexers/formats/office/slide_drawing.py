"""Drawing of slides (PPTX): shapes, pictures, tables and texts at their places, and a strip with the other text.

Text that is not on the slide, such as speaker's notes, is drawn in a strip below it, so that no word is lost.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from html import escape
from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pymupdf

from hybrid_core.types.locators import PageLayout
from indexers.formats.flow.blocks import Paragraph, Table
from indexers.formats.flow.safety import Package, read_xml
from indexers.formats.limits import ParseLimits, plain_reason
from indexers.formats.office.charts import chart_blocks, is_chart
from indexers.formats.office.ooxml import R, choose_alternatives, diagram_lines
from indexers.formats.office.pptx import Scale, inside_group, open_presentation
from indexers.formats.office.slide_styles import (
    BLACK,
    GREY,
    WHITE,
    Colour,
    Sheets,
    TablePart,
    TextStyle,
    first_child,
    name_of,
    number,
    share,
)
from indexers.formats.office.slide_text import TextHtml
from indexers.formats.office.slide_words import add_strip
from indexers.formats.pdf.document import drawing
from indexers.formats.raster import picture_stream

_EMU = 12_700  # English Metric Units per point
_MOST_SIDE = 5_000.0  # points of a slide's side; PowerPoint allows 4,032
_MOST_HEIGHT = 14_000.0  # points of the page: a PDF page may have 14,400
_MOST_SHAPES = 1_000  # shapes beyond this are not drawn
_MOST_CELLS = 2_000  # a table with more is not drawn
_FARTHEST = 50_000.0  # points from the top left of the slide
_DEEPEST = 20  # levels of groups
_MOST_LAYERS = 40  # layers of text; more would slow down MuPDF
_EDGE = 20.0  # points that a text which leaves its shape keeps from the edge of the slide
_SCALES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05)  # of a text that does not fit
_GUESS = 1.2  # how much higher than the square root of the lacking height the next scale may be
_LEAST_SCALE = 0.4  # below it a text may leave its shape
_SPARE = 1.08  # height of a text, relative to its shape, that is not reduced: fonts differ from those of the file
_STYLE = "body { margin: 0; font-family: sans-serif; } p { margin: 0; white-space: pre-wrap; } td { padding: 2px; }"
_WIDE = "p { white-space: pre; }"
_POLYGONS = {
    "triangle": "50,0 100,100 0,100", "rtTriangle": "0,0 100,100 0,100", "diamond": "50,0 100,50 50,100 0,50",
    "rightArrow": "0,25 60,25 60,0 100,50 60,100 60,75 0,75", "leftArrow": "100,25 40,25 40,0 0,50 40,100 40,75 100,75",
    "upArrow": "25,100 25,40 0,40 50,0 100,40 75,40 75,100", "downArrow": "25,0 25,60 0,60 50,100 100,60 75,60 75,0",
    "homePlate": "0,0 75,0 100,50 75,100 0,100", "chevron": "0,0 75,0 100,50 75,100 0,100 25,50",
    "hexagon": "25,0 75,0 100,50 75,100 25,100 0,50", "parallelogram": "25,0 100,0 75,100 0,100",
    "trapezoid": "25,0 75,0 100,100 0,100", "pentagon": "50,0 100,38 81,100 19,100 0,38",
    "octagon": "29,0 71,0 100,29 100,71 71,100 29,100 0,71 0,29",
}  # fmt: skip
_POINTS = {
    name: [tuple(int(part) / 100 for part in point.split(",")) for point in points.split()]
    for name, points in _POLYGONS.items()
}
_OPEN = {
    "line": [(0.0, 0.0), (1.0, 1.0)], "bentConnector2": [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)],
    "bentConnector3": [(0.0, 0.0), (0.5, 0.0), (0.5, 1.0), (1.0, 1.0)],
}  # fmt: skip
_MARGINS = (("lIns", 91_440), ("tIns", 45_720), ("rIns", 91_440), ("bIns", 45_720))
_CELL_MARGINS = (("marL", 91_440), ("marT", 45_720), ("marR", 91_440), ("marB", 45_720))


def draw_slide(path: Path, page_number: int, text: str, limits: ParseLimits) -> tuple[bytes, PageLayout]:
    """Return a slide (1-based) as a PDF of one page, with the positions of words, figures and tables.

    ``text`` is the stored text of the page. Its lines that are not on the slide are drawn below it. Raise DocumentError
    if the slide cannot be drawn.
    """
    with drawing(f"slide {page_number}", "max_pixels", file=path):
        stat = path.stat()
        presentation = _open(path, stat.st_mtime_ns, stat.st_size, limits)
        slide = _Drawing(presentation, presentation.slides[page_number - 1], limits)
        with slide.draw() as document:
            return add_strip(document, text, slide.figures, slide.tables)


@lru_cache(maxsize=1)
def _open(path: Path, changed: int, size: int, limits: ParseLimits) -> Any:
    """Open a presentation, or return the last one: viewers ask for one slide of a file after the other."""
    package = Package(path, limits)
    try:
        return open_presentation(package, path, [])
    finally:
        package.close()


class _Cell(NamedTuple):
    """A cell of a table. ``rows`` and ``columns`` are the numbers of rows and columns that it spans."""

    row: int
    column: int
    rows: int
    columns: int
    margins: tuple[float, float, float, float]
    anchor: str
    html: str
    fill: Colour | None


class _Drawing:
    """The drawing of one slide. ``figures`` and ``tables`` are the places of pictures and tables in points."""

    def __init__(self, presentation: Any, slide: Any, limits: ParseLimits) -> None:
        self._slide, self._limits = slide, limits
        self._sheets = Sheets(slide, presentation)
        self._html = TextHtml(self._sheets)
        sides = (presentation.slide_width or 9_144_000, presentation.slide_height or 6_858_000)
        self._width, self._height = (min(_MOST_SIDE, max(10.0, side / _EMU)) for side in sides)
        self._page = pymupdf.Rect(0, 0, self._width, self._height)
        self.figures: list[pymupdf.Rect] = []
        self.tables: list[pymupdf.Rect] = []
        self._shapes = 0
        self._canvas = _Canvas(self._width, self._height)

    def draw(self) -> pymupdf.Document:
        """Return the drawn slide as a document of one page."""
        self._background()
        for level in reversed(range(len(self._sheets.levels))):
            sheets = self._sheets.levels[: level + 1]
            tree = deepcopy(sheets[-1]._element.find("{*}cSld/{*}spTree"))
            shown = all(sheet._element.get("showMasterSp") not in ("0", "false") for sheet in sheets[:-1])
            if shown and tree is not None:
                _choose_pictures(tree)
                choose_alternatives(tree)
                self._tree(tree, sheets[-1].part, (1 / _EMU, 1 / _EMU, 0, 0), decoration=level > 0)
        return self._canvas.finish()

    def _background(self) -> None:
        for sheet in self._sheets.levels:
            if (background := sheet._element.find("{*}cSld/{*}bg")) is None:
                continue
            properties, colour = background.find("{*}bgPr"), None
            if properties is not None:
                colour = self._sheets.fill(properties)[1]
            elif len(background):
                colour = self._sheets.colour(background[0])
            if colour is not None:
                self._canvas.rectangle(self._page, colour)
            if properties is not None and (fill := properties.find("{*}blipFill")) is not None:
                self._blip(fill, sheet.part, self._page, 0, figure=False)
            return

    def _tree(self, tree: Any, part: Any, scale: Scale, decoration: bool, depth: int = 0) -> None:
        """Draw the shapes of a tree in their order. With ``decoration`` placeholders are left out."""
        for shape in tree:
            name = name_of(shape)
            self._shapes += 1
            if self._shapes > _MOST_SHAPES or (decoration and shape.find("{*}nvSpPr/{*}nvPr/{*}ph") is not None):
                continue
            try:
                if name == "grpSp" and depth < _DEEPEST:
                    self._tree(shape, part, inside_group(shape, scale), decoration, depth + 1)
                elif name in ("sp", "cxnSp", "pic"):
                    self._shape(shape, part, scale)
                elif name == "graphicFrame":
                    self._frame(shape, part, scale)
            except Exception as error:  # noqa: BLE001 - nor a damaged shape the slide
                plain_reason(error, "a shape of a slide")

    def _shape(self, shape: Any, part: Any, scale: Scale) -> None:
        family = self._sheets.family(shape)
        transformation = first_child(family, "{*}spPr/{*}xfrm")
        if transformation is None:
            return  # a placeholder without a layout has no place
        rect, turned = _rect(transformation, scale), number(transformation, "rot") / 60_000 % 360
        if name_of(shape) == "pic" and shape.find("{*}blipFill") is not None:
            self._blip(shape.find("{*}blipFill"), part, rect, turned)
            return
        properties = [node for member in family if (node := member.find("{*}spPr")) is not None]
        self._geometry(shape, properties, part, rect, turned, transformation)
        if (body := shape.find("{*}txBody")) is None:
            return
        if (own := shape.find("{*}txXfrm")) is not None:  # of diagrams
            rect, turned = _rect(own, scale), turned + number(own, "rot") / 60_000
        style = self._sheets.text_style(family, self._sheets.text_kind(family), self._sheets.referred(shape, "fontRef"))
        bodies = [node for member in family if (node := member.find("{*}txBody/{*}bodyPr")) is not None]
        self._text(body, rect, bodies, style, turned)

    def _geometry(
        self, shape: Any, properties: Sequence[Any], part: Any, rect: pymupdf.Rect, turned: float, transformation: Any
    ) -> None:
        stated, fill = next(filter(itemgetter(0), map(self._sheets.fill, properties)), (False, None))
        if stated and fill is None and (picture := first_child(properties[:1], "{*}blipFill")) is not None:
            self._blip(picture, part, rect, turned)
        fill = fill if stated else self._sheets.referred(shape, "fillRef")
        line = first_child(properties, "{*}ln")
        stated, colour = self._sheets.fill(line)
        colour = colour if stated else self._sheets.referred(shape, "lnRef")
        if (fill is None and colour is None) or not (rect.width or rect.height):
            return
        width = max(0.25, number(line, "w", 9_525) / _EMU)
        preset = first_child(properties, "{*}prstGeom")
        kind = "" if preset is None else preset.get("prst") or ""
        centre = (rect.tl + rect.br) / 2
        morph = (centre, pymupdf.Matrix(-turned)) if turned else None
        flips = [_is_on(transformation, name) for name in ("flipH", "flipV")]

        def point(x: float, y: float) -> pymupdf.Point:
            x, y = (1 - side if flip else side for side, flip in zip((x, y), flips, strict=True))
            return pymupdf.Point(rect.x0 + x * rect.width, rect.y0 + y * rect.height)

        path, closed = self._canvas.path(rect | _swapped(rect) if turned else rect), True
        if kind in _OPEN or name_of(shape) == "cxnSp":
            closed = False
            path.draw_polyline([point(x, y) for x, y in _OPEN.get(kind, _OPEN["line"])])
        elif (custom := first_child(properties[:1], "{*}custGeom")) is not None and _is_plain(custom):
            closed = _draw_custom(path, custom, point, transformation.find("{*}ext"))
        elif kind in _POINTS:
            path.draw_polyline([point(x, y) for x, y in _POINTS[kind]])
        elif "llipse" in kind or kind in ("flowChartConnector", "donut"):
            path.draw_oval(rect)
        elif "round" in kind.lower() or kind in ("flowChartTerminator", "flowChartAlternateProcess"):
            path.draw_rect(rect, radius=0.5 if kind == "flowChartTerminator" else 0.16)
        else:
            path.draw_rect(rect)
        filled = fill if closed else None
        path.finish(
            fill=filled and filled.rgb, fill_opacity=filled.opacity if filled else 1, closePath=closed,
            color=colour and colour.rgb, stroke_opacity=colour.opacity if colour else 1, width=width, morph=morph,
            dashes="[4 3] 0" if line is not None and _dashed(line) else None, even_odd=True,
        )  # fmt: skip
        if not closed and not turned and line is not None and colour is not None:
            ends = [point(x, y) for x, y in _OPEN.get(kind, _OPEN["line"])]
            for end, before, name in ((ends[0], ends[1], "headEnd"), (ends[-1], ends[-2], "tailEnd")):
                if (head := line.find(f"{{*}}{name}")) is not None and head.get("type", "none") != "none":
                    _draw_arrow(path, end, before, width, colour)

    def _blip(self, fill: Any, part: Any, rect: pymupdf.Rect, turned: float, figure: bool = True) -> None:
        """Draw a picture, or its outline if it is missing or of an unreadable format."""
        blip, cut = fill.find("{*}blip"), fill.find("{*}srcRect")
        relation = part.rels.get(blip.get(f"{R}embed")) if blip is not None else None
        angle = _right_angle(turned)
        if angle in (90, 270):
            rect = _swapped(rect)
        stream = None
        if relation is not None and not relation.is_external:
            crop = [share(cut, side) if cut is not None else 0.0 for side in ("l", "t", "r", "b")]
            stream = picture_stream(relation.target_part.blob, (crop[0], crop[1], crop[2], crop[3]), self._limits)
        if stream is None:
            self._canvas.rectangle(rect, None, GREY)
        else:
            self._canvas.picture(rect, stream, angle)
        if figure and not (shown := rect & self._page).is_empty:
            self.figures.append(shown)

    def _frame(self, shape: Any, part: Any, scale: Scale) -> None:
        """Draw a table, a chart, a diagram or the picture of an embedded object."""
        rect = _rect(shape.find("{*}xfrm"), scale)
        data = shape.find("{*}graphic/{*}graphicData")
        for node in data.iter() if data is not None else ():
            name = name_of(node)
            if name == "tbl":
                self._table(node, rect)
                return
            if is_chart(node.tag):
                self._chart(read_xml(part.related_part(node.get(f"{R}id")).blob, "a chart")[0], rect)
                return
            if name == "relIds":
                self._diagram(part, node, rect)
                return
            if name == "pic":
                self._blip(node.find("{*}blipFill"), part, rect, 0)
                return

    def _chart(self, root: Any, rect: pymupdf.Rect) -> None:
        """Draw the titles and the data of a chart as a table."""
        ink = self._sheets.colours.get("tx1", BLACK)
        blocks, html = list(chart_blocks(root, "")), ""
        for block in blocks:
            if isinstance(block, Paragraph):
                html += f'<p style="text-align: center"><b>{escape(block.text)}</b></p>'
            elif isinstance(block, Table):
                rows = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in block.rows)
                html += f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
        self._canvas.rectangle(rect, None, GREY)
        self._write(f'<div style="color: {ink.css}; font-size: 14px">{html}</div>', _inset(rect, 4, 4, 4, 4))
        if any(isinstance(block, Table) for block in blocks):
            self.tables.append(rect & self._page)

    def _diagram(self, part: Any, node: Any, rect: pymupdf.Rect) -> None:
        """Draw a diagram (SmartArt) from its stored shapes, or as a list if the file has none."""
        root = read_xml(part.related_part(node.get(f"{R}dm")).blob, "a diagram")[0]
        stored = next(root.iter("{*}dataModelExt"), None)
        relation = part.rels.get(stored.get("relId")) if stored is not None else None
        if relation is not None and not relation.is_external:
            shapes = relation.target_part
            tree = read_xml(shapes.blob, "a diagram")[0].find("{*}spTree")
            if tree is not None and len(tree):
                choose_alternatives(tree)
                self._tree(tree, shapes, (1 / _EMU, 1 / _EMU, rect.x0, rect.y0), decoration=False, depth=1)
                return
        ink = self._sheets.colours.get("tx1", BLACK)
        lines = (f'<p style="margin-left: {12 * depth}pt">{escape(line)}</p>' for depth, line in diagram_lines(root))
        self._canvas.rectangle(rect, None, GREY)
        self._write(f'<div style="color: {ink.css}; font-size: 18px">{"".join(lines)}</div>', _inset(rect, 4, 4, 4, 4))

    def _table(self, table: Any, rect: pymupdf.Rect) -> None:
        """Draw a table cell by cell. Rows grow with their texts, but not over the bottom of the slide."""
        widths = [number(node, "w") / _EMU for node in table.iterfind("{*}tblGrid/{*}gridCol")]
        heights = [number(row, "h") / _EMU for row in table.iterfind("{*}tr")]
        if len(widths) * len(heights) > _MOST_CELLS:
            raise ValueError(f"a table has more than {_MOST_CELLS:,} cells")
        parts = self._sheets.table_parts(table)
        cells = list(self._cells(table, len(widths), parts))
        for cell in cells:
            if cell.html and cell.rows == 1:
                left, top, right, bottom = cell.margins
                width = sum(widths[cell.column : cell.column + cell.columns]) - left - right
                needed = self._measure(cell.html, width) + top + bottom
                heights[cell.row] = max(heights[cell.row], needed)
        shrink = min(1.0, max(rect.height, self._height - rect.y0) / max(1.0, sum(heights)))
        xs = list(accumulate(widths, initial=rect.x0))
        ys = list(accumulate((shrink * height for height in heights), initial=rect.y0))
        boxes = []
        border = WHITE if any(part.fill for part in parts.values()) else GREY
        for cell in cells:
            right, bottom = min(cell.column + cell.columns, len(widths)), min(cell.row + cell.rows, len(heights))
            box = pymupdf.Rect(xs[cell.column], ys[cell.row], xs[right], ys[bottom])
            self._canvas.rectangle(box, cell.fill, border)
            boxes.append(box)
        for cell, box in zip(cells, boxes, strict=True):
            if cell.html:
                self._write(cell.html, _inset(box, *cell.margins), cell.anchor)
        self.tables.append(pymupdf.Rect(xs[0], ys[0], xs[-1], ys[-1]) & self._page)

    def _cells(self, table: Any, columns: int, parts: Mapping[str, TablePart]) -> Iterator[_Cell]:
        """Yield the cells of a table, without those that a merged cell covers."""
        options = table.find("{*}tblPr")
        headed, banded = (options is not None and _is_on(options, name) for name in ("firstRow", "bandRow"))
        for at, row in enumerate(table.iterfind("{*}tr")):
            banded_row = banded and (at - headed) % 2 == 0
            names = ["firstRow"] * (headed and not at) + ["band1H"] * banded_row + ["wholeTbl"]
            looks = [parts[name] for name in names if name in parts]
            colour = next((look.colour for look in looks if look.colour), None)
            style = self._sheets.text_style([], "other", colour, any(look.bold for look in looks))
            for column, cell in enumerate(row.findall("{*}tc")[:columns]):
                if _is_on(cell, "hMerge") or _is_on(cell, "vMerge"):
                    continue
                properties, body = cell.find("{*}tcPr"), cell.find("{*}txBody")
                stated, fill = self._sheets.fill(properties)
                left, top, right, bottom = (number(properties, *margin) / _EMU for margin in _CELL_MARGINS)
                rows, spanned = (max(1, int(number(cell, name, 1))) for name in ("rowSpan", "gridSpan"))
                anchor = (properties.get("anchor") if properties is not None else None) or "t"
                html = "" if body is None else self._html.text(body, style)
                fill = fill if stated else next((look.fill for look in looks if look.fill), None)
                yield _Cell(at, column, rows, spanned, (left, top, right, bottom), anchor, html, fill)

    def _text(self, body: Any, rect: pymupdf.Rect, bodies: Sequence[Any], style: TextStyle, turned: float) -> None:
        def option(name: str, default: str) -> str:
            return next((node.get(name) for node in bodies if node.get(name) is not None), default)

        if not (html := self._html.text(body, style)):
            return
        sides = [next((number(node, name) for node in bodies if node.get(name) is not None), default) / _EMU
                 for name, default in _MARGINS]  # fmt: skip
        inner = _inset(rect, *sides)
        inner = rect if inner.is_empty else inner
        angle, direction = _right_angle(turned), option("vert", "horz")
        if direction in ("vert", "eaVert", "vert270"):
            inner, angle = _swapped(inner), angle + (270 if direction == "vert270" else 90)
        wide = option("wrap", "square") == "none" and angle % 360 == 0
        self._write(html, inner, option("anchor", "t"), angle % 360, wide)

    @staticmethod
    def _measure(html: str, width: float) -> float:
        """Return the height of a text in points."""
        story = pymupdf.Story(html, user_css=_STYLE)
        return float(story.place(pymupdf.Rect(0, 0, max(1.0, width), _MOST_HEIGHT))[1][3])

    @staticmethod
    def _fit(story: pymupdf.Story, rect: pymupdf.Rect, width: float) -> tuple[float, float]:
        """Place a text at the largest scale at which it fits a rectangle.

        Return the scale, and the height of the text before scaling.
        """
        scale, used, height = 1.0, 0.0, max(1.0, rect.height)
        highest = 1.0
        for scale in _SCALES:
            if scale > highest:
                continue
            story.reset()
            filled = story.place(pymupdf.Rect(0, 0, width / scale, _MOST_HEIGHT))[1]
            used = filled[3]
            if used * scale <= height * _SPARE and filled[2] <= width / scale + 1:
                break
            highest = max(_SCALES[-1], scale * _GUESS * min(1.0, (height / (used * scale)) ** 0.5))
        return scale, used

    def _write(self, html: str, rect: pymupdf.Rect, anchor: str = "t", angle: int = 0, wide: bool = False) -> None:
        """Draw HTML in a rectangle, at a reduced size if it does not fit, rotated clockwise around its centre.

        With ``wide`` lines are not broken.
        """
        width = max(1.0, rect.width)
        story = pymupdf.Story(html, user_css=_STYLE + (_WIDE if wide else ""))
        if wide:
            width = max(width, story.place(pymupdf.Rect(0, 0, 1, _MOST_HEIGHT))[1][2] + 1)
            side = 0.5 if "text-align: center" in html else 1.0 if "text-align: right" in html else 0.0
            left = rect.x0 - side * (width - rect.width)
            rect = pymupdf.Rect(left, rect.y0, left + width, rect.y1)
        scale, used = self._fit(story, rect, width)
        if scale < _LEAST_SCALE and not angle:
            right, bottom = max(rect.x1, self._width - _EDGE), max(rect.y1, self._height - _EDGE)
            rect = pymupdf.Rect(rect.x0, rect.y0, right, bottom)
            width = max(width, rect.width)
            scale, used = self._fit(story, rect, width)
        free = rect.height - used * scale
        top = rect.y0 + (free / 2 if anchor == "ctr" else free if anchor == "b" else 0)
        matrix = pymupdf.Matrix(scale, scale) * pymupdf.Matrix(1, 0, 0, 1, rect.x0, top)
        if angle:
            centre = (rect.tl + rect.br) / 2
            moved, back = (pymupdf.Matrix(1, 0, 0, 1, sign * centre.x, sign * centre.y) for sign in (-1, 1))
            matrix = matrix * moved * pymupdf.Matrix(angle) * back
        self._canvas.text(story, pymupdf.Rect(0, 0, width / scale, used) * matrix, matrix)


class _Canvas:
    """A page on which shapes, pictures and texts are drawn in their order.

    Texts are collected in a layer, which is drawn on the page when a later shape or picture covers one of them.
    """

    def __init__(self, width: float, height: float) -> None:
        self._document = pymupdf.open()
        self._page = self._document.new_page(width=width, height=height)
        self._path: pymupdf.Shape | None = None
        self._texts: list[pymupdf.Rect] = []
        self._layers = 0
        self._buffer = io.BytesIO()
        self._writer: pymupdf.DocumentWriter | None = None
        self._device: Any = None

    def finish(self) -> pymupdf.Document:
        """Return the document with everything drawn."""
        self._draw_layer()
        return self._document

    def path(self, rect: pymupdf.Rect) -> pymupdf.Shape:
        """Return the path to draw a shape with the bounding box ``rect``."""
        if self._layers < _MOST_LAYERS and any(rect.intersects(text) for text in self._texts):
            self._draw_layer()
        if self._path is None:
            self._path = self._page.new_shape()
        return self._path

    def rectangle(self, rect: pymupdf.Rect, fill: Colour | None, line: Colour | None = None) -> None:
        """Draw a rectangle with straight corners."""
        if (fill or line) and not rect.is_empty:
            path = self.path(rect)
            path.draw_rect(rect)
            opacity = fill.opacity if fill else 1
            path.finish(color=line and line.rgb, fill=fill and fill.rgb, width=0.7, fill_opacity=opacity)

    def picture(self, rect: pymupdf.Rect, stream: bytes, angle: int) -> None:
        """Draw a picture, rotated clockwise by a multiple of 90°."""
        self.path(rect)
        self._draw_path()
        self._page.insert_image(rect, stream=stream, keep_proportion=False, rotate=-angle % 360)

    def text(self, story: pymupdf.Story, rect: pymupdf.Rect, matrix: pymupdf.Matrix) -> None:
        """Draw a placed text with a transformation, whose result has the bounding box ``rect``."""
        if self._writer is None:
            self._buffer = io.BytesIO()
            self._writer = pymupdf.DocumentWriter(self._buffer)
            self._device = self._writer.begin_page(self._page.rect)
        story.draw(self._device, matrix)
        self._texts.append(rect)

    def _draw_path(self) -> None:
        if self._path is not None:
            self._path.commit()
            self._path = None

    def _draw_layer(self) -> None:
        self._draw_path()
        if self._writer is not None:
            self._writer.end_page()
            self._writer.close()
            self._writer, self._device, self._texts = None, None, []
            self._layers += 1
            with pymupdf.open("pdf", self._buffer.getvalue()) as texts:
                self._page.show_pdf_page(self._page.rect, texts, 0)


def _rect(transformation: Any, scale: Scale) -> pymupdf.Rect:
    """Return the box of a transformation in points. Raise ValueError if it has no position."""
    offset, extent = (
        None if transformation is None else transformation.find(f"{{*}}{name}") for name in ("off", "ext")
    )
    if offset is None:
        raise ValueError("a shape has no position")
    x, y = number(offset, "x") * scale[0] + scale[2], number(offset, "y") * scale[1] + scale[3]
    wide, high = number(extent, "cx") * scale[0], number(extent, "cy") * scale[1]
    sides = (min(_FARTHEST, max(-_FARTHEST, side)) for side in (x, y, x + abs(wide), y + abs(high)))
    return pymupdf.Rect(*sides)


def _inset(rect: pymupdf.Rect, left: float, top: float, right: float, bottom: float) -> pymupdf.Rect:
    return pymupdf.Rect(rect.x0 + left, rect.y0 + top, rect.x1 - right, rect.y1 - bottom)


def _swapped(rect: pymupdf.Rect) -> pymupdf.Rect:
    """Return a rectangle turned by 90° around its centre."""
    centre, wide, high = (rect.tl + rect.br) / 2, rect.height / 2, rect.width / 2
    return pymupdf.Rect(centre.x - wide, centre.y - high, centre.x + wide, centre.y + high)


def _right_angle(turned: float) -> int:
    """Return a rotation that is about a multiple of 90°, 0 for any other."""
    angle = round(turned / 90) * 90
    return angle % 360 if abs(turned - angle) < 5 else 0


def _is_on(node: Any, attribute: str) -> bool:
    return node.get(attribute) in ("1", "true")


def _dashed(line: Any) -> bool:
    dash = line.find("{*}prstDash")
    return dash is not None and dash.get("val") not in (None, "solid")


def _is_plain(geometry: Any) -> bool:
    """Return whether all coordinates of a custom geometry are numbers and none of its paths has arcs."""
    points = list(geometry.iterfind("{*}pathLst//{*}pt"))
    numeric = all((point.get(side) or "").lstrip("-").isdigit() for point in points for side in "xy")
    return bool(points) and numeric and next(geometry.iter("{*}arcTo"), None) is None


def _draw_custom(
    path: pymupdf.Shape, geometry: Any, point: Callable[[float, float], pymupdf.Point], extent: Any
) -> bool:
    """Draw a custom geometry. Return whether its last path is closed.

    ``extent`` is the size of its shape, in whose units its coordinates are if it states no size.
    """
    closed = False
    for outline in geometry.iterfind("{*}pathLst/{*}path"):
        wide = number(outline, "w") or number(extent, "cx") or 1.0
        high = number(outline, "h") or number(extent, "cy") or 1.0
        start = at = pymupdf.Point()
        for command in outline:
            ends = [point(number(node, "x") / wide, number(node, "y") / high) for node in command.iter("{*}pt")]
            kind = name_of(command)
            closed = kind == "close"
            if closed:
                path.draw_line(at, start)
                at = start
            elif kind == "moveTo":
                start = ends[0]
            elif kind == "cubicBezTo":
                path.draw_bezier(at, *ends)
            elif kind == "quadBezTo":
                path.draw_curve(at, *ends)
            else:
                path.draw_line(at, ends[-1])
            at = ends[-1] if ends else at
    return closed


def _draw_arrow(path: pymupdf.Shape, end: pymupdf.Point, before: pymupdf.Point, width: float, colour: Colour) -> None:
    along = (end - before).unit * (4 + 2 * width)
    side = pymupdf.Point(-along.y, along.x) * 0.4
    path.draw_polyline([end, end - along + side, end - along - side])
    path.finish(fill=colour.rgb, color=None, closePath=True)


def _choose_pictures(tree: Any) -> None:
    """Replace alternatives for old programs (VML) by the fallback, which has the picture of an embedded object."""
    for node in list(tree.iter("{*}AlternateContent")):
        choice, fallback = node.find("{*}Choice"), node.find("{*}Fallback")
        if choice is not None and choice.get("Requires") == "v" and fallback is not None and len(fallback):
            node.remove(choice)
