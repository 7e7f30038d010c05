"""The styles inside a web page, as far as they change its words: hidden, struck, raised, numbered."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from selectolax.lexbor import LexborHTMLParser, LexborNode

_MOST_CSS = 1_000_000  # characters of style sheets that are looked at
_MOST_SELECTORS = 400
_SHOWN_OF_PAGE = 0.5  # share of a page's words; a script shows later what hides more than this
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|<!--|-->", re.S)
_RULE = re.compile(r"(@[^{};]*)[{;]|([^{}@;][^{}]*)\{([^{}]*)\}|\}")
_EVERY_SCREEN = re.compile(r"@(?:media\s+(?:only\s+)?(?:screen|all)\s*|supports\b.*|layer\b.*)", re.I | re.S)
_NAME = re.compile(r"[.#]([\w-]+)")
_STATE = re.compile(r"::?[\w-]+(?:\([^()]*\))?")
_WANTED = ("display", "visibility", "text-decoration", "vertical-align", "list-style")
_NUMBERS = {"decimal": "1", "lower-alpha": "a", "lower-latin": "a", "upper-alpha": "A", "upper-latin": "A",
            "lower-roman": "i", "upper-roman": "I"}  # fmt: skip

Style = dict[str, str]


class Styles:
    """The styles of a page's elements: those of its style sheets, then their own."""

    def __init__(self, tree: LexborHTMLParser) -> None:
        self._of: dict[int, Style] = {}
        css = "\n".join(node.text(deep=True) for node in tree.css("style") if _for_screens(node))[:_MOST_CSS]
        if not any(name in css for name in _WANTED):
            return
        length = len(tree.body.text(deep=True)) if tree.body is not None else 0
        rules = list(_rules(css))
        opened = {
            name for selector, style in rules if style.get("display", "none") != "none" for name in _last(selector)
        }
        ordered = sorted(rules, key=lambda rule: _weight(rule[0]))[-_MOST_SELECTORS:]
        for selector, style in ordered:
            if _hides(style) and opened.intersection(_last(selector)):
                continue  # a click opens it, as it does «details»
            if ":" in selector:
                continue
            try:
                nodes = tree.css(selector)
            except Exception:  # noqa: BLE001 - what the parser cannot select styles nothing
                continue
            for node in nodes:
                if not _hides(style) or len(node.text(deep=True)) <= _SHOWN_OF_PAGE * length:
                    self._of.setdefault(node.mem_id, {}).update(style)

    def of(self, node: LexborNode) -> Style:
        """Return the properties of an element that change its words."""
        own = node.attributes.get("style")
        sheet = self._of.get(node.mem_id)
        if not own:
            return sheet or {}
        return {**(sheet or {}), **_declared(own)}


def hidden(style: Mapping[str, str]) -> bool:
    """Return whether an element of this style is not shown."""
    return _hides(style)


def form(style: Mapping[str, str]) -> str:
    """Return the HTML tag that an inline element of this style looks like: "del", "sup", "sub" or ""."""
    if "line-through" in style.get("text-decoration", ""):
        return "del"
    return {"super": "sup", "sub": "sub"}.get(style.get("vertical-align", ""), "")


def numbering(style: Mapping[str, str]) -> str:
    """Return the type of an ordered list, as its attribute would give it; "" where the style gives none."""
    return next((_NUMBERS[word] for word in style.get("list-style", "").split() if word in _NUMBERS), "")


def _hides(style: Mapping[str, str]) -> bool:
    return style.get("display") == "none" or style.get("visibility") == "hidden"


def _for_screens(node: LexborNode) -> bool:
    media = (node.attributes.get("media") or "all").lower()
    return "screen" in media or "all" in media


def _rules(css: str) -> Iterator[tuple[str, Style]]:
    """The rules for every screen: one selector and its properties each, in order."""
    outside: list[bool] = []  # of the groups that are open: whether their rules are for some screens alone
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
        value = value.lower().replace("!important", "").strip()
        if name in _WANTED or (name := name.rpartition("-")[0]) in _WANTED:
            style[name] = value
    return style


def _last(selector: str) -> list[str]:
    """The classes and ids of the elements that a selector means, without their states."""
    compounds = re.split(r"[\s>+~]+", _STATE.sub("", selector).strip())
    return _NAME.findall(compounds[-1])


def _weight(selector: str) -> tuple[int, int]:
    return selector.count("#"), selector.count(".") + selector.count("[")
