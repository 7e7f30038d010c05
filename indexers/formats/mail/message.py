"""EML and MBOX files as blocks: one part per message.

A part has the message's header, its text and the names of its attachments.
"""

from __future__ import annotations

import mimetypes
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.message import EmailMessage, Message
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

from hybrid_core.errors import BrokenFileError, DocumentError, EmptyFileError
from hybrid_core.types.notes import Note
from indexers.formats.flow.blocks import Block, Flow, Heading, Item, Paragraph, Part, Picture
from indexers.formats.format import Member
from indexers.formats.limits import ParseLimits
from indexers.formats.mail.mend import StrayLine, message_of
from indexers.formats.mail.parts import (
    Mailbox,
    OutlookContent,
    ShownPictures,
    content,
    content_id,
    encryption,
    file_name,
    is_shown,
    leaves,
    outlook_content,
    safe,
)
from indexers.formats.mail.texts import Text, is_text, read_part, without_copies
from indexers.formats.web.html import parse_html

_HEAD = ("From", "To", "Cc", "Bcc", "Date")
_DEEPEST = 10  # maximum nesting of messages
_LONGEST_SUBJECT = 250


def read_eml(path: Path, limits: ParseLimits) -> Flow:
    """Read a message and the messages that it forwards as attachments.

    Raise DocumentError if the file is not a mail.
    """
    data = path.read_bytes()
    if not data.strip():
        raise EmptyFileError("the file is empty.", file=path)
    message = message_of(data)
    if not (message.keys() and (message["from"] or message["subject"] or message["date"] or message["mime-version"])):
        raise BrokenFileError("the file is not a mail, because it has no sender, subject or date.", file=path)
    metadata = {"title": _subject(message), "author": _field(message, "From"), "date": _date(message)}
    pictures = ShownPictures(lambda _: message_of(data))
    fields = {key: value for key, value in metadata.items() if value}
    warnings: list[str] = []
    return Flow(_message_parts([message], pictures, warnings), fields, warnings, images=pictures.read)


def read_mbox(path: Path, limits: ParseLimits) -> Flow:
    """Read a mailbox with one part per message."""
    box = Mailbox(path)
    count = len(box)
    if not count:
        raise DocumentError("the mailbox contains no messages.", file=path)
    limits.check("max_pages", count, f"the mailbox has {count:,} messages", file=path)
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
    """Yield the blocks of a message, and append the messages attached to it to ``inner``.

    ``names`` are the names of its pictures from ShownPictures. A picture is placed where the HTML shows it. Other
    pictures follow the text.
    """
    yield Heading(1, _subject(message), place=place)
    head = [f"{name}: {value}" for name in _HEAD if (value := _field(message, name))]
    if strays := [str(defect) for defect in message.defects if isinstance(defect, StrayLine)]:
        warnings.append(Note("read.stray-lines", lines=len(strays)))
        head += strays
    yield Paragraph("\n".join(head), place)
    attached: list[str] = []
    texts: list[Text] = []
    packed: list[OutlookContent] = []
    pictures: dict[str, str] = {}
    for part, group in _walk(message, inner):
        name = file_name(part)
        if (outlook := outlook_content(part)) is not None:
            packed.append(outlook)
            attached += [title for title, _ in outlook.files]
            continue
        if is_text(part):
            if (text := read_part(part, group)) is not None and text not in texts:
                texts.append(text)
                warnings += text.warnings
                attached += [title for title, _ in text.files]
            if not (name and part.get_content_disposition() == "attachment"):
                continue
        if id(part) in names:
            pictures[f"cid:{content_id(part)}"] = names[id(part)]
        if kind := encryption(part):
            warnings.append(Note("read.encrypted-part", kind=kind))
        if name or part.get_content_disposition() == "attachment":
            attached.append(name or part.get_content_type())
    warnings += [note for outlook in packed for note in outlook.warnings]
    yield from _text_blocks(without_copies(_with_packed(texts, packed)), place, partial(_picture_of_link, pictures))
    for name in pictures.values():
        yield Picture("", place, name)
    for name in attached:
        yield Item(f"Attached: {name}", place=place)


def _with_packed(texts: list[Text], packed: Sequence[OutlookContent]) -> list[Text]:
    """Return the texts of a message, with the text from its attachment winmail.dat added.

    The attachment's HTML is used only if there are no other words.
    """
    plain = [text.text for text in texts if text.kind == "plain"]
    if words := next((body.text for body in packed if body.text.strip() and body.text not in plain), ""):
        return [*texts, Text("plain", words)]
    if not any(text.text.strip() for text in texts):
        return [*texts, *(Text("html", outlook.html) for outlook in packed)]
    return texts


def _text_blocks(texts: Sequence[Text], place: str, image: Callable[[str], str]) -> Iterator[Block]:
    paragraphs = 0
    for text in texts:
        if text.kind == "html":
            page = parse_html(text.text, whole=True, place=f"{place} ", image=image)
            yield from map(_below, page.blocks)
            continue
        for paragraph in text.text.split("\n\n"):
            paragraphs += 1
            yield Paragraph(paragraph, f"{place} paragraph {paragraphs}")


def _picture_of_link(pictures: Mapping[str, str], link: str) -> str:
    return pictures.get(unquote(link), "")


def _below(block: Block) -> Block:
    """Return a block of a mail's HTML. A heading is lowered by one level, so that it is below the mail's subject."""
    return Heading(block.level + 1, block.text, place=block.place) if isinstance(block, Heading) else block


def _walk(message: Message, inner: list[EmailMessage], deep: int = 0, group: int = 0) -> Iterator[tuple[Any, int]]:
    """Yield (part, group) for the innermost parts of a message, and append attached messages to ``inner``.

    ``group`` identifies parts that are alternatives of each other, such as plain text and HTML; 0 for none.
    """
    if message.get_content_type() == "message/rfc822" and deep:
        payload = message.get_payload()
        inner += [child for child in payload if isinstance(child, EmailMessage)] if isinstance(payload, list) else []
    elif message.is_multipart() and deep < 50:
        group = group or (id(message) if message.get_content_type() == "multipart/alternative" else 0)
        for part in cast(list[Message], message.get_payload()):
            yield from _walk(part, inner, deep + 1, group)
    else:
        yield message, group


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
    """Yield the files attached to a message and to the messages that it forwards."""
    return attached(message_of(path.read_bytes()))


def mbox_members(path: Path, limits: ParseLimits) -> Iterator[Member]:
    """Yield the files attached to a mailbox's messages, each in the folder of its message: "message 3/report.pdf"."""
    box = Mailbox(path)
    for number in range(1, len(box) + 1):
        for member in attached(message_of(box.read(number))):
            yield Member(f"message {number}/{member.name}", member.read)


def attached(message: EmailMessage) -> Iterator[Member]:
    unnamed = Counter[str]()
    for part in leaves(message):
        if is_text(part) and (text := read_part(part, 0)) is not None:
            for title, data in text.files:
                yield Member(title, partial(_bytes, data))
        name = file_name(part)
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
