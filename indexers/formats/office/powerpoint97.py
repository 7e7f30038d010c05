"""PPT without LibreOffice: the texts of each slide and its notes, in the order in which the slides are shown."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from struct import unpack_from
from typing import NamedTuple

from hybrid_core.errors import BrokenFileError, PasswordError
from indexers.formats.flow.blocks import Block, Flow, Heading, Note, Paragraph, Part
from indexers.formats.limits import ParseLimits
from indexers.formats.office.ole_streams import streams

_LIST, _PERSIST, _TEXT_KIND, _CHARACTERS, _BYTES = 4080, 1011, 3999, 4000, 4008
_SLIDE_ATOM, _EDIT, _DIRECTORY = 1007, 4085, 6002
_SLIDES, _NOTES = 0, 2  # which list
_TITLES = (0, 6)  # kinds of text
_ENCRYPTED = 0xF3D1C4DF
_DEEPEST, _MOST_EDITS = 30, 1_000


class _Record(NamedTuple):
    kind: int
    number: int
    data: bytes
    deep: int


def read_powerpoint97(path: Path, limits: ParseLimits) -> Flow:
    """Raises PasswordError where it is encrypted, DocumentError where it cannot be read."""
    stored = streams(path, limits, "PowerPoint Document", "Current User", "EncryptedSummary")
    data, user = stored.get("PowerPoint Document", b""), stored.get("Current User", b"")
    if "EncryptedSummary" in stored or user[12:16] == _ENCRYPTED.to_bytes(4, "little"):
        raise PasswordError(f"{path}: encrypted.", "Save it without a password.")
    try:
        places, document = _directory(data, unpack_from("<I", user, 16)[0])
        lists: dict[int, list[tuple[int, int, list[tuple[int, str]]]]] = {}
        for record in _records(_body(data, places[document]), 0):
            if record.kind == _LIST and record.deep == 0:
                lists[record.number] = list(_listed(record.data))
        notes = {slide: place for place, slide, _ in lists.get(_NOTES, ())}
        parts = [
            Part(list(_slide(data, places, place, outline, notes, number)), f"slide {number}", whole=True)
            for number, (place, _, outline) in enumerate(lists.get(_SLIDES, ()), 1)
        ]
    except (struct.error, KeyError, IndexError, ValueError) as error:
        raise BrokenFileError(f"{path}: damaged, its slides cannot be listed.", "Save it as PPTX.") from error
    return Flow(iter(parts))


def _directory(data: bytes, edit: int) -> tuple[dict[int, int], int]:
    """Return where each object lies after the last of the file's edits, and which of them is the document."""
    places: dict[int, int] = {}
    document = -1
    seen: set[int] = set()
    while edit and edit not in seen and len(seen) < _MOST_EDITS:
        seen.add(edit)
        previous, listed, first = unpack_from("<III", data, edit + 8 + 8)
        document = first if document < 0 else document
        size = unpack_from("<I", data, listed + 4)[0]
        at, end = listed + 8, listed + 8 + size
        while at + 4 <= end:
            entry = unpack_from("<I", data, at)[0]
            count = entry >> 20
            for step, place in enumerate(unpack_from(f"<{count}I", data, at + 4)):
                places.setdefault((entry & 0xFFFFF) + step, place)
            at += 4 + 4 * count
        edit = previous
    return places, document


def _body(data: bytes, place: int) -> bytes:
    size = unpack_from("<I", data, place + 4)[0]
    return data[place + 8 : place + 8 + size]


def _records(data: bytes, deep: int) -> Iterator[_Record]:
    """All records, those inside others after them."""
    at = 0
    while at + 8 <= len(data):
        version, kind, size = unpack_from("<HHI", data, at)
        body = data[at + 8 : at + 8 + size]
        yield _Record(kind, version >> 4, body, deep)
        if version & 0xF == 0xF and deep < _DEEPEST:
            yield from _records(body, deep + 1)
        at += 8 + size


def _listed(data: bytes) -> Iterator[tuple[int, int, list[tuple[int, str]]]]:
    """The object of each slide of a list, its id, and the texts that stand in the list."""
    texts: list[_Record] = []
    current: tuple[int, int] | None = None
    for record in _records(data, 0):
        if record.kind == _PERSIST:
            if current is not None:
                yield *current, list(_texts(texts))
            place, _, _, slide = unpack_from("<IIII", record.data)
            current, texts = (place, slide), []
        else:
            texts.append(record)
    if current is not None:
        yield *current, list(_texts(texts))


def _texts(records: list[_Record]) -> Iterator[tuple[int, str]]:
    kind = 4
    for record in records:
        if record.kind == _TEXT_KIND and len(record.data) >= 4:
            kind = unpack_from("<I", record.data)[0]
        elif record.kind in (_CHARACTERS, _BYTES):
            encoding = "utf-16-le" if record.kind == _CHARACTERS else "latin-1"
            if text := record.data.decode(encoding, "replace").strip("\r\v \0"):
                yield kind, text


def _slide(
    data: bytes, places: dict[int, int], place: int, outline: list[tuple[int, str]], notes: dict[int, int], number: int
) -> Iterator[Block]:
    records = list(_records(_body(data, places[place]), 0)) if place in places else []
    texts = [*outline, *_texts(records)]
    title = next((text for kind, text in texts if kind in _TITLES), "")
    if title:
        yield Heading(1, " ".join(title.split()), place=f"slide {number}")
    for at, (_, text) in enumerate(texts, 1):
        if text != title:
            for line in text.replace("\v", "\n").split("\r"):
                yield Paragraph(line, f"slide {number} text {at}")
    atom = next((record.data for record in records if record.kind == _SLIDE_ATOM), b"")
    note = notes.get(unpack_from("<I", atom, 16)[0], -1) if len(atom) >= 20 else -1
    if note in places:
        for _, text in _texts(list(_records(_body(data, places[note]), 0))):
            if text not in ("*", title):
                yield Note(" ".join(text.split()), "notes", f"slide {number} notes")
