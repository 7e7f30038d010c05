"""HTML as blocks: the text of a page without navigation, scripts and styles."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

from selectolax.lexbor import LexborHTMLParser, LexborNode

from hybrid_core.errors import EmptyFileError
from hybrid_core.types.notes import Note
from indexers.formats.decode import decode
from indexers.formats.flow.blocks import Block, Code, Flow, Heading, Item, Paragraph, Part, Picture, Table
from indexers.formats.flow.linear import shifted, with_readings
from indexers.formats.flow.safety import put_in_text
from indexers.formats.limits import ParseLimits
from indexers.formats.pictures import NearbyPictures, picture_in_link
from indexers.formats.web.elements import (
    Counters,
    Style,
    Styles,
    asks_for_cookies,
    cell_span,
    code_language,
    described_text,
    field_text,
    form,
    formula,
    gap,
    hidden,
    in_order,
    is_permalink,
    is_remark,
    lays_out,
    next_mark,
    note_mark,
    numbering,
    open_list,
    opens_text,
    preformatted,
    shows_picture,
    words_of_drawing,
)

_HIDDEN = frozenset(
    "script style template noscript head nav aside iframe object svg canvas button datalist dialog audio video map "
    "rp".split()
)
_FURNITURE = frozenset(("header", "footer"))  # of the page; in an article they belong to the article
_BLOCKS = frozenset(
    "address article blockquote body center dd details dir div dl dt fieldset figcaption figure footer h1 h2 h3 h4 h5 "
    "h6 header hgroup hr html li main menu ol p pre section summary table tbody td tfoot th thead tr ul "
    "caption title legend listing xmp plaintext".split()
)
_SECTIONS = frozenset(
    "article main section blockquote figure details dialog fieldset dd li td th".split()
)  # elements that have headers and footers of their own
_PREFORMATTED = frozenset(("pre", "listing", "xmp", "plaintext"))
_STRUCK = frozenset(("del", "s", "strike"))
_GAZETTE = re.compile(r"(?:oj-)?ti-(?:(?P<art>art)|section-\d|grseq-\d)")  # titles in the Official Journal of the EU
_FORMULAS = ("math/tex", "math/asciimath")  # types of scripts that MathJax shows as formulas
_LONGEST_ALT = 2_000
_CHARSET = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]+)", re.I
)
_FIELDS = {"author": "author", "description": "subject", "keywords": "keywords", "dc.creator": "author",
           "dc.title": "title", "article:published_time": "date", "date": "date"}  # fmt: skip
_XML = re.compile(r"\s*<\?xml\b|<(?:[\w-]{1,40}:)?html\b[^>]{0,1000}\bxmlns\b")
_SELF_CLOSED = re.compile(r"<([A-Za-z][\w:.-]{0,60})((?:\s[^<>]{0,4000}?)?)/>")
_MARKED_TEXT = re.compile(r"(?<!//)(?<!/\*)<!\[CDATA\[(.*?)\]\]>", re.S)
_PREFIX = re.compile(r"""<([\w-]{1,40}):html\b[^>]{0,2000}\bxmlns:\1\s*=""")
_VOID = frozenset("area base br col embed hr img image input link meta param source track wbr".split())
_SHADOW = re.compile(r"<template\b[^<>]{0,400}\bshadowroot(?:mode)?\s*=[^<>]{0,400}>(.*?)</template\s*>", re.I | re.S)
_NESTING = re.compile(  # or a comment or script, in which "<" begins no element
    r"<!--.*?(?:-->|\Z)|<(?P<raw>script|style|textarea|title)\b.*?(?:</(?P=raw)\b|\Z)|<(/?)([A-Za-z][^\s/<>]{0,60})",
    re.I | re.S,
)
_FOREIGN_END = re.compile(r"[^<>]{0,2000}/>")
_FOREIGN = ("svg", "math")  # elements in which "/>" closes an element
_NOT_NESTED = _VOID | frozenset(  # elements that the next of their kind, or their parent's end, closes
    "colgroup dd dt li optgroup option p rb rp rt rtc tbody td tfoot th thead tr".split()
)
_MOST_NESTED = 1_000
_BREAK = re.compile(r"(?:^|[;\s])(?:page-)?break-(before|after)\s*:\s*(?:always|page|left|right|recto|verso)\b", re.I)
_DEEPEST = 200
_LEAST_FRAMING = 20  # minimum words of running text in the frame of a page that are worth a note
_FRAMING_SHARE = 0.1  # minimum share of the words that are read
_MAIN = 0.3  # of the page's characters
_BESIDE = 0.3  # of the words of an article: more beside it belong to the page's text
_SITE = frozenset("nav aside header footer noscript dialog button form".split())  # frames of a page that show words
_NAVIGATION = "script, style, a, button, select, label, nav"
_FRAMING = _HIDDEN | _FURNITURE | {"form"}
_CELLS = frozenset("cell columnheader rowheader gridcell".split())
_ROLES = frozenset("navigation banner contentinfo complementary search dialog menu".split())

_INLINE = frozenset(("sup", "sub", "ruby", "rt", "math", "input", "select", "textarea")) | _STRUCK

_Lists = tuple[list[Any], ...]  # last number, step and kind of numbers of each open list


def read_html(path: Path, limits: ParseLimits) -> Flow:
    """Read a web page. Raise DocumentError if it holds no text."""
    source, warnings = html_text(path.read_bytes(), path)
    pictures = NearbyPictures(path)
    page = parse_html(source, image=pictures.name)
    warnings += page.warnings
    return Flow(map(Part, _split_at_breaks(page)), page.metadata, warnings, clauses=True, images=pictures.read)


def _split_at_breaks(page: HtmlPage) -> list[list[Block]]:
    """Return the page's blocks, divided at the author's page breaks."""
    blocks = titled(page)
    more = len(blocks) - len(page.blocks)
    cuts = sorted({0, *(at + more for at in page.breaks if at), len(blocks)})
    return [blocks[first:end] for first, end in pairwise(cuts)]


def html_text(data: bytes, path: Path) -> tuple[str, list[str]]:
    """Decode an HTML file, by its declared encoding if its bytes are not UTF-8.

    Elements that XML closes in their start tag ("<title/>") get an end tag; otherwise they would contain the rest of
    the page.
    """
    if not data:
        raise EmptyFileError("the file is empty.", file=path)
    text, warnings = decode(data, path, declared_label(data))
    text = put_in_text(text)
    return (_as_html(text) if _XML.search(text[:2_000]) else text), warnings


def declared_label(data: bytes) -> str:
    """Return the encoding that a page declares, "" if there is none."""
    declared = _CHARSET.search(data[:4096])
    return (declared[1] or declared[2]).decode() if declared else ""


def _as_html(text: str) -> str:
    """Return an XHTML page as HTML: without prefixes and self-closing elements, and with CDATA as text."""
    text = _MARKED_TEXT.sub(lambda section: html.escape(section[1], quote=False), text)
    if (named := _PREFIX.search(text[:4_000])) is not None:
        text = re.sub(rf"(</?){re.escape(named[1])}:(?=[A-Za-z])", r"\1", text)
    return _SELF_CLOSED.sub(_closed, text)


def _closed(tag: re.Match[str]) -> str:
    return tag[0] if tag[1].lower() in _VOID else f"<{tag[1]}{tag[2]}></{tag[1]}>"


@dataclass(slots=True)
class HtmlPage:
    blocks: list[Block] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    # ids of elements, each with the number of the block that it begins before
    ids: list[tuple[str, int]] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)  # numbers of blocks before which the author ends a page
    unseen: int = 0  # hidden elements that contain words


def parse_html(
    source: str,
    *,
    whole: bool = False,
    place: str = "",
    image: Callable[[str], str] = picture_in_link,
    framed: bool = False,
    sheet: Callable[[str], str] = lambda link: "",
) -> HtmlPage:
    """Read a page's blocks in order. ``whole`` is for files of books, which have no navigation.

    ``place`` is the beginning of each block's place, followed by the block's number. ``image`` returns the name of the
    picture that a link refers to, "" if it cannot contain words. ``framed`` is for pages inside another page; their own
    frames are not read. ``sheet`` returns the style sheet that a link refers to, "" if it is not known.
    """
    if "shadowroot" in source:  # the content of a custom element, which a browser shows
        source = _SHADOW.sub(r"<div>\1</div>", source)
    tree = LexborHTMLParser(flattened(source))
    page = HtmlPage()
    if tree.head is not None:
        for node in tree.head.css("title"):
            page.metadata.setdefault("title", " ".join(node.text().split()))
        for node in tree.head.css("meta[content]"):
            name = (node.attributes.get("name") or node.attributes.get("property") or "").lower()
            value = " ".join((node.attributes.get("content") or "").split())
            if name in _FIELDS and value:
                page.metadata.setdefault(_FIELDS[name], value)
    page.metadata = {key: value for key, value in page.metadata.items() if value}
    if tree.body is not None:
        linked = [sheet(link.attributes["href"] or "") for link in tree.css("link[rel~=stylesheet][href]")]
        writer = _Writer(page, place, whole, image, Styles(tree, linked))
        writer.framed = framed
        main, left_words, framing = (tree.body, 0, 0) if whole else _main(tree.body)
        if left_words:
            page.warnings.append(Note("read.beside-main", words=left_words))
        writer.enter(main)
        writer.walk(main, 0, article=main.tag != "body")
        writer.end()
        if not page.blocks and tree.body.css_first("noscript") is not None:
            writer.scripts = False
            writer.walk(tree.body, 0)
            writer.end()
        if not page.blocks and not whole:
            page.blocks += (Paragraph(text, f"{place}paragraph 1") for text in described_text(tree))
        framing += writer.framing
        if framing >= _LEAST_FRAMING and framing > _FRAMING_SHARE * sum(_length(block) for block in page.blocks):
            page.warnings.append(Note("read.site-frame", words=framing))
        page.unseen = writer.unseen
        if writer.unseen:
            page.warnings.append(Note("read.hidden-elements", elements=writer.unseen))
    elif not framed and (frames := tree.css_first("noframes")) is not None:
        inner = parse_html(frames.text(deep=True), whole=whole, place=place, image=image, framed=True)
        inner.metadata = page.metadata or inner.metadata
        return inner
    return page


def flattened(source: str) -> str:
    """Return HTML in which elements below a maximum depth are replaced by line breaks.

    Without this, the time of a parser would grow with the square of the depth.
    """
    if source.count("<") <= _MOST_NESTED:
        return source
    stack: list[str] = []
    count: Counter[str] = Counter()
    parts: list[str] = []
    at = 0
    for match in _NESTING.finditer(source):
        name = (match[3] or "").lower()
        if not name or name in _NOT_NESTED:
            continue
        if any(count[foreign] for foreign in _FOREIGN) and _FOREIGN_END.match(source, match.end()):
            continue
        if not match[2]:
            stack.append(name)
            count[name] += 1
        if len(stack) > _MOST_NESTED:
            parts += (source[at : match.start(3)], "br" if name in _BLOCKS else "wbr")
            at = match.end()
        if match[2] and count[name]:
            while stack:
                ended = stack.pop()
                count[ended] -= 1
                if ended == name:
                    break
    return "".join((*parts, source[at:])) if parts else source


def titled(page: HtmlPage) -> list[Block]:
    """Return the page's blocks, with its title first if they do not contain it."""
    title = page.metadata.get("title", "")
    shown = any(title in block.text for block in page.blocks[:20] if not isinstance(block, Table))
    return page.blocks if not title or shown else [Paragraph(title, "title"), *page.blocks]


def _main(body: LexborNode) -> tuple[LexborNode, int, int]:
    """Return the element with the main text of a page, and two numbers of words that are left out with the rest.

    The element is marked as main text and has a large part of all text. If there is none, it is the whole body. The
    first number counts words of the page's text, the second one words of elements that frame a page, such as
    navigation. An article beside other text is not the main text.
    """
    for selector in ("main", "[role=main]", "article"):
        nodes = body.css(selector)
        if len(nodes) == 1 and len(nodes[0].text()) > _MAIN * len(body.text()):
            left_words, framing = _words_beside(body, nodes[0])
            if selector == "article" and left_words > _BESIDE * len(nodes[0].text().split()):
                break
            return nodes[0], left_words, framing
    return body, 0, 0


def _words_beside(body: LexborNode, main: LexborNode) -> tuple[int, int]:
    """Return the number of words outside the main text, and of words in elements that frame a page."""
    count, framing, waiting = 0, 0, [body]
    while waiting:
        for child in waiting.pop().iter(include_text=True):
            if child.tag == "-text":
                count += len((child.text_content or "").split())
            elif child.mem_id != main.mem_id and _frames_page(child):
                framing += _framing_words(child)
            elif child.mem_id != main.mem_id:
                waiting.append(child)
    return count, framing


def _frames_page(node: LexborNode) -> bool:
    return node.tag in _FRAMING or node.attributes.get("role") in _ROLES


def _framing_words(node: LexborNode) -> int:
    """Return the number of words of running text in an element that frames a page, 0 for navigation and scripts."""
    role = node.attributes.get("role")
    if (node.tag not in _SITE and role not in _ROLES) or node.tag in ("nav", "button") or role == "navigation":
        return 0
    return _running_words(node)


def _running_words(node: LexborNode) -> int:
    """Return the number of words of an element outside links, buttons, fields and other navigation."""
    words, outer = len(node.text(deep=True, separator=" ").split()), list[LexborNode]()
    for part in node.css(_NAVIGATION):
        if not outer or not _is_inside(part, outer[-1]):
            outer.append(part)
            words -= len(part.text(deep=True, separator=" ").split())
    return max(0, words)


def _is_inside(node: LexborNode | None, outer: LexborNode) -> bool:
    while node is not None and node.mem_id != outer.mem_id:
        node = node.parent
    return node is not None


def _length(block: Block) -> int:
    """Return the number of words of a block."""
    return (
        sum(len(cell.split()) for row in block.rows for cell in row)
        if isinstance(block, Table)
        else len(block.text.split())
    )


class _Writer:
    def __init__(self, page: HtmlPage, place: str, whole: bool, image: Callable[[str], str], styles: Styles) -> None:
        self._page, self._before, self._whole, self._image, self._styles = page, place, whole, image, styles
        self._images: list[str] = []  # images in the current block, which follow it
        self._words: list[str] = []
        self._readings: list[str] = []  # ruby readings in the current block
        self._rubies = 0  # open ruby elements
        self.unseen = 0  # hidden elements that contain words
        self.framing = 0  # words of elements that frame the page
        self.framed = False  # whether frames are not read
        self.scripts = True  # whether the text shown without scripts is not read
        self._kind: tuple[str, int, str] = ("p", 0, "")  # the current block: tag, depth, mark
        self._counters = Counters()
        self._number = ""  # the number that a style inserts before the next element

    def _place(self) -> str:
        return f"{self._before}paragraph {len(self._page.blocks) + 1}"

    def end(self) -> None:
        """End the current block, and add it with the words and pictures gathered so far."""
        text = with_readings("".join(self._words), self._readings)
        self._words.clear()
        self._readings.clear()
        self._say(text)
        for name in self._images:
            self._page.blocks.append(Picture("", self._place(), name))
        self._images.clear()

    def _say(self, text: str) -> None:
        text = "\n".join(filter(None, (" ".join(line.split()) for line in text.split("\n"))))
        if not text:
            return
        tag, depth, mark = self._kind
        if tag[0] == "h":
            self._page.blocks.append(Heading(int(tag[1]), text.replace("\n", " "), place=self._place()))
        elif tag == "li":
            self._page.blocks.append(Item(text, mark, depth, self._place()))
            self._kind = ("li", depth, " " * len(mark))
        else:
            self._page.blocks.append(Paragraph(text, self._place()))

    def put(self, page: HtmlPage) -> None:
        """Insert the blocks of a page that is embedded in this page."""
        self.end()
        self._page.blocks += (replace(block, place=self._place()) for block in page.blocks)

    def walk(self, node: LexborNode, deep: int, lists: _Lists = (), article: bool = False) -> None:
        children = node.iter(include_text=True)
        if laid_out := lays_out(style_of_node := self._styles.of(node)):
            children = iter(in_order(list(children), style_of_node, self._styles))
        opened: list[str] = []  # counters
        for child in children:
            tag = child.tag
            if self._styles.numbers and tag != "-text":
                self._number = self._counted(child, opened)
                if self._number and tag not in _BLOCKS and tag not in _HIDDEN:
                    self._words.append(f"{self._number} ")
            if laid_out:
                self._words.append(" ")
            style = "" if tag == "-text" else child.attributes.get("style") or ""
            sides = {match[1].lower() for match in _BREAK.finditer(style)} if "break-" in style else ()
            if "before" in sides:
                self._break()
            self._walk_one(child, tag, deep, lists, article)
            if "after" in sides:
                self._break()
        self._counters.close(opened)

    def enter(self, node: LexborNode) -> None:
        """Count the counters that an element and those around it open."""
        above: list[LexborNode] = []
        inside: LexborNode | None = node
        while inside is not None:
            above.append(inside)
            inside = inside.parent
        for element in reversed(above):
            self._counters.count(self._styles.of(element), [])

    def _counted(self, node: LexborNode, opened: list[str]) -> str:
        """Return the number that a style inserts before an element, "" for none."""
        style, before = self._styles.of(node), self._styles.before(node)
        if hidden(style):
            return ""
        self._counters.count(style, opened)
        self._counters.count(before, opened)
        content = before.get("content", "")
        return self._counters.text(content).strip() if "counter" in content else ""

    def _break(self) -> None:
        self.end()
        self._page.breaks.append(len(self._page.blocks))

    def _walk_one(self, child: LexborNode, tag: str | None, deep: int, lists: _Lists, article: bool) -> None:
        if tag == "-text":
            self._words.append(" ".join((child.text_content or "").split("\n")))
        elif tag == "br":
            self._words.append("\n")
        elif tag == "img" or tag == "image":
            self._picture(child)
        elif "mw-editsection" in (child.attributes.get("class") or ""):  # the link to edit a section of a wiki
            return
        elif tag == "a" and is_permalink(child, self._kind[0][0] == "h"):
            self._note_id(child)
        elif tag == "a" and (mark := note_mark(child)):
            self._note_id(child)
            self._words.append(mark)
        elif tag == "script" and (child.attributes.get("type") or "").lower().startswith(_FORMULAS):
            self._words.append(f" ${child.text(deep=True).strip()}$ ")
        elif self._left_out(child, tag, style := self._styles.of(child), article):
            return
        elif tag == "svg" and not self._whole:
            self._words.append(f" {words_of_drawing(child)} ")
        elif tag == "iframe":
            self.put(parse_html(child.attributes["srcdoc"] or "", whole=True, image=self._image, framed=True))
        elif tag == "q":
            self._words.append("“")
            self.walk(child, deep + 1, lists, article)
            self._words.append("”")
        elif tag in _INLINE or (style and tag not in _BLOCKS and form(style)):
            self._inline(child, tag if tag in _INLINE else form(style), deep, lists, article)
        elif deep > _DEEPEST:
            self._words.append(child.text(deep=True, separator=" "))
        elif tag in _BLOCKS or child.attributes.get("role") == "heading":
            self._block(child, tag or "", style, deep, lists, article)
        else:
            self._note_id(child)
            apart = gap(style) or (" " if child.attributes.get("role") in _CELLS else "")
            if "-" in (tag or ""):
                self._picture(child)
                apart = apart or (" " if child.prev is not None and "-" in (child.prev.tag or "-text")[1:] else "")
            self._words.append(apart)
            self.walk(child, deep + 1, lists, article)
            self._words.append(apart)

    def _left_out(self, node: LexborNode, tag: str | None, style: Style, article: bool) -> bool:
        if tag in _HIDDEN and not self._holds_text(node, tag, article):
            self.framing += _framing_words(node)
            return True
        if tag in ("div", "section") and not (article or self._whole) and asks_for_cookies(node):
            self.framing += _running_words(node)
            return True
        if (node.attributes.get("hidden", "until-found") or "") != "until-found" or hidden(style):
            self.unseen += bool(node.text(deep=True).strip())
            return True
        if tag in _FURNITURE:
            left_out = not (article or self._whole or _titles(node))
            self.framing += _framing_words(node) if left_out else 0
            return left_out
        return node.attributes.get("aria-hidden") == "true" and tag not in _BLOCKS and tag != "math"

    def _holds_text(self, node: LexborNode, tag: str, article: bool) -> bool:
        """Return whether an element that may be navigation, such as an aside, contains text of the page."""
        if tag == "noscript":
            return not self.scripts or shows_picture(node)
        if tag == "aside":
            return self._whole or article or is_remark(node)
        if tag == "button":
            return self._kind[0][0] == "h" or opens_text(node)
        return tag in ("svg", "object") or (tag, True) in (
            ("dialog", "open" in node.attributes),
            ("iframe", bool(node.attributes.get("srcdoc")) and not self.framed),
        )  # fmt: skip

    def _inline(self, node: LexborNode, tag: str, deep: int, lists: _Lists, article: bool) -> None:
        """Read an inline element that has a meaning for its text, such as superscript."""
        if tag in ("input", "select", "textarea"):
            self._words.append(field_text(node, tag))
            return
        if tag == "math":
            self._words.append(formula(node))
            return
        if tag == "rt" and self._rubies:
            return
        self._rubies += tag == "ruby"
        before, readings = len(self._words), len(self._readings)
        self._note_id(node)
        self.walk(node, deep + 1, lists, article)
        text = "".join(self._words[before:])
        self._rubies -= tag == "ruby"
        if tag == "ruby":
            reading = " ".join(" ".join(rt.text(deep=True, separator=" ").split()) for rt in node.css("rt"))
            self._readings[readings:] = [f"{''.join(text.split())} {reading}".strip()] if reading else []
        elif tag == "rt" or not text.strip():  # it is not a reading of any text, or it contained blocks
            return
        else:
            core, written = text.strip(), text.strip()
            if tag in _STRUCK:
                written = f"~~{core}~~"
            elif not text[0].isspace() and (node.css_first("a") is not None or self._marks_note(node, before)):
                written = core if core.startswith(("[", "(")) else f"[{core}]"
            elif not text[0].isspace():
                written = shifted(core, 1 if tag == "sup" else -1, self._sign_before(before))
            self._words[before:] = [text.replace(core, written, 1)]

    def _marks_note(self, node: LexborNode, before: int) -> bool:
        """Return whether a raised word is a link and follows another word, as the mark of a note does."""
        link = node.parent
        follows = not self._sign_before(before).isspace()
        return follows and link is not None and link.tag == "a" and bool(link.attributes.get("href"))

    def _sign_before(self, before: int) -> str:
        return next((self._words[at][-1] for at in range(before - 1, -1, -1) if self._words[at]), "")

    def _note_id(self, node: LexborNode) -> None:
        if (name := node.attributes.get("id")) is not None:
            self._page.ids.append((name, len(self._page.blocks)))

    def _block(self, node: LexborNode, tag: str, style: Style, deep: int, lists: _Lists, article: bool) -> None:
        self.end()
        self._note_id(node)
        before, number, self._number = self._kind, self._number, ""
        if tag == "table" and (table := _read_table(node, self._styles)) is not None:
            self.unseen += table[2]
            for caption in node.css("caption"):
                self._page.blocks.append(Paragraph(" ".join(caption.text().split()), self._place()))
            self._page.blocks.append(Table(table[0], place=self._place(), heads=table[1]))
            return
        if tag in _PREFORMATTED:
            text = preformatted(node)
            if text.strip():
                self._page.blocks.append(Code(text, code_language(node), place=self._place()))
            return
        if tag in ("ul", "ol", "menu", "dir"):
            lists = (*lists, open_list(node, tag, numbering(style)))
        elif tag == "li":
            mark = next_mark(node, lists[-1], numbering(style)) if lists else "-"
            self._kind = ("li", max(0, len(lists) - 1), number or mark)
            number = ""
        elif tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self._kind = (tag, 0, "")
        elif node.attributes.get("role") == "heading":
            level = node.attributes.get("aria-level") or "2"
            self._kind = (f"h{level if level in '123456' else 6}", 0, "")
        elif gazette := next(filter(None, map(_GAZETTE.fullmatch, (node.attributes.get("class") or "").split())), None):
            self._kind = ("h3" if gazette["art"] else "h2", 0, "")
        elif not (lists and before[0] == "li"):
            self._kind = ("p", 0, "")
        if number:
            self._words.append(f"{number} ")
        self.walk(node, deep + 1, lists, article or tag in _SECTIONS)
        self.end()
        self._kind = before

    def _picture(self, node: LexborNode) -> None:
        links = filter(None, (node.attributes.get(name) for name in ("src", "data-src", "xlink:href", "href")))
        if name := next(filter(None, map(self._image, links)), ""):
            self._images.append(name)
        alt = " ".join((node.attributes.get("alt") or "").split())[:_LONGEST_ALT]
        if alt and self._kind[0][0] != "h" and not "".join(self._words).strip():
            self._page.blocks.append(Picture(alt, self._place()))
        elif alt:
            self._words.append(f" {alt} ")


_PARTS = {"thead": 0, "tfoot": 2}  # order in which the parts of a table are displayed


def _read_table(node: LexborNode, styles: Styles) -> tuple[tuple[tuple[str, ...], ...], int, int] | None:
    """Return (rows, heading rows, hidden rows and cells) of a table. Merged cells are repeated.

    Return None for a table that only arranges the page: it contains tables, or has one column.
    """
    nested = any(table.mem_id != node.mem_id for table in node.css("table"))
    if nested or node.css_first("h1, h2, h3") is not None:
        return None
    rows: list[tuple[str, ...]] = []
    below: dict[int, tuple[int, str]] = {}  # by column: number of rows that a cell above still spans, and its text
    unseen = 0
    shown = sorted(node.css("tr"), key=lambda row: _PARTS.get((row.parent and row.parent.tag) or "", 1))
    group: int | None = None
    for row in shown:
        cells: list[str] = []
        if row.parent is not None and row.parent.mem_id != group:  # no cell spans rows of two groups
            group = row.parent.mem_id
            below.clear()
        if _is_hidden(row, styles):
            unseen += 1
            continue
        for cell in row.css("td, th"):
            if _is_hidden(cell, styles):
                unseen += 1
                continue
            while len(cells) in below:
                _reach(below, cells)
            text = _cell(cell, styles)
            across, down = cell_span(cell, "colspan"), cell_span(cell, "rowspan")
            for at in range(across):
                if down > 1:
                    below[len(cells)] = (down - 1, text)
                cells.append(text if at == 0 else "")
        while len(cells) in below:
            _reach(below, cells)
        rows.append(tuple(cells))
    if max(map(len, rows), default=0) < 2:
        return None
    heads = len(node.css("thead tr")) or sum(1 for _ in takewhile(_is_head, shown))
    return tuple(rows), max(1, heads), unseen


def _is_hidden(node: LexborNode, styles: Styles) -> bool:
    return bool(("hidden" in node.attributes or hidden(styles.of(node))) and node.text(deep=True).strip())


def _is_head(row: LexborNode) -> bool:
    return row.css_first("th") is not None and row.css_first("td") is None


def _reach(below: dict[int, tuple[int, str]], cells: list[str]) -> None:
    rows, text = below.pop(len(cells))
    if rows > 1:
        below[len(cells)] = (rows - 1, text)
    cells.append(text)


def _cell(cell: LexborNode, styles: Styles) -> str:
    """Return the words of a cell in one line, with superscripts and other marks."""
    page = HtmlPage()
    writer = _Writer(page, "", True, lambda _: "", styles)
    writer.walk(cell, 0)
    writer.end()
    return " ".join(
        f"{block.mark.strip()} {' '.join(block.text.split())}".strip() if isinstance(block, Item)
        else " ".join(block.text.split()) for block in page.blocks if not isinstance(block, Table)
    )  # fmt: skip


def _titles(header: LexborNode) -> bool:
    """Return whether a header element outside all sections is the title block of the page, not a bar of the site."""
    head = header.css_first("h1")
    return head is not None and header.css_first("nav") is None and head.css_first("a, img") is None
