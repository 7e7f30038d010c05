"""Elements of a web page: their styles, list numbers, form fields, formulas, and the language of code."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from lxml import etree
from selectolax.lexbor import LexborHTMLParser, LexborNode

from hybrid_core.text.identifiers import small_roman
from indexers.formats.flow.linear import equation

_ALL_ROWS = 100_000
_LANGUAGE = re.compile(r"(?:language|lang|highlight-source|highlight)-([\w+#-]+)")


def code_language(node: LexborNode) -> str:
    """Return the programming language of a code element, from its class or that of elements around or inside it."""
    above = node.parent
    for element in (node, node.css_first("code"), above, None if above is None else above.parent):
        for name in ((element.attributes.get("class") or "") if element is not None else "").split():
            if (match := _LANGUAGE.fullmatch(name)) is not None and match[1] != "default":
                return match[1]
    return ""


def cell_span(cell: LexborNode, name: str) -> int:
    """Return the number of columns or rows of a cell. A ``rowspan`` of 0 reaches to the end of its group of rows."""
    value = (cell.attributes.get(name) or "1").strip()
    if not (value.isascii() and value.isdigit()):
        return 1
    return _ALL_ROWS if name == "rowspan" and not int(value) else min(100, max(1, int(value)))


def open_list(node: LexborNode, tag: str, kind: str) -> list[Any]:
    """Return the state of a list: its last number, the step between numbers, and the kind of its numbers.

    ``kind`` is that of its style, "" if the style has none.
    """
    start = _whole_number(node.attributes.get("start"))
    kind = kind or ((node.attributes.get("type") or "1") if tag == "ol" else _BULLET)
    step = -1 if "reversed" in node.attributes else 1
    if start is None:
        start = 1 if step > 0 else sum(child.tag == "li" for child in node.iter())
    return [start - step, step, kind]


def next_mark(item: LexborNode, above: list[Any], kind: str = "") -> str:
    """Count an item of a list, and return its mark as displayed: its number, or "-" for a bullet.

    ``kind`` is the number type that the item's own style sets, "" if it sets none.
    """
    value = _whole_number(item.attributes.get("value"))
    above[0] = above[0] + above[1] if value is None else value
    kind = kind or item.attributes.get("type") or above[2]
    return f"{_format_number(above[0], kind)}." if kind in _KINDS else "-"


def _format_number(number: int, kind: str) -> str:
    if kind in ("a", "A") and number > 0:
        letters = ""
        while number > 0:
            number, digit = divmod(number - 1, 26)
            letters = chr(97 + digit) + letters
        return letters.upper() if kind == "A" else letters
    if kind in ("i", "I") and 0 < number < 4000:
        roman = small_roman(number)
        return roman.upper() if kind == "I" else roman
    return f"{number:02}" if kind == "01" else str(number)


def _whole_number(written: str | None) -> int | None:
    written = (written or "").strip()
    return int(written) if re.fullmatch(r"[+-]?[0-9]{1,9}", written) else None


def field_text(node: LexborNode, tag: str) -> str:
    """Return the displayed text of a form field."""
    if tag == "select":
        chosen = [option for option in node.css("option") if "selected" in option.attributes] or node.css("option")[:1]
        return " ".join(f" {' '.join(option.text().split())} " for option in chosen)
    if tag == "textarea":
        return f" {node.text(deep=True)} "
    kind = (node.attributes.get("type") or "text").lower()
    if kind in ("checkbox", "radio"):
        return " ☒ " if "checked" in node.attributes else " ☐ "
    shown = kind in ("text", "number", "date", "email", "tel", "url", "time", "month", "week", "datetime-local")
    return f" {node.attributes.get('value') or ''} " if shown else ""


def formula(node: LexborNode) -> str:
    """Return MathML as linear text: (x+1)/2, y^3, √(a)."""
    source = (node.html or "").replace("&nbsp;", "\u00a0")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True)
    root = etree.fromstring(source, parser)
    return "" if root is None else equation(root)


_MOST_CSS = 1_000_000  # characters of style sheets that are read
_MOST_SELECTORS = 400
_SHOWN_OF_PAGE = 0.5  # share of a page's words; a rule that hides more is ignored, since a script will show them
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.S)
_RULE = re.compile(r"(@[^{};]*)[{;]|([^{}@;][^{}]*)\{([^{}]*)\}|\}")
_EVERY_SCREEN = re.compile(r"@(?:media\s+(?:only\s+)?(?:screen|all)\s*|supports\b.*|layer\b.*)", re.I | re.S)
_NAME = re.compile(r"[.#]([\w-]+)")
_STATE = re.compile(r"::?[\w-]+(?:\([^()]*\))?")
_PROPERTIES = (
    "display", "visibility", "text-decoration", "vertical-align", "list-style", "flex-direction", "flex-flow", "order",
    "counter-reset", "counter-increment", "content",
)  # fmt: skip
_LINES = frozenset("block flex grid flow-root list-item table table-row table-caption".split())
_CELLS = frozenset("inline-block inline-flex inline-grid inline-table table-cell".split())
_NUMBERS = {"decimal": "1", "lower-alpha": "a", "lower-latin": "a", "upper-alpha": "A", "upper-latin": "A",
            "lower-roman": "i", "upper-roman": "I", "decimal-leading-zero": "01"}  # fmt: skip
_KINDS = frozenset(_NUMBERS.values())
_BULLET = "bullet"
_BULLETS = frozenset("none disc circle square".split())
_BEFORE = re.compile(r"::?before$", re.I)
_COUNTERS = re.compile(r"""(?P<quote>["'])(?P<text>.*?)(?P=quote)|(?P<all>counters?)\((?P<arguments>[^()]*)\)""", re.I)

Style = dict[str, str]


class Styles:
    """The styles of a page's elements, from style sheets and style attributes."""

    def __init__(self, tree: LexborHTMLParser, linked: Sequence[str] = ()) -> None:
        """Read the styles of a page. ``linked`` are the style sheets that it refers to."""
        self._of: dict[int, Style] = {}
        self._before: dict[int, Style] = {}  # styles of the text that a style inserts before an element
        own = (node.text(deep=True) for node in tree.css("style") if _for_screens(node))
        css = "\n".join((*linked, *own))[:_MOST_CSS]
        if not any(name in css for name in _PROPERTIES):
            return
        length = len(tree.body.text(deep=True)) if tree.body is not None else 0
        rules = list(_rules(css))
        opened = {
            name for selector, style in rules if style.get("display", "none") != "none" for name in _last(selector)
        }
        ordered = sorted(rules, key=lambda rule: _weight(rule[0]))[-_MOST_SELECTORS:]
        for selector, style in ordered:
            if _hides(style) and opened.intersection(_last(selector)):
                continue  # a click shows it, as with "details"
            numbered = _BEFORE.search(selector) is not None and "counter" in f"{style}"
            selector = _BEFORE.sub("", selector) or "*" if numbered else selector
            if ":" in selector:
                continue
            try:
                nodes = tree.css(selector)
            except Exception:  # noqa: BLE001 - what the parser cannot select styles nothing
                continue
            for node in nodes:
                if numbered:
                    self._before.setdefault(node.mem_id, {}).update(style)
                elif not _hides(style) or len(node.text(deep=True)) <= _SHOWN_OF_PAGE * length:
                    self._of.setdefault(node.mem_id, {}).update(style)

    def of(self, node: LexborNode) -> Style:
        """Return the properties of an element that affect its text."""
        own = node.attributes.get("style")
        sheet = self._of.get(node.mem_id)
        if not own:
            return sheet or {}
        return {**(sheet or {}), **_declared(own)}

    @property
    def numbers(self) -> bool:
        """Return whether the style sheets number elements with counters."""
        return bool(self._before)

    def before(self, node: LexborNode) -> Style:
        """Return the style of the number that a style inserts before an element."""
        return self._before.get(node.mem_id, {})


class Counters:
    """The counters of style sheets, by which pages number clauses ("2.1").

    A counter that an element opens also counts its siblings.
    """

    def __init__(self) -> None:
        self._values: dict[str, list[int]] = {}

    def count(self, style: Style, opened: list[str]) -> None:
        """Reset and increase counters as the style of an element says. ``opened`` are those of its siblings."""
        for name, value in _pairs(style.get("counter-reset", ""), 0):
            if name in opened:
                self._values[name][-1] = value
            else:
                self._open(name, value, opened)
        for name, value in _pairs(style.get("counter-increment", ""), 1):
            if not self._values.get(name):
                self._open(name, 0, opened)
            self._values[name][-1] += value

    def _open(self, name: str, value: int, opened: list[str]) -> None:
        self._values.setdefault(name, []).append(value)
        opened.append(name)

    def close(self, opened: Sequence[str]) -> None:
        """Remove the counters that the children of an element opened."""
        for name in opened:
            self._values[name].pop()

    def text(self, content: str) -> str:
        """Return the text that a style inserts: words in quotes, and numbers."""
        shown = ""
        for part in _COUNTERS.finditer(content):
            if part["all"] is None:
                shown += part["text"]
                continue
            several = part["all"].lower() == "counters"
            name, *more = (argument.strip().strip("\"'") for argument in part["arguments"].split(","))
            kind = _NUMBERS.get(more[-1] if len(more) > several else "decimal", "1")
            values = self._values.get(name.lower()) or [0]
            between = more[0] if several and more else ""
            shown += between.join(_format_number(value, kind) for value in (values if several else values[-1:]))
        return shown


def _pairs(written: str, usual: int) -> Iterator[tuple[str, int]]:
    """Yield the names of counters with their numbers: "item 2 note" gives item with 2, and note with ``usual``."""
    words = written.split()
    for name, after in zip_longest(words, words[1:], fillvalue=""):
        if _whole_number(name) is None and name != "none":
            number = _whole_number(after)
            yield name, usual if number is None else number


def hidden(style: Mapping[str, str]) -> bool:
    """Return whether an element of this style is not shown."""
    return _hides(style)


def form(style: Mapping[str, str]) -> str:
    """Return the HTML tag that corresponds to an inline style: "del", "sup", "sub" or ""."""
    if "line-through" in style.get("text-decoration", ""):
        return "del"
    return {"super": "sup", "sub": "sub"}.get(style.get("vertical-align", ""), "")


def gap(style: Mapping[str, str]) -> str:
    """Return the white space around an inline element of this style."""
    display = style.get("display", "")
    return "\n" if display in _LINES else " " if display in _CELLS else ""


def lays_out(style: Mapping[str, str]) -> bool:
    """Return whether an element of this style arranges its children as separate boxes (flex, grid)."""
    return style.get("display", "").removeprefix("inline-") in ("flex", "grid")


def in_order(children: Sequence[LexborNode], style: Mapping[str, str], styles: Styles) -> list[LexborNode]:
    """Return the children of a flex or grid element in the order in which they are displayed."""
    shown = [node for node in children if node.tag != "-text" or (node.text_content or "").strip()]
    places = {node.mem_id: _whole_number(styles.of(node).get("order")) or 0 for node in shown if node.tag != "-text"}
    shown.sort(key=lambda node: places.get(node.mem_id, 0))
    flow = f"{style.get('flex-direction', '')} {style.get('flex-flow', '')}"
    return shown[::-1] if "-reverse" in flow and "flex" in style["display"] else shown


def preformatted(node: LexborNode) -> str:
    """Return the text of an element with its line breaks, including those that elements such as ``br`` cause."""
    words: list[str] = []
    for button in node.css("button"):
        button.decompose()
    for child in node.traverse(include_text=True):
        if child.tag == "-text":
            words.append(child.text_content or "")
        elif child.tag == "br" or (child.tag in ("div", "p", "li", "tr") and words and not words[-1].endswith("\n")):
            words.append("\n")
    return "".join(words)


def words_of_drawing(node: LexborNode) -> str:
    """Return the labels in a drawing (SVG). A label may be HTML."""
    labels = (
        label.text(deep=True, separator="" if label.tag == "text" else " ") for label in node.css("text, foreignObject")
    )
    return " ".join(" ".join(label.split()) for label in labels)


_PERMALINKS, _HEADING_LINKS = frozenset("¶ 🔗 ⚓ ⚓︎ ∞".split()), frozenset("# § ¶".split())
_COOKIES = re.compile(
    r"cookie[-_ ]?(?:banner|bar|consent|notice|popup|modal|alert|message|overlay|law)|onetrust|cc-window|"
    r"(?:gdpr|consent)[-_]?(?:banner|modal|popup|consent)",
    re.I,
)
_MOST_CONSENT = 300  # maximum words of a request to accept cookies
_ARTICLE_FIELDS = ("headline", "name", "description", "articleBody", "text")  # of schema.org


def is_permalink(link: LexborNode, in_heading: bool) -> bool:
    """Return whether a link is only a sign that leads to its own paragraph or heading."""
    if not (link.attributes.get("href") or "").startswith("#"):
        return False
    sign = link.text(deep=True).strip()
    return sign in _PERMALINKS or (in_heading and sign in _HEADING_LINKS)


def note_mark(link: LexborNode) -> str:
    """Return the mark of a link that a book declares to lead to a note, "" for other links."""
    attributes = link.attributes
    if "noteref" not in f"{attributes.get('epub:type') or ''} {attributes.get('role') or ''}":
        return ""
    if link.parent is not None and link.parent.tag == "sup":
        return ""
    mark = " ".join(link.text(deep=True).split())
    return mark if not mark or mark.startswith(("[", "(")) else f"[{mark}]"


def shows_picture(noscript: LexborNode) -> bool:
    """Return whether a ``noscript`` element contains only a picture that a script would show in its place."""
    image = noscript.css_first("img[alt]")
    if image is None or not (image.attributes.get("alt") or "").strip() or noscript.text(deep=True).strip():
        return False
    before = noscript.prev
    while before is not None and before.tag == "-text" and not (before.text_content or "").strip():
        before = before.prev
    return before is None or before.tag != "img" or not (before.attributes.get("alt") or "").strip()


def asks_for_cookies(node: LexborNode) -> bool:
    """Return whether an element asks the reader to accept cookies."""
    name = f"{node.attributes.get('class') or ''} {node.attributes.get('id') or ''}"
    return (
        _COOKIES.search(name) is not None
        and node.css_first("button, a, input") is not None
        and len(node.text(deep=True, separator=" ").split()) <= _MOST_CONSENT
    )


def described_text(tree: LexborHTMLParser) -> list[str]:
    """Return the texts of an article that a page contains only as data for search engines (JSON-LD)."""
    texts: list[str] = []
    for script in tree.css("script[type='application/ld+json']"):
        try:
            waiting = [json.loads(script.text(deep=True))]
        except (ValueError, RecursionError):
            continue
        while waiting:
            value = waiting.pop()
            if isinstance(value, list):
                waiting += reversed(value)
            elif isinstance(value, dict):
                texts += (text for name in _ARTICLE_FIELDS if isinstance(text := value.get(name), str) and text.strip())
                waiting += (value[name] for name in ("mainEntity", "@graph") if name in value)
    return list(dict.fromkeys(texts))


_SWITCH = ("aria-expanded", "aria-controls", "data-target", "data-bs-target")
_FOLDED = re.compile(r"accordion|collaps|faq|question|toggle|tab", re.I)
_FURNITURE = re.compile(
    r"side-?bar|widget|related|share|social|promo|advert|\bads?\b|newsletter|subscribe|banner|menu|\bnav|breadcrumb|"
    r"cookie|recommend|comments?\b|trending|popular",
    re.I,
)
_MOST_LINKED = 0.5  # share of words in links; an aside with more is a list of other pages


def opens_text(button: LexborNode) -> bool:
    """Return whether a button shows or hides a text, and so is its heading, as in lists of frequent questions."""
    attributes = button.attributes
    return any(name in attributes for name in _SWITCH) or _FOLDED.search(attributes.get("class") or "") is not None


def is_remark(aside: LexborNode) -> bool:
    """Return whether an ``aside`` element belongs to the text. If not, it contains navigation of the site."""
    name = f"{aside.attributes.get('class') or ''} {aside.attributes.get('id') or ''} "
    if _FURNITURE.search(name + (aside.attributes.get("aria-label") or "")) or aside.css_first("nav, form, iframe"):
        return False
    linked = sum(len(link.text(deep=True)) for link in aside.css("a"))
    return linked <= _MOST_LINKED * len(aside.text(deep=True))


def numbering(style: Mapping[str, str]) -> str:
    """Return the type of an ordered list as in its ``type`` attribute, "bullet" for none; "" if the style has none."""
    words = style.get("list-style", "").split()
    return next((_NUMBERS.get(word, _BULLET) for word in words if word in _NUMBERS or word in _BULLETS), "")


def _hides(style: Mapping[str, str]) -> bool:
    return style.get("display") == "none" or style.get("visibility") == "hidden"


def _for_screens(node: LexborNode) -> bool:
    media = (node.attributes.get("media") or "all").lower()
    return "screen" in media or "all" in media


def _rules(css: str) -> Iterator[tuple[str, Style]]:
    """Yield the style rules that apply to all screens, in order, each with one selector and its properties."""
    outside: list[bool] = []  # for each open group: whether its rules are only for some screens
    for rule in _RULE.finditer(_COMMENT.sub(" ", css)):
        group, selectors, body = rule.groups()
        if group is not None:
            if rule[0].endswith("{"):
                outside.append(_EVERY_SCREEN.fullmatch(group) is None)
        elif selectors is None:
            del outside[-1:]
        elif not any(outside) and (style := _declared(body)):
            for selector in selectors.split(","):
                yield selector.strip(), style


def _declared(body: str) -> Style:
    style: Style = {}
    for declaration in body.split(";"):
        name, _, value = declaration.partition(":")
        name = name.strip().lower()
        value = value.replace("!important", "").strip()
        value = value if name == "content" else value.lower()
        if name in _PROPERTIES or (name := name.rpartition("-")[0]) in _PROPERTIES:
            style[name] = value
    return style


def _last(selector: str) -> list[str]:
    """Return the classes and ids that a selector requires of an element. States such as hover are ignored.

    Only the last element that the selector names is considered.
    """
    compounds = re.split(r"[\s>+~]+", _STATE.sub("", selector).strip())
    return _NAME.findall(compounds[-1])


def _weight(selector: str) -> tuple[int, int]:
    return selector.count("#"), selector.count(".") + selector.count("[")
