"""Compare detected headings with a file's own outline: DOCX styles, ODT `text:h`, and EPUB navigation.

    python -m benchmarks outlines_of_formats FOLDER [--json]

Separate code in this file reads the outlines, so that the readers under test are not compared with themselves. A title
counts as found if a heading equals it, ignoring numbers and punctuation. Headings that are missing from the file's
outline do not count as errors.
"""

from __future__ import annotations

import argparse
import json
import posixpath
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from hybrid_core.errors import PageIndexError
from indexers.formats.limits import ParseLimits
from indexers.formats.registry import format_of, open_file

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"


def plain(title: str) -> str:
    return "".join(character for character in title.casefold() if character.isalpha())


def docx(package: zipfile.ZipFile) -> Iterator[str]:
    """Yield the paragraphs with an outline level, which their style or its base style defines."""
    styles = {style.get(f"{_W}styleId"): style for style in _root(package, "word/styles.xml").iter(f"{_W}style")}

    def level(name: str | None) -> int:
        for _ in range(20):
            style = styles.get(name)
            if style is None:
                break
            if (outline_level := style.find(f"{_W}pPr/{_W}outlineLvl")) is not None:
                return int(outline_level.get(f"{_W}val") or 9)
            base = style.find(f"{_W}basedOn")
            name = None if base is None else base.get(f"{_W}val")
        return 9

    for paragraph in _root(package, "word/document.xml").iterfind(f"{_W}body/{_W}p"):
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        if style is not None and level(style.get(f"{_W}val")) < 9:
            yield "".join(text.text or "" for text in paragraph.iterfind(f"{_W}r/{_W}t"))


def odt(package: zipfile.ZipFile) -> Iterator[str]:
    for heading in _root(package, "content.xml").iter(f"{_TEXT}h"):
        for remark in list(heading.iter("{urn:oasis:names:tc:opendocument:xmlns:office:1.0}annotation")):
            etree.strip_elements(heading, remark.tag, with_tail=False)
        if not any(heading.iterancestors(f"{_TEXT}tracked-changes")):
            yield "".join(map(str, heading.itertext()))


def epub(package: zipfile.ZipFile) -> Iterator[str]:
    """Yield the titles in the table of contents: of EPUB 3, or of the NCX file if there is none."""
    opf = next(str(item.get("full-path")) for item in _local(_root(package, "META-INF/container.xml"), "rootfile"))
    items = list(_local(_root(package, opf), "item"))
    nav = next((item for item in items if "nav" in (item.get("properties") or "").split()), None)
    ncx = next((item for item in items if item.get("media-type") == "application/x-dtbncx+xml"), None)
    if nav is not None:
        root = _root(package, _sibling_path(opf, nav))
        toc = [item for item in _local(root, "nav") if "toc" in str([*item.attrib.values()])] or [root]
        for link in _local(toc[0], "a"):
            yield "".join(map(str, link.itertext()))
    elif ncx is not None:
        for point in _local(_root(package, _sibling_path(opf, ncx)), "navLabel"):
            yield "".join(map(str, point.itertext()))


def _sibling_path(opf: str, item: etree._Element) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(opf), unquote(item.get("href") or "")))


def _local(root: etree._Element, name: str) -> Iterator[etree._Element]:
    return (
        element for element in root.iter() if isinstance(element.tag, str) and etree.QName(element).localname == name
    )


def _root(package: zipfile.ZipFile, name: str) -> etree._Element:
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    root = etree.fromstring(package.read(name), parser)
    if root is None:
        raise ValueError(f"{name} is no XML")
    return root


_OUTLINES: dict[str, Callable[[zipfile.ZipFile], Iterator[str]]] = {"docx": docx, "odt": odt, "epub": epub}


def compare(path: Path, format: str) -> tuple[list[str], list[str]] | None:
    """Return the titles of a file's outline that were found, and those that were not. Return None if there is no
    outline.
    """
    try:
        with zipfile.ZipFile(path) as package:
            outline = [title for title in _OUTLINES[format](package) if plain(title)]
    except (zipfile.BadZipFile, KeyError, StopIteration, etree.XMLSyntaxError, ValueError, OSError, RuntimeError):
        return None
    try:
        file = open_file(path, None, ParseLimits())
        for _ in file.read(range(1, file.pages + 1), lambda _: None):
            pass
        titles = {plain(heading.title) for heading in file.info().headings or ()}
        file.close()
    except PageIndexError:
        return None
    hit = [title for title in outline if any(plain(title) in title_found for title_found in titles)]
    return hit, [title for title in outline if title not in hit]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    figures: dict[str, dict[str, int]] = defaultdict(lambda: {"files": 0, "titles": 0, "found": 0})
    missed: dict[str, list[str]] = {}
    for path in sorted(options.folder.rglob("*")):
        if not path.is_file() or path.suffix.lower() not in (".docx", ".odt", ".epub"):
            continue
        format = format_of(path).name
        if format not in _OUTLINES or (counts := compare(path, format)) is None or not (counts[0] or counts[1]):
            continue
        row = figures[format]
        row["files"] += 1
        row["titles"] += len(counts[0]) + len(counts[1])
        row["found"] += len(counts[0])
        if counts[1]:
            missed[str(path)] = [title.strip()[:60] for title in counts[1][:5]]
    if options.json:
        print(json.dumps({"formats": figures, "missed": missed}, ensure_ascii=False))
        return 0
    for format, row in sorted(figures.items()):
        print(f"{format:6}{row['files']:5} files{row['titles']:7} titles   found {row['found'] / row['titles']:.3f}")
    for name, titles in missed.items():
        print("  ", name, titles)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
