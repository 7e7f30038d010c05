"""Word's styles and list numbers.

The file stores only patterns such as "%1.%2". The numbers on the page, such as "3.1", are found by counting.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from lxml import etree

from indexers.formats.flow.linear import Look, inherited_looks
from indexers.formats.office.ooxml import W
from indexers.formats.office.word_numbers import written

_CODE_STYLE = re.compile(r"\bcode\b|source ?code|sourcetext|verbatim|preformatted|listing|console|terminal", re.I)
_MONOSPACED = re.compile(r"mono|courier|consol|menlo|inconsolata|typewriter|fixed", re.I)
_HEADING_STYLE = re.compile(  # Word's own heading styles in files of other programs, which store no outline level
    r"(?:heading|überschrift|titre|título|titulo|encabezado|titolo|kop|rubrik|overskrift|otsikko|nagłówek|заголовок|nadpis|"
    r"címsor|başlık|επικεφαλίδα|标题|標題|見出し|제목|כותרת|عنوان)\s?([1-9])"
)
_SHIFTS = {"superscript": 1, "subscript": -1}
_LEAST_RAISED = 4  # half points by which a run is at least moved up or down to be superscript or subscript
_BODY = 9  # the outline level of body text


_LEVELS = 9
_PLACE = re.compile(r"%([1-9])")


@dataclass(frozen=True, slots=True)
class _Level:
    kind: str = "decimal"
    pattern: str = ""
    start: int = 1
    legal: bool = False
    restart: int | None = None  # the level (from 0) whose numbers restart this one; None: any higher level


@dataclass(slots=True)
class Numbering:
    """The list numbers of a document, counted while its paragraphs are read.

    ``styles`` gives the (list, level) of paragraph styles that are linked to a list.
    """

    styles: dict[str, tuple[str, int]] = field(default_factory=dict)
    _levels: dict[str, list[_Level]] = field(default_factory=dict)  # by list id
    _abstract: dict[str, str] = field(default_factory=dict)  # lists with the same abstract list share a count
    _counts: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0] * _LEVELS))
    _begun: set[tuple[str, int]] = field(default_factory=set)
    _overrides: dict[str, dict[int, int]] = field(default_factory=dict)
    _language: str = "en"

    @classmethod
    def of(cls, roots: Sequence[etree._Element], language: str = "en") -> Numbering:
        """Create the numbering of a document in a language from the root elements of its numbering parts."""
        numbering = cls(_language=language)
        abstracts: dict[str, dict[int, _Level]] = {}
        linked: dict[str, str] = {}
        for abstract in _all(roots, f"{W}abstractNum"):
            name = abstract.get(f"{W}abstractNumId", "")
            abstracts[name] = dict(map(_level, abstract.iter(f"{W}lvl")))
            for level in abstract.iter(f"{W}lvl"):
                if (style := attribute(level, "pStyle")) is not None:
                    linked.setdefault(style, f"{name}/{level.get(f'{W}ilvl', '0')}")
        styled = {attribute(abstract, "styleLink"): abstract.get(f"{W}abstractNumId", "")
                  for abstract in _all(roots, f"{W}abstractNum")}  # fmt: skip
        for abstract in _all(roots, f"{W}abstractNum"):
            if (style := attribute(abstract, "numStyleLink")) is not None and style in styled:
                abstracts[abstract.get(f"{W}abstractNumId", "")] = abstracts[styled[style]]
        for number in _all(roots, f"{W}num"):
            name, abstract_id = number.get(f"{W}numId", ""), attribute(number, "abstractNumId") or ""
            levels = dict(abstracts.get(abstract_id, {}))
            for override in number.iter(f"{W}lvlOverride"):
                at = _int(override.get(f"{W}ilvl"))
                for level in override.iter(f"{W}lvl"):
                    levels[at] = _level(level)[1]
                if (start := attribute(override, "startOverride")) is not None:
                    numbering._overrides.setdefault(name, {})[at] = _int(start)
            numbering._levels[name] = [levels.get(at, _Level()) for at in range(_LEVELS)] if levels else []
            numbering._abstract[name] = abstract_id
            for style, where in linked.items():
                if where.partition("/")[0] == abstract_id:
                    numbering.styles.setdefault(style, (name, _int(where.partition("/")[2])))
        return numbering

    def next(self, name: str, level: int) -> str:
        """Count a paragraph of a list, and return its mark: the number as shown, "-" for a bullet, or "" for none."""
        levels = self._levels.get(name)
        if not levels or not 0 <= level < _LEVELS:
            return ""
        counts, (abstract, how) = self._counts[self._abstract[name]], (self._abstract[name], levels[level])
        if (override := self._overrides.get(name, {}).pop(level, None)) is not None:
            counts[level] = override
        elif (abstract, level) not in self._begun:
            counts[level] = how.start
        else:
            counts[level] += 1
        self._begun.add((abstract, level))
        for below in range(level + 1, _LEVELS):
            restart = levels[below].restart
            if restart is None or level < restart:
                self._begun.discard((abstract, below))
        for above in range(level):
            if (abstract, above) not in self._begun:
                counts[above] = levels[above].start
                self._begun.add((abstract, above))
        if how.kind == "bullet":
            return "-"
        if how.kind == "none" and not _PLACE.search(how.pattern):
            return how.pattern.strip()
        return _PLACE.sub(
            lambda m: written(
                counts[int(m[1]) - 1], "decimal" if how.legal else levels[int(m[1]) - 1].kind, self._language
            ),
            how.pattern,
        ).strip()  # fmt: skip


class NoteMarks:
    """The marks of footnotes and endnotes, counted in order."""

    def __init__(self, roots: Sequence[etree._Element]) -> None:
        self._kinds: dict[str, str] = {"footnote": "decimal", "endnote": "lowerRoman"}
        self._counts: dict[str, int] = dict.fromkeys(self._kinds, 0)
        self._marks: dict[tuple[str, str], str] = {}
        for kind in self._kinds:
            for how in _all(roots[::-1], f"{W}{kind}Pr"):
                self._kinds[kind] = attribute(how, "numFmt") or self._kinds[kind]
                self._counts[kind] = _int(attribute(how, "numStart"), 1) - 1

    def of(self, reference: etree._Element, kind: str) -> tuple[str, bool]:
        """Return the mark of a footnote or endnote, and whether it was chosen by the author instead of counted."""
        if reference.get(f"{W}customMarkFollows") in ("1", "true", "on"):
            run = reference.getparent()
            return ("" if run is None else "".join(node.text or "" for node in run.iter(f"{W}t"))).strip() or "*", True
        key = kind, reference.get(f"{W}id", "")
        if key not in self._marks:
            self._counts[kind] += 1
            self._marks[key] = written(self._counts[kind], self._kinds[kind])
        return self._marks[key], False


def _level(level: etree._Element) -> tuple[int, _Level]:
    format = next(level.iter(f"{W}numFmt"), None)  # a custom format is stored in an alternative
    kind = "decimal" if format is None else format.get(f"{W}val", "")
    if format is not None and kind == "custom":  # its format shows the first numbers: "001, 002, ..."
        kind = (format.get(f"{W}format") or "").partition(",")[0].strip()
    restart = attribute(level, "lvlRestart")
    return _int(level.get(f"{W}ilvl")), _Level(
        kind,
        attribute(level, "lvlText") or "",
        _int(attribute(level, "start"), 1),
        level.find(f"{W}isLgl") is not None,
        _int(restart) if restart is not None else None,
    )


def _all(roots: Sequence[etree._Element], tag: str) -> Iterator[etree._Element]:
    for root in roots:
        yield from root.iter(tag)


def attribute(element: etree._Element | None, name: str) -> str | None:
    """Return the ``val`` of the property element ``name`` below an element, None if it is missing."""
    child = None if element is None else element.find(f"{W}{name}")
    return None if child is None else child.get(f"{W}val")


def _int(text: str | None, default: int = 0) -> int:
    try:
        return int(text or default)
    except ValueError:
        return default


@dataclass(slots=True)
class _Style:
    id: str
    level: int | None = None  # outline level from 0
    list: str | None = None
    list_level: int | None = None
    parent: str = ""
    name: str = ""
    mono: bool = False  # its font is monospaced


class WordStyles:
    """The styles of a document: paragraph styles with their base styles, and character styles."""

    def __init__(self, roots: Sequence[etree._Element]) -> None:
        self._styles, self._default = _paragraph_styles(roots)
        self._looks = _style_looks(roots)
        usual = next((node for root in roots for node in root.iterfind(f"{W}docDefaults//{W}lang")), None)
        self.language = "en" if usual is None else usual.get(f"{W}val") or "en"

    def is_code(self, paragraph: etree._Element) -> bool:
        """Return whether a paragraph has a code style, or all its words are in a monospaced font."""
        styles = self._lineage(paragraph.find(f"{W}pPr"))
        if any(_CODE_STYLE.search(style.name) or style.mono for style in styles):
            return True
        runs = [run for run in paragraph.iter(f"{W}r") if any((t.text or "").strip() for t in run.iter(f"{W}t"))]
        return bool(runs) and all(_is_monospaced(run.find(f"{W}rPr")) for run in runs)

    def level_and_list(self, paragraph: etree._Element, numbering: Numbering) -> tuple[int | None, tuple[str, int]]:
        """Return a paragraph's outline level (None: body text), its list id ("": none) and its level in the list."""
        own = paragraph.find(f"{W}pPr")
        level, list_id, list_level = _outline_level(attribute(own, "outlineLvl")), None, None
        numbered = None if own is None else own.find(f"{W}numPr")
        if numbered is not None:
            list_id, list_level = attribute(numbered, "numId"), whole_number(attribute(numbered, "ilvl"))
        linked: tuple[str, int] | None = None
        for style in self._lineage(own):
            level = style.level if level is None else level
            list_id = style.list if list_id is None else list_id
            list_level = style.list_level if list_level is None else list_level
            linked = linked or numbering.styles.get(style.id)
        if list_id is not None and list_level is None and linked is not None and linked[0] == list_id:
            list_level = linked[1]
        in_list = list_id if list_id not in (None, "0") else ""
        return (None if level is None or level >= _BODY else level), (in_list or "", list_level or 0)

    def paragraph_look(self, paragraph: etree._Element) -> Look:
        """Return the look that a paragraph's style gives to its runs."""
        return self._looks.get(attribute(paragraph.find(f"{W}pPr"), "pStyle") or self._default, Look())

    def run_look(self, run: etree._Element, paragraph: Look) -> Look:
        """Return the look of a run in a paragraph whose style has the look ``paragraph``."""
        properties = run.find(f"{W}rPr")
        styled = self._looks.get(attribute(properties, "rStyle") or "", Look())
        return _own_look(properties).over(styled).over(paragraph)

    def _lineage(self, properties: etree._Element | None) -> Iterator[_Style]:
        """Yield a paragraph's style and its base styles, each once."""
        style_id = attribute(properties, "pStyle") or self._default
        seen: set[str] = set()
        while style_id in self._styles and style_id not in seen:
            seen.add(style_id)
            yield self._styles[style_id]
            style_id = self._styles[style_id].parent


def _paragraph_styles(roots: Sequence[etree._Element]) -> tuple[dict[str, _Style], str]:
    """Return the paragraph styles by id, and the id of the default style."""
    styles: dict[str, _Style] = {}
    default = ""
    for style in (style for root in roots for style in root.iter(f"{W}style")):
        if style.get(f"{W}type", "paragraph") != "paragraph":
            continue
        name, own = style.get(f"{W}styleId", ""), style.find(f"{W}pPr")
        numbered = None if own is None else own.find(f"{W}numPr")
        called = (attribute(style, "name") or "").lower()
        level = _outline_level(attribute(own, "outlineLvl"))
        if level is None and called.startswith("heading ") and called[8:].isdigit():
            level = min(_BODY, int(called[8:])) - 1
        elif level is None and (localised := _HEADING_STYLE.fullmatch(called)):
            level = int(localised[1]) - 1
        elif level is None and called == "title":
            level = 0
        styles[name] = _Style(
            name,
            level,
            attribute(numbered, "numId"),
            whole_number(attribute(numbered, "ilvl")),
            attribute(style, "basedOn") or "",
            called,
            _is_monospaced(style.find(f"{W}rPr")),
        )
        if style.get(f"{W}default") in ("1", "true"):
            default = name
    return styles, default


def _style_looks(roots: Sequence[etree._Element]) -> dict[str, Look]:
    """Return the looks of paragraph styles and character styles by id, with those of their base styles."""
    styles = {style.get(f"{W}styleId", ""): style for style in _all(roots, f"{W}style")}
    own = {name: _own_look(style.find(f"{W}rPr")) for name, style in styles.items()}
    return inherited_looks(own, {name: attribute(style, "basedOn") or "" for name, style in styles.items()})


def _own_look(properties: etree._Element | None) -> Look:
    """Return the look that run properties set themselves."""
    if properties is None:
        return Look()
    align, position = attribute(properties, "vertAlign"), whole_number(attribute(properties, "position"))
    shift = None if align is None else _SHIFTS.get(align, 0)
    if shift is None and position is not None:
        shift = 0 if abs(position) < _LEAST_RAISED else 1 if position > 0 else -1
    strikes = [node for kind in ("strike", "dstrike") if (node := properties.find(f"{W}{kind}")) is not None]
    vanish = properties.find(f"{W}vanish")
    return Look(
        shift, any(map(is_on, strikes)) if strikes else None, is_on(vanish) if vanish is not None else None
    )  # fmt: skip


def is_on(switch: etree._Element | None) -> bool:
    """Return whether a property without a value, or with a true one, is present."""
    return switch is not None and switch.get(f"{W}val", "1") not in ("0", "false", "off")


def _is_monospaced(properties: etree._Element | None) -> bool:
    """Return whether a run is in a monospaced font or in a code style."""
    fonts = None if properties is None else properties.find(f"{W}rFonts")
    named = "" if fonts is None else fonts.get(f"{W}ascii") or fonts.get(f"{W}hAnsi") or ""
    return bool(_MONOSPACED.search(named) or _CODE_STYLE.search(attribute(properties, "rStyle") or ""))


def _outline_level(text: str | None) -> int | None:
    number = whole_number(text)
    return None if number is None or not 0 <= number <= _BODY else number


def whole_number(text: str | None) -> int | None:
    """Return a text as an integer, None if it is not one."""
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
