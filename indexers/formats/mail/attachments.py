"""Files attached to mails. Pictures that the text itself shows are none."""

from __future__ import annotations

import mimetypes
from collections import Counter
from collections.abc import Iterator
from email.message import EmailMessage
from functools import partial
from pathlib import Path
from typing import Any

from indexers.formats.limits import ParseLimits
from indexers.formats.mail.boxes import Mailbox, message_of
from indexers.formats.mail.parts import content, is_shown, leaves, outlook_content, safe
from indexers.formats.members import Member

_INVITATION = "text/calendar"


def eml_members(path: Path, limits: ParseLimits) -> Iterator[Member]:
    """What is attached to a message, and to those that it forwards whole."""
    return attached(message_of(path.read_bytes()))


def mbox_members(path: Path, limits: ParseLimits) -> Iterator[Member]:
    """What is attached to a mailbox's messages, each behind its message: «message 3/report.pdf»."""
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
