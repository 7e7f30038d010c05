"""EPUB books as blocks, with one part for each file of the spine (reading order).

Headings come from the book's own table of contents. If the book has a page list of a printed edition, pages are named
by it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from hybrid_core.errors import BrokenFileError, DocumentError, PasswordError
from hybrid_core.types.locators import book_place, cfi_assertion
from hybrid_core.types.notes import Note
from indexers.formats.flow.blocks import Block, Flow, Heading, Paragraph, Part, Picture
from indexers.formats.flow.safety import Package, line_of, words_of
from indexers.formats.limits import ParseLimits
from indexers.formats.pictures import packed_pictures, picture_in
from indexers.formats.web.book_places import placed
from indexers.formats.web.html import html_text, parse_html

_CONTAINER = "META-INF/container.xml"
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")  # obfuscated fonts
_TEXT = frozenset(("application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document"))
_LARGEST_SHEET = 1_000_000  # bytes
_MOST_ENTRIES = 20_000
_SAME = 40  # characters that a heading and an entry of the contents must share


@dataclass(frozen=True, slots=True)
class _Entry:
    title: str
    level: int
    name: str
    id: str


@dataclass(frozen=True, slots=True)
class _File:
    """A file of the book. ``step`` is the beginning of the CFIs (EPUB positions) of its contents."""

    name: str
    kind: str
    step: str


def read_epub(path: Path, limits: ParseLimits) -> Flow:
    """Read a book. Raise PasswordError if it is protected, DocumentError if it is too damaged."""
    package = Package(path, limits)
    name = _book(package, path)
    root = package.xml(name)
    items = {item.get("id", ""): item for item in root.iter("{*}item")}
    files = list(_spine(root, name, items))
    _refuse_protected(package, path, {file.name for file in files})
    warnings = package.warnings
    try:
        contents, printed = _navigation(package, name, items, root)
    except DocumentError as error:
        contents, printed = [], []
        warnings.append(error.without_file)
    marks: dict[str, str] = {}
    return Flow(
        _book_parts(package, path, files, contents, printed, marks, warnings), _metadata(root), warnings, marks,
        close=package.close, images=packed_pictures(path, limits),
    )  # fmt: skip


def _spine(root: etree._Element, book: str, items: dict[str, etree._Element]) -> Iterator[_File]:
    """Yield the files of a book in reading order: those of its spine, or all texts if the spine names no existing
    file.
    """
    is_named = False
    for at, spine in enumerate(root.iterchildren("*"), 1):
        if etree.QName(spine).localname == "spine":
            above = f"/{2 * at}{cfi_assertion(spine.get('id', ''))}"
            for number, reference in enumerate(spine.iterchildren("*"), 1):
                if (item := _readable(items, reference.get("idref", ""))) is not None:
                    is_named = True
                    step = f"{above}/{2 * number}{cfi_assertion(reference.get('id', ''))}"
                    yield _File(_resolve_reference(book, item.get("href", "")), item.get("media-type", ""), step)
    for item in items.values() if not is_named else ():
        if item.get("media-type", "") in _TEXT and "nav" not in (item.get("properties") or "").split():
            yield _File(_resolve_reference(book, item.get("href", "")), item.get("media-type", ""), "/6")


def _readable(items: dict[str, etree._Element], id: str) -> etree._Element | None:
    """Return a file of the book that can be read as text, or the fallback that the book names for it."""
    first = item = items.get(id)
    seen = set[str]()
    while item is not None and item.get("media-type", "") not in _TEXT and id not in seen:
        seen.add(id)
        id = item.get("fallback") or ""
        item = items.get(id)
    return first if item is None else item


def _pictured(package: Package, name: str, link: str) -> str:
    """Return the name of the picture to which a link in a file refers; "" if it is no picture that may show words."""
    return "" if ":" in link else picture_in(package, _resolve_reference(name, link))


def _book(package: Package, path: Path) -> str:
    """Return the name of the package document, which lists the book's files."""
    if _CONTAINER in package:
        for rootfile in package.xml(_CONTAINER).iter("{*}rootfile"):
            if (name := unquote(rootfile.get("full-path", ""))) in package:
                return name
    for name in package.names:
        if name.endswith(".opf"):
            return name
    raise BrokenFileError("the file is damaged: no file in it lists the book's chapters.", file=path)


def _refuse_protected(package: Package, path: Path, texts: set[str]) -> None:
    if "META-INF/encryption.xml" not in package:
        return
    for data in package.xml("META-INF/encryption.xml").iter("{*}EncryptedData"):
        method = next((element.get("Algorithm", "") for element in data.iter("{*}EncryptionMethod")), "")
        named = {unquote(element.get("URI", "")) for element in data.iter("{*}CipherReference")}
        if method not in _FONTS and named & texts:
            raise PasswordError("the book is protected against copying (DRM), so it cannot be read.", "", file=path)


def _book_parts(
    package: Package,
    path: Path,
    files: list[_File],
    contents: list[_Entry],
    printed: list[_Entry],
    marks: dict[str, str],
    warnings: list[str],
) -> Iterator[Part]:
    level = unseen = 0  # level of the last entry of the contents before this place; hidden elements
    blocks: list[Block]
    for number, file in enumerate(files, 1):
        name, kind = file.name, file.kind
        if kind not in _TEXT and not name.lower().endswith((".xhtml", ".html", ".htm", ".xml")):
            entries = [(0, entry) for entry in contents if entry.name == name]
            place = book_place(name, "", 0, 0, f"epubcfi({file.step})")
            shown: list[Block] = [Picture(posixpath.basename(name), place, picture_in(package, name))]
            if name.lower().endswith(".svg") and name in package and (drawn := _drawn_words(package, name)):
                shown.append(Paragraph(drawn, place))
            blocks, level = titled(shown, entries, level)
            yield Part(blocks, f"ch. {number}", whole=True)
            continue
        try:
            data = package.read(name)
            page = parse_html(
                html_text(data, path)[0], whole=True, place=f"{name} ", image=partial(_pictured, package, name),
                sheet=partial(_sheet, package, name),
            )  # fmt: skip
            unseen += page.unseen
            page.blocks = placed(page.blocks, data, name, file.step)
        except PasswordError:
            raise
        except DocumentError as error:
            warnings.append(error.without_file)
            continue
        ids = dict(reversed(page.ids))
        entries = [(ids.get(entry.id, 0), entry) for entry in contents if entry.name == name]
        blocks, level = titled(page.blocks, entries, level)
        for entry in printed:
            if entry.name == name and page.blocks:
                at = min(ids.get(entry.id, 0), len(page.blocks) - 1)
                marks[page.blocks[at].place] = f"p. {entry.title}"
        yield Part(blocks, f"ch. {number}")
    if unseen:
        warnings.append(Note("read.hidden-elements", elements=unseen))


def _sheet(package: Package, name: str, link: str) -> str:
    """Return the style sheet to which a file of the book refers, "" if it is missing or damaged."""
    target = _resolve_reference(name, link)
    if target not in package or package.size(target) > _LARGEST_SHEET:
        return ""
    try:
        return package.read(target).decode("utf-8", "replace")
    except DocumentError:
        return ""


def _drawn_words(package: Package, name: str) -> str:
    """Return the words of a drawing; "" if it is damaged."""
    try:
        root = package.xml(name)
    except DocumentError:
        return ""
    lines = (line_of(node) for node in root.iter("{*}text", "{*}desc", "{*}title"))
    return "\n".join(dict.fromkeys(filter(None, lines)))


def titled(blocks: list[Block], entries: list[tuple[int, _Entry]], above: int) -> tuple[list[Block], int]:
    """Return blocks with the entries of the table of contents as headings, and the level of the last entry.

    A heading that matches an entry takes the entry's level; other headings go below the entry before them.
    """
    named: dict[int, list[_Entry]] = {}
    titles: dict[int, _Entry] = {}
    for at, entry in entries:
        near = next(
            (i for i in range(at, min(at + 6, len(blocks))) if i not in titles and _same(blocks[i], entry)), None
        )
        if near is None:
            named.setdefault(at, []).append(entry)
        else:
            titles[near] = entry
    unchanged: list[Block] = []
    base = 1  # the HTML level of a heading directly below the last entry
    for at, block in enumerate([*blocks, None]):
        for entry in named.get(at, ()):
            unchanged.append(Heading(entry.level, entry.title, place=block.place if block is not None else entry.name))
            above, base = entry.level, 1
        if at in titles and block is not None:
            unchanged.append(Heading(titles[at].level, _title_text(block), place=block.place))
            above = titles[at].level
            base = block.level + 1 if isinstance(block, Heading) else 1
        elif isinstance(block, Heading):
            base = min(base, block.level)
            unchanged.append(Heading(above + 1 + block.level - base, block.text, place=block.place))
        elif block is not None:
            unchanged.append(block)
    return unchanged, above


def _same(block: Block, entry: _Entry) -> bool:
    if not isinstance(block, Heading | Paragraph):
        return False
    title, words = ("".join(c for c in text.casefold() if c.isalnum()) for text in (entry.title, block.text))
    if not title or not words:
        return False
    return title[:_SAME] == words[:_SAME] or (isinstance(block, Heading) and (title in words or words in title))


def _title_text(block: Block) -> str:
    return block.text if isinstance(block, Heading | Paragraph) else ""


def _navigation(
    package: Package, book: str, items: dict[str, etree._Element], root: etree._Element
) -> tuple[list[_Entry], list[_Entry]]:
    """Return the entries of a book's table of contents, and those of its list of printed pages."""
    for item in items.values():
        if "nav" in (item.get("properties") or "").split():
            name = _resolve_reference(book, item.get("href", ""))
            if name in package:
                return _nav(package.xml(name), name)
    for item in items.values():
        if item.get("media-type") == "application/x-dtbncx+xml":
            name = _resolve_reference(book, item.get("href", ""))
            if name in package:
                return _ncx(package.xml(name), name)
    return [], []


def _nav(root: etree._Element, name: str) -> tuple[list[_Entry], list[_Entry]]:
    contents: list[_Entry] = []
    printed: list[_Entry] = []
    for nav in root.iter("{*}nav"):
        kind = next((value for key, value in nav.attrib.items() if str(key).endswith("}type")), "toc")
        into = contents if kind == "toc" else printed if kind == "page-list" else None
        for entry in nav.iter("{*}a", "{*}span") if into is not None else ():
            link = entry if etree.QName(entry).localname == "a" else _first_link(entry)
            if link is None:
                continue
            if into is None or len(into) >= _MOST_ENTRIES:
                break
            depth = sum(1 for _ in entry.iterancestors("{*}ol"))
            file, _, id = link.get("href", "").partition("#")
            title = line_of(entry)
            if title:
                into.append(_Entry(title, max(1, depth), _resolve_reference(name, file) if file else name, unquote(id)))
    return contents, printed


def _first_link(title: etree._Element) -> etree._Element | None:
    """Return the first link in the list below a title that has no link itself. Return None if there is none."""
    item = title.getparent()
    if item is None or etree.QName(item).localname != "li":
        return None
    return next(item.iter("{*}a"), None)


def _ncx(root: etree._Element, name: str) -> tuple[list[_Entry], list[_Entry]]:
    lists: dict[str, list[_Entry]] = {"navPoint": [], "pageTarget": []}
    for tag, into in lists.items():
        for point in root.iter(f"{{*}}{tag}"):
            source = point.find("{*}content")
            label = point.find("{*}navLabel")
            if source is None or label is None or len(into) >= _MOST_ENTRIES:
                continue
            file, _, id = (source.get("src") or "").partition("#")
            depth = 1 + sum(1 for _ in point.iterancestors("{*}navPoint"))
            if title := line_of(label):
                into.append(_Entry(title, depth, _resolve_reference(name, file), unquote(id)))
    return lists["navPoint"], lists["pageTarget"]


def _resolve_reference(name: str, href: str) -> str:
    """Return the name of the file in the package to which a reference in the file ``name`` refers."""
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(name), unquote(href.partition("#")[0]))).lstrip("/")


def _metadata(root: etree._Element) -> dict[str, str]:
    metadata: dict[str, str] = {}
    for tag, key in (("title", "title"), ("creator", "author"), ("date", "date"), ("publisher", "publisher"),
                     ("language", "language"), ("subject", "keywords")):  # fmt: skip
        text = next((words_of(element) for element in root.iter(f"{{http://purl.org/dc/elements/1.1/}}{tag}")), "")
        if text := " ".join(text.split()):
            metadata[key] = text
    return metadata
