"""Repackaging of presentations that strict readers refuse.

It removes dead links, adds missing content types, and uses the usual namespaces.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from xml.sax.saxutils import quoteattr

from lxml import etree

from indexers.formats.flow.safety import Package, read_xml
from indexers.formats.office.ooxml import R, main_part, relations, usual_namespaces

_KINDS = "application/vnd.openxmlformats-officedocument.presentationml."
_TYPES = {
    "officeDocument": f"{_KINDS}presentation.main+xml",
    "chart": "application/vnd.openxmlformats-officedocument.drawingml.chart+xml",
    **{kind: f"{_KINDS}{kind}+xml" for kind in ("slide", "slideLayout", "slideMaster", "notesSlide", "notesMaster")},
}
_IMAGES = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "bmp": "image/bmp",
           "tif": "image/tiff", "tiff": "image/tiff"}  # fmt: skip
_MOST_PARTS = 20_000
_LISTED = "http://schemas.openxmlformats.org/package/2006/relationships"


def repack(package: Package, path: object) -> tuple[bytes, int]:
    """Return the repackaged presentation with all reachable parts, and the number of missing slides."""
    main = main_part(package, path, "ppt/presentation.xml")
    packed, kinds, missing = io.BytesIO(), {main: "officeDocument"}, 0
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("_rels/.rels", _relation_list([("r1", "officeDocument", f"/{main}")]))
        waiting = [main]
        while waiting:
            name = waiting.pop()
            related = {id: (kind, target) for id, (kind, target) in relations(package, name).items()
                       if target in package}  # fmt: skip
            data = package.read(name)
            if name == main:
                data, missing = _known_slides(data, set(related))
            elif b"<" in data[:200]:
                data = usual_namespaces(data)
            file.writestr(name, data)
            folder, _, last = name.rpartition("/")
            rows = [(id, kind, f"/{target}") for id, (kind, target) in related.items()]
            file.writestr(f"{folder}/_rels/{last}.rels", _relation_list(rows))
            for kind, target in related.values():
                if target not in kinds and len(kinds) < _MOST_PARTS:
                    kinds[target] = kind
                    waiting.append(target)
        file.writestr("[Content_Types].xml", "".join(_types(kinds)))
    return packed.getvalue(), missing


def _known_slides(data: bytes, ids: set[str]) -> tuple[bytes, int]:
    """Return the main part without references to missing slides, and the number of these slides."""
    root, _ = read_xml(usual_namespaces(data), "the list of its slides")
    slides = [slide for slide in root.iter("{*}sldId") if slide.get(f"{R}id") not in ids]
    for slide in slides:
        parent = slide.getparent()
        if parent is not None:
            parent.remove(slide)
    return etree.tostring(root), len(slides)


def _relation_list(rows: list[tuple[str, str, str]]) -> str:
    listed = "".join(
        f'<Relationship Id={quoteattr(id)} Type="{R[1:-1]}/{kind}" Target={quoteattr(target)}/>'
        for id, kind, target in rows
    )
    return f'<Relationships xmlns="{_LISTED}">{listed}</Relationships>'


def _types(kinds: dict[str, str]) -> Iterator[str]:
    yield '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    yield '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    for name, kind in kinds.items():
        media = _TYPES.get(kind) or _IMAGES.get(name.rpartition(".")[2].lower(), "application/octet-stream")
        yield f'<Override PartName={quoteattr(f"/{name}")} ContentType="{media}"/>'
    yield "</Types>"
