"""Files embedded in a PDF: attachments, the parts of a portfolio, the XML of an electronic invoice."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pymupdf

from hybrid_core.errors import DocumentError, LimitError
from indexers.formats.limits import ParseLimits, out_of_memory
from indexers.formats.members import Member
from indexers.formats.pdf.read import open_pdf

_REFERENCE = re.compile(r"(\d+) \d+ R")
_NAMES = ("UF", "F", "DOS", "Unix", "Mac")  # keys of a file specification, best first


def pdf_members(path: Path, limits: ParseLimits) -> Iterator[Member]:
    """The embedded files in the order of the file. Raises as ``open_pdf``."""
    document = open_pdf(path, None, limits)
    try:
        streams: set[int] = set()
        names: set[str] = set()
        for xref in range(1, document.xref_length()):
            for name, stream in _specifications(document, xref):
                if stream not in streams:
                    streams.add(stream)
                    names.add(name)
                    yield Member(_readable(name), partial(_content, document, stream))
        for key in document.embfile_names():  # file specifications may stand within the tree of names
            info = document.embfile_info(key)
            name = info["ufilename"] or info["filename"] or key
            if name not in names:
                yield Member(_readable(name), partial(_by_name, document, key))
    finally:
        document.close()


def _readable(name: str) -> str:
    """A name under which a file is read: the XML of an electronic invoice (ZUGFeRD, Factur-X) is read as text."""
    return f"{name}.txt" if name.lower().endswith(".xml") else name


def _specifications(document: pymupdf.Document, xref: int) -> Iterator[tuple[str, int]]:
    """The name and the stream of an object that is a file specification, or an attachment on a page with one in it."""
    for inside in ("", "FS/"):
        try:
            kind, _ = document.xref_get_key(xref, f"{inside}EF")
            if kind not in ("dict", "xref"):
                continue
            texts = (document.xref_get_key(xref, f"{inside}{key}") for key in _NAMES)
            name = next((text for kind, text in texts if kind == "string" and text.strip()), f"attachment {xref}")
            values = (document.xref_get_key(xref, f"{inside}EF/{key}")[1] for key in _NAMES)
            reference = next((match for value in values if (match := _REFERENCE.fullmatch(value))), None)
        except Exception:  # noqa: BLE001 - a damaged object must not cost the others
            continue
        if reference is not None:
            yield name, int(reference[1])


def _content(document: pymupdf.Document, stream: int) -> Iterator[bytes]:
    yield from _pieces(lambda: document.xref_stream(stream))


def _by_name(document: pymupdf.Document, name: str) -> Iterator[bytes]:
    yield from _pieces(lambda: document.embfile_get(name))


def _pieces(read: Callable[[], bytes | None]) -> Iterator[bytes]:
    try:
        data = read()
    except Exception as error:
        if out_of_memory(error):
            raise LimitError(
                "it needs more memory than a worker may use.", "Raise the setting max_worker_memory."
            ) from error
        raise DocumentError(f"damaged, it cannot be taken out ({error}).") from error
    yield data or b""
