"""MSG files (Outlook) as blocks: one part with the header, the text and the names of the attachments."""

from __future__ import annotations

import datetime
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import olefile
from compressed_rtf import decompress

from hybrid_core.errors import BrokenFileError, DocumentError
from indexers.formats.decode import decode
from indexers.formats.flow.blocks import Block, Flow, Heading, Item, Paragraph, Part, Picture
from indexers.formats.format import Member
from indexers.formats.limits import ParseLimits, system_reason
from indexers.formats.mail.parts import safe
from indexers.formats.mail.texts import Text, without_copies
from indexers.formats.office.rtf import rtf_blocks, rtf_html
from indexers.formats.pictures import may_show_words
from indexers.formats.web.html import declared_label, parse_html

_SUBJECT, _BODY, _HTML, _SENDER, _SENT_FOR, _CLASS = "0037", "1000", "1013", "0C1A", "0042", "001A"
_ADDRESSES = ("5D01", "0C1F", "5D02", "0065")  # of the sender; one without "@" is an internal name
_RECEIVERS, _SMTP = (("To", "0E04"), ("Cc", "0E03"), ("Bcc", "0E02")), "39FE"
_CONTACT_FIELDS = {
    "Title": "3A17", "Department": "3A18", "Company": "3A16", "Business phone": "3A08", "Mobile phone": "3A1C",
    "Home phone": "3A09", "Fax": "3A24", "Address": "3A15", "Street": "3A29", "Postcode": "3A2A", "Town": "3A27",
    "Country": "3A26",
}  # fmt: skip
_SENT = (0x00390040, 0x0E060040)  # submitted, delivered: in 100 ns since 1601
_RTF = "1009"  # compressed
_NAME, _SHORT, _SHOWN_NAME = "3707", "3704", "3001"  # of an attachment
_MESSAGE = "__substg1.0_3701000D"  # a message in an attachment
_DEEPEST = 6  # maximum nesting of messages
_CODE_PAGE = 0x3FFD0003
# content id of a picture in the text; whether an attachment is hidden from the list
_CONTENT_ID, _HIDDEN = "3712", 0x7FFE000B
_FILE = re.compile(r"(?:__attach[^/]*/(?:__substg1\.0_3701000D/)?)+__substg1\.0_37010102")
_DAMAGED = (OSError, ValueError, IndexError, struct.error)


def read_msg(path: Path, limits: ParseLimits) -> Flow:
    """Read a message saved by Outlook. Raise DocumentError if it is damaged."""
    try:
        with olefile.OleFileIO(str(path)) as file:
            pictures = _pictures(file)
            blocks = list(_message_blocks(file, path, pictures))
            subject, date = _string(file, "", _SUBJECT), _date(file)
    except _DAMAGED as error:
        raise BrokenFileError(
            f"the file is damaged, so it cannot be read as an Outlook message{system_reason(error)}.", file=path
        ) from error
    metadata = {"title": subject, "date": date}
    return Flow(
        iter([Part(blocks, date[:10] or "message")]), {k: v for k, v in metadata.items() if v},
        images=partial(_stream, path),
    )  # fmt: skip


def _pictures(file: Any) -> dict[str, str]:
    """Return the pictures shown in the message's text, as ``{link in the text: stream in the file}``."""
    pictures = {}
    for folder, stream in _files(file):
        name = _string(file, f"{folder}/", _NAME) or _string(file, f"{folder}/", _SHORT)
        if (called := _shown_as(file, folder)) and may_show_words(name, file.get_size(stream)):
            pictures[f"cid:{called}"] = stream
    return pictures


def _files(file: Any) -> Iterator[tuple[str, str]]:
    """Yield (folder, stream) of each attached file in order."""
    names = {"/".join(entry) for entry in file.listdir()}
    for stream in sorted(name for name in names if _FILE.fullmatch(name)):
        yield stream.rpartition("/")[0], stream


def _shown_as(file: Any, folder: str) -> str:
    """Return the content id of an attachment that is shown inside the text, "" for others.

    The list of attachments hides such files.
    """
    called = _string(file, f"{folder}/", _CONTENT_ID)
    return called.strip("<>") if called and (_fixed(file, _HIDDEN, f"{folder}/") or b"\0")[0] else ""


def _stream(path: Path, name: str) -> bytes:
    try:
        with olefile.OleFileIO(str(path)) as file:
            return bytes(file.openstream(name).read())
    except _DAMAGED as error:
        raise DocumentError("a picture in the message is damaged.") from error


def msg_members(path: Path, limits: ParseLimits) -> Iterator[Member]:
    """Yield the files attached to a message and to nested messages. Raise the same errors as ``read_msg``."""
    try:
        with olefile.OleFileIO(str(path)) as file:
            for folder, stream in _files(file):
                name = _string(file, f"{folder}/", _NAME) or _string(file, f"{folder}/", _SHORT)
                if not _shown_as(file, folder):
                    yield Member(name or folder.rpartition("/")[2], partial(_file, file, stream))
    except _DAMAGED as error:
        raise BrokenFileError(
            f"the file is damaged, so it cannot be read as an Outlook message{system_reason(error)}.", file=path
        ) from error


def _file(file: Any, stream: str) -> list[bytes]:
    try:
        return [file.openstream(stream).read()]
    except _DAMAGED as error:
        raise DocumentError("an attachment is damaged, so it cannot be extracted.") from error


def _message_blocks(
    file: Any, path: Path, pictures: Mapping[str, str], folder: str = "", level: int = 1
) -> Iterator[Block]:
    """Yield a message, its attachments, and the messages that are attached to it. ``folder`` is the message's place."""
    yield Heading(level, " ".join(_string(file, folder, _SUBJECT).split()), place="message 1")
    yield Paragraph("\n".join(_head_lines(file, folder)), "message 1")
    body, html, rtf = _string(file, folder, _BODY), _html(file, path, folder), b""
    if not body.strip() and not html:
        rtf = _rtf(file, folder)
        html = rtf_html(rtf)
    texts = [Text(kind, text, 1) for kind, text in (("plain", body), ("html", html)) if text.strip()]
    for text in without_copies(texts):
        if text.kind == "plain":
            for at, lines in enumerate(body.replace("\r\n", "\n").split("\n\n"), 1):
                yield Paragraph(lines, f"message 1 paragraph {at}")
        else:
            image = partial(_picture_of, pictures)
            yield from parse_html(html, whole=True, place="message 1 ", image=image).blocks
    if not html and rtf:
        yield from (replace(block, place=f"message 1 {block.place}") for block in rtf_blocks(rtf))
    for stream in pictures.values() if level == 1 else ():
        yield Picture("", "message 1", stream)
    attached = [name for name in _folders(file, folder) if name.rpartition("/")[2].startswith("__attach")]
    for inner in attached:
        if name := _string(file, f"{inner}/", _NAME) or _string(file, f"{inner}/", _SHORT) or (
            _string(file, f"{inner}/", _SHOWN_NAME)
        ):  # fmt: skip
            yield Item(f"Attached: {name}", place="message 1")
    for inner in attached:
        message = f"{inner}/{_MESSAGE}"
        if level < _DEEPEST and file.exists(message):
            yield from _message_blocks(file, path, pictures, f"{message}/", level + 1)


def _head_lines(file: Any, folder: str) -> Iterator[str]:
    """Yield the head of a message, and the fields of a contact. Missing names are taken from other properties."""
    name = _string(file, folder, _SENDER) or _string(file, folder, _SENT_FOR)
    addresses = (_string(file, folder, tag) for tag in _ADDRESSES)
    sender = " ".join(filter(None, (name, next((address for address in addresses if "@" in address), ""))))
    shown = [(label, _string(file, folder, tag)) for label, tag in _RECEIVERS]
    if not any(value for _, value in shown):
        people = [inner for inner in _folders(file, folder) if inner.rpartition("/")[2].startswith("__recip")]
        names = (_string(file, f"{inner}/", _SHOWN_NAME) or _string(file, f"{inner}/", _SMTP) for inner in people)
        shown = [("To", "; ".join(filter(None, names)))]
    contact = _string(file, folder, _CLASS).startswith("IPM.Contact")
    fields = [(label, _string(file, folder, tag)) for label, tag in _CONTACT_FIELDS.items()] if contact else []
    for label, value in (("From", sender), *shown, ("Date", _date(file, folder)), *fields):
        if value := " ".join(value.split()):
            yield f"{label}: {value}"


def _picture_of(pictures: Mapping[str, str], link: str) -> str:
    return pictures.get(unquote(link), "")


def _folders(file: Any, folder: str) -> list[str]:
    """Return the folders directly inside a folder in order."""
    deep = folder.count("/") + 1
    return sorted({"/".join(entry[:deep]) for entry in file.listdir()
                   if len(entry) > deep and "/".join(entry).startswith(folder)})  # fmt: skip


def _string(file: Any, folder: str, tag: str) -> str:
    """Return a property as text. It is stored as Unicode, or as bytes in the message's code page."""
    name = f"{folder}__substg1.0_{tag}"
    if file.exists(f"{name}001F"):
        return str(file.openstream(f"{name}001F").read().decode("utf-16-le", "replace").rstrip("\0"))
    if file.exists(f"{name}001E"):
        data = file.openstream(f"{name}001E").read().rstrip(b"\0")
        page = _fixed(file, _CODE_PAGE)
        for encoding in (f"cp{struct.unpack('<I', page[:4])[0]}" if page else "cp1252", "utf-8"):
            try:
                return str(data.decode(encoding))
            except (LookupError, UnicodeDecodeError):
                continue
        return str(data.decode("cp1252", "replace"))
    return ""


def _html(file: Any, path: Path, folder: str) -> str:
    if file.exists(f"{folder}__substg1.0_{_HTML}0102"):
        data = file.openstream(f"{folder}__substg1.0_{_HTML}0102").read().rstrip(b"\0")
        return decode(data, path, declared_label(data))[0]
    return _string(file, folder, _HTML)


def _rtf(file: Any, folder: str) -> bytes:
    """Return the RTF body of a message, b"" if it has none. It is used if there is no other body."""
    if not file.exists(f"{folder}__substg1.0_{_RTF}0102"):
        return b""
    return safe(lambda: decompress(file.openstream(f"{folder}__substg1.0_{_RTF}0102").read())) or b""


def _date(file: Any, folder: str = "") -> str:
    for tag in _SENT:
        if value := _fixed(file, tag, folder):
            seconds = struct.unpack("<Q", value)[0] / 1e7
            try:
                return (datetime.datetime(1601, 1, 1) + datetime.timedelta(seconds=seconds)).isoformat(" ", "seconds")
            except OverflowError:
                continue
    return ""


def _fixed(file: Any, tag: int, folder: str = "") -> bytes:
    """Return the eight bytes of a property of fixed length, b"" if it is missing."""
    if not file.exists(f"{folder}__properties_version1.0"):
        return b""
    data = file.openstream(f"{folder}__properties_version1.0").read()
    begin = 8 if folder else 32
    begin = 24 if folder.endswith(f"{_MESSAGE}/") else begin
    for at in range(begin, len(data) - 15, 16):
        if struct.unpack_from("<I", data, at)[0] == tag:
            return bytes(data[at + 8 : at + 16])
    return b""
