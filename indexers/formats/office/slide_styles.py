"""Colours and inherited properties of slides: theme, colour map, placeholders and text styles."""

from __future__ import annotations

import colorsys
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any, NamedTuple

from PIL import ImageColor

from hybrid_core.errors import DocumentError
from indexers.formats.flow.safety import read_xml

_HEX = re.compile("[0-9A-Fa-f]{6}")
_SHORT_COLOURS = (("dk", "dark"), ("lt", "light"), ("med", "medium"))
_TEXT_COLOURS = {"tx1": "dk1", "tx2": "dk2", "bg1": "lt1", "bg2": "lt2"}  # the usual colour map
_TITLES = frozenset(("title", "ctrTitle"))
_BODIES = frozenset(("", "body", "subTitle", "obj", "tbl", "chart", "dgm", "media", "clipArt", "pic"))
_FILLS = ("noFill", "solidFill", "gradFill", "pattFill", "blipFill", "grpFill")
_TABLE_PARTS = ("wholeTbl", "band1H", "firstRow")  # later parts override earlier ones


class Colour(NamedTuple):
    """A colour with its parts and its opacity from 0 to 1."""

    red: float
    green: float
    blue: float
    opacity: float = 1.0

    @classmethod
    def of(cls, parts: Iterable[float], opacity: float = 1.0) -> Colour:
        red, green, blue = (min(1.0, max(0.0, part)) for part in parts)
        return cls(red, green, blue, opacity)

    @property
    def rgb(self) -> tuple[float, float, float]:
        return self[:3]

    @property
    def css(self) -> str:
        return "#" + "".join(f"{round(255 * part):02x}" for part in self.rgb)


BLACK, WHITE, GREY = Colour(0, 0, 0), Colour(1, 1, 1), Colour(0.6, 0.6, 0.6)


def name_of(node: Any) -> str:
    """Return the name of an element without its namespace, "" for a comment."""
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


def number(node: Any, attribute: str, default: float = 0.0) -> float:
    """Return a numeric attribute of an element, or ``default`` if it is missing, damaged or not finite."""
    try:
        value = float(node.get(attribute))
    except (AttributeError, TypeError, ValueError):
        return default
    return value if abs(value) < 1e12 else default


def share(node: Any, attribute: str = "val", default: float = 0.0) -> float:
    """Return an attribute in thousandths of a percent, or in percent with its sign, as a share."""
    text = (node.get(attribute) or "").strip()
    try:
        value = float(text[:-1]) / 100 if text.endswith("%") else float(text) / 100_000
    except ValueError:
        return default
    return value if abs(value) < 1_000 else default


@dataclass(slots=True)
class TextStyle:
    """The lists of styles of a text, the most specific first, and its default colour and boldness."""

    lists: Sequence[Any]
    colour: Colour | None = None
    bold: bool = False


class TablePart(NamedTuple):
    """The look of a part of a table: its fill, the colour and the boldness of its text."""

    fill: Colour | None
    colour: Colour | None
    bold: bool


class Sheets:
    """A slide with its layout and master. ``levels`` lists those that exist, the slide first."""

    def __init__(self, slide: Any, presentation: Any) -> None:
        self.levels = [slide]
        with suppress(AttributeError, KeyError, ValueError):  # a damaged slide without a layout is drawn without it
            self.levels += [slide.slide_layout, slide.slide_layout.slide_master]
        self._main = presentation

    @cached_property
    def colours(self) -> dict[str, Colour]:
        """The colours by their names on the slide. Later maps of names replace earlier ones."""
        scheme = next(self._theme.iter("{*}clrScheme"), ()) if self._theme is not None else ()
        colours = {name_of(node): colour for node in scheme if (colour := self.colour(node, {})) is not None}
        mapping = dict(_TEXT_COLOURS)
        for sheet in reversed(self.levels):
            for node in sheet._element.iter("{*}clrMap", "{*}overrideClrMapping"):
                mapping |= dict(node.attrib)
        return {**colours, **{name: colours[value] for name, value in mapping.items() if value in colours}}

    @cached_property
    def _theme(self) -> Any:
        return self._related(self.levels[-1].part, "theme")

    def typeface(self, name: str) -> str:
        """Return the name of a font; "+mj-lt" and "+mn-lt" stand for those of the theme."""
        kind = {"+mj": "major", "+mn": "minor"}.get(name[:3])
        fonts = self._theme.iter(f"{{*}}{kind}Font") if kind and self._theme is not None else ()
        return next((font.get("typeface") or "" for holder in fonts for font in holder.iter("{*}latin")), name)

    def _related(self, part: Any, kind: str) -> Any:
        """Return the root of the XML part to which a relation leads, None if it is missing or damaged."""
        for relation in part.rels.values():
            if relation.reltype.rpartition("/")[2] == kind and not relation.is_external:
                try:
                    return read_xml(relation.target_part.blob, f"the {kind}")[0]
                except DocumentError:
                    return None
        return None

    def colour(self, holder: Any, colours: dict[str, Colour] | None = None) -> Colour | None:
        """Return the colour inside an element, None if it has none."""
        for node in holder:
            kind, value, base = name_of(node), node.get("val") or "", None
            if kind == "schemeClr":
                base = (self.colours if colours is None else colours).get(value)
            elif kind == "scrgbClr":
                base = Colour.of(share(node, part) for part in "rgb")
            elif kind == "hslClr":
                parts = number(node, "hue") / 21_600_000, share(node, "lum"), share(node, "sat")
                base = Colour.of(colorsys.hls_to_rgb(*parts))
            elif kind in ("srgbClr", "sysClr", "prstClr"):
                base = _named_colour(node.get("lastClr") or value)
            if base is not None:
                return _modify(base, node)
        return None

    def fill(self, holder: Any) -> tuple[bool, Colour | None]:
        """Return whether an element states a fill, and its colour; of a gradient it is the mean."""
        node = next((child for child in holder if name_of(child) in _FILLS), None) if holder is not None else None
        if node is None:
            return False, None
        if name_of(node) not in ("gradFill", "pattFill"):
            return name_of(node) != "grpFill", self.colour(node)
        stops = list(node.iter("{*}gs", "{*}fgClr", "{*}bgClr"))
        colours = [colour for stop in stops if (colour := self.colour(stop)) is not None]
        return True, Colour.of(map(fmean, list(zip(*colours, strict=True))[:3])) if colours else None

    def family(self, shape: Any) -> list[Any]:
        """Return a shape and, for a placeholder, the placeholders of layout and master that it inherits from."""
        holder = shape.find("{*}nvSpPr/{*}nvPr/{*}ph")
        holder = shape.find("{*}nvPicPr/{*}nvPr/{*}ph") if holder is None else holder
        members, kind = [shape], "" if holder is None else holder.get("type") or ""
        for level, sheet in enumerate(self.levels[1:], 1) if holder is not None else ():
            others = [(node.getparent().getparent().getparent(), node) for node in sheet._element.iter("{*}ph")]
            index = [other for other, node in others if level == 1 and node.get("idx") == holder.get("idx", "0")]
            same = [other for other, node in others if _group(node.get("type") or "") == _group(kind)]
            exact = [other for other, node in others if (node.get("type") or "") == kind]
            if matches := index or exact or same:
                members.append(matches[0])
        return members

    def text_style(self, family: Sequence[Any], kind: str, colour: Colour | None, bold: bool = False) -> TextStyle:
        """Return the style of a text: lists of the shape and its placeholders, of the master, of the presentation."""
        lists = [node for shape in family for node in shape.iterfind("{*}txBody/{*}lstStyle")]
        styles = self.levels[-1]._element.find("{*}txStyles")
        if styles is not None:
            lists += styles.findall(f"{{*}}{kind}Style")
        if kind == "other":
            lists += self._main._element.findall("{*}defaultTextStyle")
        return TextStyle(lists, colour, bold)

    @staticmethod
    def text_kind(family: Sequence[Any]) -> str:
        """Return which text style of the master applies to a shape: title, body or other."""
        holder = family[0].find("{*}nvSpPr/{*}nvPr/{*}ph")
        group = "" if holder is None else _group(holder.get("type") or "")
        return group if group in ("title", "body") else "other"

    def referred(self, shape: Any, name: str) -> Colour | None:
        """Return the colour that a shape takes from the theme for its fill, line or font; index 0 means none."""
        node = shape.find(f"{{*}}style/{{*}}{name}")
        return None if node is None or node.get("idx") == "0" else self.colour(node)

    def table_parts(self, table: Any) -> dict[str, TablePart]:
        """Return fill, text colour and boldness of the parts of a table's style (whole, bands, first row)."""
        style_id = table.findtext("{*}tblPr/{*}tableStyleId")
        if style_id is None:
            return {}
        styles = self._related(self._main.part, "tableStyles")
        for style in styles.iter("{*}tblStyle") if styles is not None else ():
            if style.get("styleId") == style_id:
                return {name_of(part): self._table_part(part) for part in style if name_of(part) in _TABLE_PARTS}
        accent = self.colours.get("accent1", GREY)
        if style_id != "{5C22544A-7EE6-4342-B048-85BDC9FD1C3A}":  # the default style; its definition may be absent
            return {"firstRow": TablePart(None, None, True)}
        return {
            "wholeTbl": TablePart(_tint(accent, 0.2), None, False),
            "band1H": TablePart(_tint(accent, 0.4), None, False),
            "firstRow": TablePart(accent, self.colours.get("bg1", WHITE), True),
        }

    def _table_part(self, part: Any) -> TablePart:
        text, fill = part.find("{*}tcTxStyle"), part.find("{*}tcStyle/{*}fill")
        colour = None if text is None else self.colour(text)
        return TablePart(self.fill(fill)[1], colour, text is not None and text.get("b") == "on")


def _group(kind: str) -> str:
    return "title" if kind in _TITLES else "body" if kind in _BODIES else kind


def _named_colour(text: str) -> Colour | None:
    for short, long in _SHORT_COLOURS:
        if text.startswith(short) and text[len(short) : len(short) + 1].isupper():
            text = long + text[len(short) :]
    try:
        parts = ImageColor.getrgb(f"#{text}" if _HEX.fullmatch(text) else text)[:3]
        return Colour.of(part / 255 for part in parts)
    except ValueError:
        return None


def _tint(colour: Colour, tint: float) -> Colour:
    return Colour.of((part * tint + 1 - tint for part in colour.rgb), colour.opacity)


def _modify(colour: Colour, node: Any) -> Colour:
    """Apply the changes of a colour that its element states, such as lumMod and tint."""
    for change in node:
        kind, value = name_of(change), share(change)
        if kind == "alpha":
            colour = colour._replace(opacity=min(1.0, max(0.0, value)))
        elif kind == "tint":
            colour = _tint(colour, min(1.0, max(0.0, value)))
        elif kind == "shade":
            colour = Colour.of((part * value for part in colour.rgb), colour.opacity)
        elif kind in ("lumMod", "lumOff", "satMod"):
            hue, light, strength = colorsys.rgb_to_hls(*colour.rgb)
            light = light * value if kind == "lumMod" else light + value if kind == "lumOff" else light
            strength = strength * value if kind == "satMod" else strength
            parts = colorsys.hls_to_rgb(hue, min(1.0, max(0.0, light)), min(1.0, max(0.0, strength)))
            colour = Colour.of(parts, colour.opacity)
    return colour


def level_nodes(style: TextStyle, paragraph: Any) -> Iterator[Any]:
    """Yield the elements that state properties of a paragraph, the most specific first."""
    own = paragraph.find("{*}pPr")
    if own is not None:
        yield own
    level = min(8, max(0, int(number(own, "lvl"))))
    for styles in style.lists:
        for name in (f"lvl{level + 1}pPr", "defPPr"):
            if (node := styles.find(f"{{*}}{name}")) is not None:
                yield node


def first_child(nodes: Sequence[Any], path: str) -> Any:
    """Return the first element at a path below one of the nodes, None if there is none."""
    return next((child for node in nodes if (child := node.find(path)) is not None), None)
