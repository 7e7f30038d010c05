"""The parts of a message: files, texts, and pictures that the texts show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import Any, NamedTuple

from hybrid_core.errors import DocumentError
from indexers.formats.decode import decode
from indexers.formats.defects import plain_reason
from indexers.formats.flow.pictures import picture_of_kind

_DEEPEST = 50
_TNEF = frozenset(("application/ms-tnef", "application/vnd.ms-tnef"))


def leaves(message: Any, deep: int = 0) -> Iterator[Any]:
    """The parts of a message that hold no others, in order."""
    held = message.get_payload() if message.is_multipart() else None
    if not isinstance(held, list):
        yield message
    elif deep < _DEEPEST:
        for part in held:
            yield from leaves(part, deep + 1)


def is_shown(part: Any) -> bool:
    """Whether a part is a picture that a text of the message shows."""
    disposition, kind = part.get_content_disposition(), part.get_content_maintype()
    return bool(part["content-id"]) and disposition != "attachment" and kind == "image"


class ShownPictures:
    """Those of a file's messages that may show words, by names of our own: «2/5» is part 5 of message 2."""

    def __init__(self, message: Callable[[int], EmailMessage]) -> None:
        """``message`` reads one by its number, also when the file is closed."""
        self._message = message
        self._read: tuple[int, list[Any]] = (0, [])  # the message that was asked for last, and its parts

    def of(self, number: int, message: EmailMessage) -> dict[int, str]:
        """Their names by the identity of their parts, also of messages inside a message."""
        return {
            id(part): f"{number}/{at}"
            for at, part in enumerate(leaves(message))
            if is_shown(part) and picture_of_kind(part.get_content_type(), len(str(part.get_payload())) * 3 // 4)
        }

    def read(self, name: str) -> bytes:
        number, at = map(int, name.split("/"))
        if self._read[0] != number:
            self._read = number, list(leaves(self._message(number)))
        if at >= len(self._read[1]):
            raise DocumentError("a picture in it is gone")
        return content(self._read[1][at])


def content(part: Any) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else str(part.get_payload()).encode("utf-8", "replace")


def content_id(part: Any) -> str:
    """What a text calls a part by: ``cid:`` and this."""
    return str(safe(lambda: part["content-id"]) or "").strip().strip("<>")


def safe(get: Any) -> Any:
    """A header's value; the standard library raises many types for damaged ones."""
    try:
        return get()
    except Exception:  # noqa: BLE001
        return None


def part_text(part: Any) -> tuple[str, list[str]]:
    """Return the text of a part by its label, and warnings; a part of binary data has none."""
    label = str(safe(lambda: part.get_param("charset")) or "")
    try:
        text, warnings = decode(content(part), Path(), label)
    except DocumentError:
        return "", ["a part of it that is called a text holds binary data and was left out"]
    return text.replace("\r\n", "\n").replace("\r", "\n"), warnings


class OutlookContent(NamedTuple):
    """What a ``winmail.dat`` (TNEF) holds: the text of the mail, or its HTML, and the files attached to it."""

    text: str
    html: str
    files: tuple[tuple[str, bytes], ...]
    warnings: tuple[str, ...] = ()


def outlook_content(part: Any) -> OutlookContent | None:
    """Return the content of a part that Outlook packed as TNEF; None for any other part."""
    name = str(safe(part.get_filename) or "").lower()
    if not (part.get_content_type() in _TNEF or name == "winmail.dat"):
        return None
    from tnefparse import TNEF

    try:
        packed = TNEF(content(part), do_checksum=False)
        page = str(packed.codepage or "")
        text, html = (_packed_text(getattr(packed, field, None), page) for field in ("body", "htmlbody"))
        if not text.strip() and not html.strip():
            text = rtf_text(safe(lambda: packed.rtfbody) or b"")
        files = tuple((str(file.long_filename() or file.name), bytes(file.data or b"")) for file in packed.attachments)
    except Exception as error:  # noqa: BLE001 - tnefparse raises many types for damaged files
        reason = plain_reason(error, "winmail.dat")
        return OutlookContent("", "", (), (f"what Outlook packed in winmail.dat cannot be read ({reason})",))
    empty = not (text.strip() or html.strip() or files)
    return OutlookContent(text, html, files, ("winmail.dat in it is empty or damaged",) if empty else ())


def rtf_text(data: bytes) -> str:
    """Return the text of RTF, "" where there is none."""
    from striprtf.striprtf import rtf_to_text

    return str(safe(lambda: rtf_to_text(data.decode("latin-1"), errors="replace")) or "")


def _packed_text(value: Any, page: str) -> str:
    if isinstance(value, bytes):
        value = safe(lambda: decode(value.rstrip(b"\0"), Path(), page)[0])
    return str(value or "").rstrip("\0")
