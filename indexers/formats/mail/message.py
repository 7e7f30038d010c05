"""EML and MBOX: one part per message with its head, its text and the names of its attachments."""

from __future__ import annotations

import mimetypes
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from email.message import EmailMessage, Message
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

from hybrid_core.errors import BrokenFileError, DocumentError, EmptyFileError
from indexers.formats.flow.blocks import Block, Flow, Heading, Item, Paragraph, Part, Picture
from indexers.formats.format import Member
from indexers.formats.limits import ParseLimits
from indexers.formats.mail.parts import (
    Mailbox,
    ShownPictures,
    StrayLine,
    content,
    content_id,
    is_shown,
    leaves,
    message_of,
    outlook_content,
    part_text,
    safe,
)
from indexers.formats.web.html import parse_html

_HEAD = ("From", "To", "Cc", "Date")
_DEEPEST = 10  # messages inside messages
_LONGEST_SUBJECT = 250
_HTML = re.compile(r"\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|body)\b", re.IGNORECASE | re.DOTALL)


def read_eml(path: Path, limits: ParseLimits) -> Flow:
    """Read a message and those it forwards whole. Raise DocumentError if the file is no mail."""
    data = path.read_bytes()
    if not data.strip():
        raise EmptyFileError(f"{path}: the file is empty.")
    message = message_of(data)
    if not (message.keys() and (message["from"] or message["subject"] or message["date"] or message["mime-version"])):
        raise BrokenFileError(f"{path}: not a mail (it has no sender, subject or date).")
    metadata = {"title": _subject(message), "author": _field(message, "From"), "date": _date(message)}
    pictures = ShownPictures(lambda _: message_of(data))
    fields = {key: value for key, value in metadata.items() if value}
    warnings: list[str] = []
    return Flow(_message_parts([message], pictures, warnings), fields, warnings, images=pictures.read)


def read_mbox(path: Path, limits: ParseLimits) -> Flow:
    """Read a mailbox, a part per message."""
    box = Mailbox(path)
    count = len(box)
    if not count:
        raise DocumentError(f"{path}: it holds no messages.")
    limits.check("max_pages", count, f"{path}: it has {count:,} messages")
    pictures = ShownPictures(lambda number: message_of(box.read(number)))
    messages = (message_of(box.read(number)) for number in range(1, count + 1))
    warnings: list[str] = []
    return Flow(_message_parts(messages, pictures, warnings, several=True), warnings=warnings, images=pictures.read)


def _message_parts(
    messages: Any, pictures: ShownPictures, warnings: list[str], several: bool = False
) -> Iterator[Part]:
    for number, message in enumerate(messages, 1):
        names = pictures.of(number, message)
        inner: list[EmailMessage] = []
        label = " · ".join(filter(None, (f"message {number}" if several else "", _date(message)[:10])))
        yield Part(list(message_blocks(message, f"message {number}", inner, names, warnings)), label or "message")
        deep = 0
        while inner and deep < _DEEPEST:
            deep += 1
            forwarded = inner.pop(0)
            blocks = list(message_blocks(forwarded, f"message {number}.{deep}", inner, names, warnings))
            yield Part(blocks, f"{label} · attached message {deep}")


def message_blocks(
    message: EmailMessage, place: str, inner: list[EmailMessage], names: Mapping[int, str], warnings: list[str]
) -> Iterator[Block]:
    """Yield a message's blocks, and put messages attached to it into ``inner``.

    ``names`` are its pictures' as ShownPictures has them. They stand where its HTML shows them, else after its text.
    """
    yield Heading(1, _subject(message), place=place)
    head = [f"{name}: {value}" for name in _HEAD if (value := _field(message, name))]
    if strays := [str(defect) for defect in message.defects if isinstance(defect, StrayLine)]:
        warnings.append(f"{len(strays)} lines in the head of a message are no fields; they stand after it")
        head += strays
    yield Paragraph("\n".join(head), place)
    attached: list[str] = []
    texts: dict[str, list[str]] = {"plain": [], "html": [], "packed": [], "packed html": []}
    pictures: dict[str, str] = {}
    for part in _walk(message, inner):
        name = safe(lambda part=part: part.get_filename()) or ""
        if (packed := outlook_content(part)) is not None:
            texts["packed"].append(packed.text)
            texts["packed html"].append(packed.html)
            warnings += packed.warnings
            attached += [title for title, _ in packed.files]
            continue
        if part.get_content_maintype() == "text" and not (name and part.get_content_disposition() == "attachment"):
            text, notes = part_text(part)
            warnings += notes
            untyped = part["content-type"] is None and _HTML.match(text) is not None
            texts["html" if untyped or part.get_content_subtype() == "html" else "plain"].append(text)
            continue
        if id(part) in names:
            pictures[f"cid:{content_id(part)}"] = names[id(part)]
        if name or part.get_content_disposition() == "attachment":
            attached.append(name or part.get_content_type())
    if packed_text := next((text for text in texts["packed"] if text.strip() and text not in texts["plain"]), ""):
        texts["plain"].append(packed_text)
    elif not any(text.strip() for text in (*texts["plain"], *texts["html"])):
        texts["html"] += texts["packed html"]
    plain = "\n\n".join(texts["plain"])
    if plain.strip() or not texts["html"]:
        for at, text in enumerate(plain.replace("\r\n", "\n").split("\n\n"), 1):
            yield Paragraph(text, f"{place} paragraph {at}")
    else:
        for source in texts["html"]:
            page = parse_html(source, whole=True, place=f"{place} ", image=partial(_picture_of_link, pictures))
            yield from map(_below, page.blocks)
    for name in pictures.values():
        yield Picture("", place, name)
    for name in attached:
        yield Item(f"Attached: {name}", place=place)


def _picture_of_link(pictures: Mapping[str, str], link: str) -> str:
    return pictures.get(unquote(link), "")


def _below(block: Block) -> Block:
    """Put a heading of a mail's HTML below the subject."""
    return Heading(block.level + 1, block.text, place=block.place) if isinstance(block, Heading) else block


def _walk(message: Message, inner: list[EmailMessage], deep: int = 0) -> Iterator[Any]:
    if message.get_content_type() == "message/rfc822" and deep:
        payload = message.get_payload()
        inner += [child for child in payload if isinstance(child, EmailMessage)] if isinstance(payload, list) else []
    elif message.is_multipart() and deep < 50:
        for part in cast(list[Message], message.get_payload()):
            yield from _walk(part, inner, deep + 1)
    else:
        yield message


def _field(message: Message, name: str) -> str:
    return " ".join(str(safe(lambda: message[name]) or "").split())


def _subject(message: Message) -> str:
    return _field(message, "Subject")[:_LONGEST_SUBJECT]


def _date(message: Message) -> str:
    date = _field(message, "Date")
    try:
        return parsedate_to_datetime(date).isoformat(" ") if date else ""
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


_INVITATION = "text/calendar"


def eml_members(path: Path, limits: ParseLimits) -> Iterator[Member]:
    """Yield the files attached to a message and to those it forwards whole."""
    return attached(message_of(path.read_bytes()))


def mbox_members(path: Path, limits: ParseLimits) -> Iterator[Member]:
    """Yield the files attached to a mailbox's messages, each below its message: "message 3/report.pdf"."""
    box = Mailbox(path)
    for number in range(1, len(box) + 1):
        for member in attached(message_of(box.read(number))):
            yield Member(f"message {number}/{member.name}", member.read)


def attached(message: EmailMessage) -> Iterator[Member]:
    unnamed = Counter[str]()
    for part in leaves(message):
        name = safe(part.get_filename) or ""
        kind = part.get_content_type()
        disposition = part.get_content_disposition()
        if (packed := outlook_content(part)) is not None:
            for at, (title, data) in enumerate(packed.files, 1):
                yield Member(title or f"attachment {at}", partial(_bytes, data))
            continue
        if is_shown(part) or kind == _INVITATION or not (name or disposition == "attachment"):
            continue
        if not name:
            unnamed[kind] += 1
            name = f"attachment {unnamed[kind]}{mimetypes.guess_extension(kind) or ''}"
        yield Member(str(name), partial(_content, part))


def _content(part: Any) -> list[bytes]:
    return [content(part)]


def _bytes(data: bytes) -> list[bytes]:
    return [data]
