"""Bookmarks that the API would refuse to write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path


def raw_pdf(texts: Sequence[str], outline: Iterable[str] = ()) -> bytes:
    """A PDF written object by object.

    Objects 1 to 3 are catalog, page tree and font; text i (from 0) is page object 4 + 2i. The outline's
    objects follow, its root first: see ``_outline_object``.
    """
    kids = [4 + 2 * i for i in range(len(texts))]
    first = _outline_object(len(texts))
    entries = list(outline)
    objects = [
        "<< /Type /Catalog /Pages 2 0 R" + (f" /Outlines {first} 0 R" if entries else "") + " >>",
        f"<< /Type /Pages /Kids [{' '.join(f'{kid} 0 R' for kid in kids)}] /Count {len(kids)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for kid, text in zip(kids, texts, strict=True):
        stream = f"BT /F1 12 Tf 72 740 Td ({text}) Tj ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {kid + 1} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out = bytearray(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate([*objects, *entries], start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    start = len(out)
    out += f"xref\n0 {len(offsets) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += f"trailer\n<< /Size {len(offsets) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    return bytes(out)


def _outline_object(pages: int) -> int:
    return 4 + 2 * pages


def cyclic_bookmarks(path: Path) -> Path:
    """Three pages; the second bookmark's next is the first, and its child is its own parent."""
    root = _outline_object(3)
    a, b = root + 1, root + 2
    outline = [
        f"<< /Type /Outlines /First {a} 0 R /Last {b} 0 R /Count 2 >>",
        f"<< /Title (Alpha) /Parent {root} 0 R /Next {b} 0 R /Prev {b} 0 R /Dest [4 0 R /Fit] >>",
        f"<< /Title (Beta) /Parent {root} 0 R /Next {a} 0 R /Prev {a} 0 R"
        f" /First {b} 0 R /Last {a} 0 R /Count 1 /Dest [6 0 R /Fit] >>",
    ]
    path.write_bytes(raw_pdf(["Alpha page", "Beta page", "Gamma page"], outline))
    return path


def outside_bookmarks(path: Path) -> Path:
    """Three pages; the bookmark "Beta" is right (page 2), the others lead to no page of this file."""
    return _with_targets(path, {
        "Not a page": "/Dest [3 0 R /Fit]",
        "Beta": "/Dest [6 0 R /Fit]",
        "Missing object": "/Dest [4711 0 R /Fit]",
        "Nowhere": "",
        "Elsewhere": "/A << /S /URI /URI (nothing:here) >>",
    })  # fmt: skip


def far_bookmarks(path: Path) -> Path:
    """Three pages; one bookmark names page 100, another page -4: MuPDF then refuses the whole outline."""
    return _with_targets(path, {
        "Far away": "/Dest [99 /Fit]",
        "Beta": "/Dest [6 0 R /Fit]",
        "Negative": "/Dest [-5 /Fit]",
    })  # fmt: skip


def _with_targets(path: Path, targets: Mapping[str, str]) -> Path:
    root, count = _outline_object(3), len(targets)
    outline = [f"<< /Type /Outlines /First {root + 1} 0 R /Last {root + count} 0 R /Count {count} >>"]
    for i, (title, target) in enumerate(targets.items(), start=1):
        outline.append(f"<< /Title ({title}) /Parent {root} 0 R{_neighbours(root, i, count)} {target} >>")
    path.write_bytes(raw_pdf(["Alpha page", "Beta page", "Gamma page"], outline))
    return path


def _neighbours(root: int, i: int, count: int) -> str:
    previous = f" /Prev {root + i - 1} 0 R" if i > 1 else ""
    return previous + (f" /Next {root + i + 1} 0 R" if i < count else "")


def many_bookmarks(path: Path, count: int = 10_000, pages: int = 50) -> Path:
    """``count`` bookmarks on one level, "Entry 1" on, spread in order over ``pages`` pages."""
    root = _outline_object(pages)
    outline = [f"<< /Type /Outlines /First {root + 1} 0 R /Last {root + count} 0 R /Count {count} >>"]
    for i in range(1, count + 1):
        page = 4 + 2 * ((i - 1) * pages // count)
        target = f"/Dest [{page} 0 R /Fit]"
        outline.append(f"<< /Title (Entry {i}) /Parent {root} 0 R{_neighbours(root, i, count)} {target} >>")
    path.write_bytes(raw_pdf([f"Index page {n}" for n in range(1, pages + 1)], outline))
    return path
