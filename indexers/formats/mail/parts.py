"""Messages of a mailbox, and the parts of a message: files, texts, and pictures in the texts."""

from __future__ import annotations

import binascii
import codecs
import quopri
import re
from collections.abc import Callable, Iterator
from email.header import decode_header, make_header
from email.message import EmailMessage
from pathlib import Path
from typing import Any, NamedTuple

from striprtf.striprtf import rtf_to_text

from hybrid_core.errors import DocumentError
from hybrid_core.types.notes import Note
from indexers.formats.decode import decode
from indexers.formats.limits import plain_reason
from indexers.formats.pictures import picture_of_kind
from indexers.formats.web.html import declared_label

_DEEPEST = 50
_BASE64 = re.compile(  # a line without letters is noise if a long line follows
    r"(?:[ \t]*[A-Za-z0-9+/]+={0,2}[ \t]*(?:\r?\n|\Z)|\s*\n|[^\w+/=\n]*\n(?=[A-Za-z0-9+/]{16,}={0,2}\s*(?:\n|\Z)))+"
)
_PACKING = re.compile(r"\s*([\w-]+)")
_BARE_NAME = re.compile(r"name\s*=\s*((?:=\?[^?\s]{1,40}\?[bq]\?[^?\s]{0,400}\?=\s*)+)", re.I)
_TNEF = frozenset(("application/ms-tnef", "application/vnd.ms-tnef"))


def leaves(message: Any, deep: int = 0) -> Iterator[Any]:
    """Yield the innermost parts of a message in order: those without subparts."""
    payload = message.get_payload() if message.is_multipart() else None
    if not isinstance(payload, list):
        yield message
    elif deep < _DEEPEST:
        for part in payload:
            yield from leaves(part, deep + 1)


def is_shown(part: Any) -> bool:
    """Return whether a part is a picture in a text of the message."""
    disposition, kind = part.get_content_disposition(), part.get_content_maintype()
    return bool(part["content-id"]) and disposition != "attachment" and kind == "image"


class ShownPictures:
    """The pictures in a file's messages that may show words. They have names such as "2/5": part 5 of message 2."""

    def __init__(self, message: Callable[[int], EmailMessage]) -> None:
        """Initialise without reading. ``message`` reads a message by its number, even after the file was closed."""
        self._message = message
        self._read: tuple[int, list[Any]] = (0, [])  # the last message that was read, and its parts

    def of(self, number: int, message: EmailMessage) -> dict[int, str]:
        """Return ``{id(part): name}`` for the parts of a message that are pictures.

        Pictures of nested messages are included.
        """
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
            raise DocumentError("an attached picture is missing")
        return content(self._read[1][at])


def content(part: Any) -> bytes:
    """Return the decoded bytes of a part. Plain text that a mailing list added below a Base64 text is kept."""
    packing = _packing(part)
    if packing:  # without what follows the name, which the library would not understand
        safe(lambda: part.replace_header("content-transfer-encoding", packing))
    payload = part.get_payload() if packing == "base64" else None
    if isinstance(payload, str) and (packed := _BASE64.match(payload)) is not None and payload[packed.end() :].strip():
        rest = payload[packed.end() :].strip().encode("utf-8", "surrogateescape")
        try:
            return binascii.a2b_base64(packed[0]) + b"\n" + (rest if part.get_content_maintype() == "text" else b"")
        except binascii.Error:
            pass
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else str(part.get_payload()).encode("utf-8", "replace")


def _packing(part: Any) -> str:
    """Return the declared transfer encoding of a part, "" if there is none."""
    named = _PACKING.match(str(safe(lambda: part["content-transfer-encoding"]) or ""))
    return named[1].lower() if named is not None else ""


def content_id(part: Any) -> str:
    """Return the content id of a part. ``cid:`` links in a text refer to it."""
    return str(safe(lambda: part["content-id"]) or "").strip().strip("<>")


def safe(get: Any) -> Any:
    """Return the value that ``get`` reads from a header, None if it raises any error.

    For damaged headers the standard library raises exceptions of many types.
    """
    try:
        return get()
    except Exception:  # noqa: BLE001
        return None


def file_name(part: Any) -> str:
    """Return the file name of a part, "" if it has none. An encoded word without quotes is also decoded."""
    if name := safe(part.get_filename):
        return str(name)
    for key, value in part.raw_items():
        if str(key).lower() in ("content-disposition", "content-type") and (bare := _BARE_NAME.search(str(value))):
            return str(safe(lambda bare=bare: str(make_header(decode_header(bare[1])))) or "")
    return ""


def part_text(part: Any) -> tuple[str, list[str]]:
    """Return the text of a part, decoded by its charset, and warnings. A part with binary data has no text."""
    label = str(safe(lambda: part.get_param("charset")) or "")
    data = content(part)
    if not label and part.get_content_subtype() == "html":
        label = declared_label(data)
    try:
        text, warnings = decode(_unquoted(data) if _packing(part) in ("", "7bit") else data, Path(), label)
    except DocumentError:
        return "", ["a part that is labelled as text contains binary data and was left out"]
    return text.replace("\r\n", "\n").replace("\r", "\n"), warnings


def encryption(part: Any) -> str:
    """Return the encryption method of a part, "" if it is not encrypted."""
    kind = part.get_content_type()
    if kind == "application/pgp-encrypted":
        return "PGP"
    smime = str(safe(lambda: part.get_param("smime-type")) or "enveloped-data").lower()
    return "S/MIME" if kind.endswith("pkcs7-mime") and "enveloped" in smime else ""


_QUOTED_LETTER = re.compile(rb"=[CD][0-9A-F]=[89AB][0-9A-F]|=E[0-9A-F](?:=[89AB][0-9A-F]){2}")


def _unquoted(data: bytes) -> bytes:
    """Decode a quoted-printable text whose header does not say so. It is recognised by encoded UTF-8 letters."""
    if not data.isascii() or len(_QUOTED_LETTER.findall(data)) < 2:
        return data
    plain = quopri.decodestring(data)
    return data if safe(lambda: plain.decode("utf-8")) is None else plain


class OutlookContent(NamedTuple):
    """The contents of a ``winmail.dat`` (TNEF): the text of the mail, or its HTML, and attached files."""

    text: str
    html: str
    files: tuple[tuple[str, bytes], ...]
    warnings: tuple[str, ...] = ()


def outlook_content(part: Any) -> OutlookContent | None:
    """Return the content of a TNEF part from Outlook, None for any other part."""
    name = file_name(part).lower()
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
        return OutlookContent("", "", (), (Note("read.outlook-unread", reason=reason),))
    empty = not (text.strip() or html.strip() or files)
    return OutlookContent(text, html, files, (Note("read.outlook-empty"),) if empty else ())


def rtf_text(data: bytes) -> str:
    """Return the text of RTF data, "" if there is none."""
    return str(safe(lambda: rtf_to_text(data.decode("latin-1"), errors="replace")) or "")


def _packed_text(value: Any, page: str) -> str:
    if isinstance(value, bytes):
        value = safe(lambda: decode(value.rstrip(b"\0"), Path(), page)[0])
    return str(value or "").rstrip("\0")


_DAY = rb"(?:mon|tue|wed|thu|fri|sat|sun|\d{4}-\d\d-\d\d|\d{1,2} (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))"
_BORDER = re.compile(rb"From \S.*?\b" + _DAY + rb"\b.*\d{4}|From \S.*\d\d:\d\d|From \S+\s*$", re.IGNORECASE)
_FULL = re.compile(rb"From \S+ +[a-z]{3} [a-z]{3} +\d{1,2} \d\d:\d\d(?::\d\d)? .*\d{4}", re.IGNORECASE)
_FIELD = re.compile(rb"[!-9;-~]{1,200}[ \t]*:")
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_MAX_LINE = 1_000_000


class Mailbox:
    """An mbox file. Only the offsets of its messages are in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._spans = list(_spans(path))

    def __len__(self) -> int:
        return len(self._spans)

    def read(self, number: int) -> bytes:
        """Return a message by its number from 1, without its separator line.

        ``>From`` is restored to ``From``.
        """
        start, end = self._spans[number - 1]
        with self._path.open("rb") as file:
            file.seek(start)
            return _QUOTED.sub(rb"\1", file.read(end - start))


def _spans(path: Path) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) offsets of each message in an mbox file, without its separator line.

    A separator line is at the start of the file or after a blank line.
    """
    with path.open("rb") as file:
        at, start, blank = 0, -1, True
        line = file.readline(_MAX_LINE)
        if line.startswith(codecs.BOM_UTF8):
            at, line = 3, line[3:]
        while line:
            after = file.readline(_MAX_LINE)
            if (
                blank
                and line.startswith(b"From ")
                and (_FULL.match(line) or (_BORDER.match(line.rstrip()) and _FIELD.match(after)))
            ):
                if start >= 0:
                    yield start, at
                start = at + len(line)
            blank = not line.strip()
            at += len(line)
            line = after
        if start >= 0:
            yield start, at
