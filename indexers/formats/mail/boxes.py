"""Cut a mailbox into messages by the ``From `` lines of RFC 4155, and mend heads that the standard library gives up on.

The module ``mailbox`` of the standard library also cuts at sentences that begin with «From», and loses them.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.errors import MessageDefect
from email.message import EmailMessage
from pathlib import Path

_DAY = rb"(?:mon|tue|wed|thu|fri|sat|sun|\d{4}-\d\d-\d\d|\d{1,2} (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))"
_BORDER = re.compile(rb"From \S.*?\b" + _DAY + rb"\b.*\d{4}|From \S.*\d\d:\d\d|From \S+\s*$", re.IGNORECASE)
_FULL = re.compile(rb"From \S+ +[a-z]{3} [a-z]{3} +\d{1,2} \d\d:\d\d(?::\d\d)? .*\d{4}", re.IGNORECASE)
_FIELD = re.compile(rb"[!-9;-~]{1,200}[ \t]*:")
_SPACED = re.compile(rb"([!-9;-~]{1,200})[ \t]+:")
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_HEAD_END = re.compile(rb"\r?\n\r?\n|\r\r")
_MAX_LINE = 1_000_000
_LINE_ENDS = re.compile(rb"\r\n|\n|\r")


class Mailbox:
    """An mbox file. Only the places of its messages are in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._spans = list(_spans(path))

    def __len__(self) -> int:
        return len(self._spans)

    def read(self, number: int) -> bytes:
        """Return a message by its number from 1, without its border; ``>From`` is ``From`` again."""
        start, end = self._spans[number - 1]
        with self._path.open("rb") as file:
            file.seek(start)
            return _QUOTED.sub(rb"\1", file.read(end - start))


def _spans(path: Path) -> Iterator[tuple[int, int]]:
    """Yield where messages begin, after their border, and end. A border stands at the start or after a blank line."""
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


def message_of(data: bytes) -> EmailMessage:
    """Parse a message. Lines of its head that are no fields go to its ``defects`` as ``StrayLine``, not to its text."""
    head, mended = _mended(data)
    message = message_from_bytes(mended, policy=policy.default)
    message.defects += [StrayLine(line) for line in head]
    return message


class StrayLine(MessageDefect):
    """A line of a head that is no field."""


def _mended(data: bytes) -> tuple[list[str], bytes]:
    """Return stray lines of the head, and the message without them, its byte order mark and blank lines before it."""
    data = data.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n\t ")
    end = _HEAD_END.search(data)
    if end is None:
        return [], data
    lines = _LINE_ENDS.split(data[: end.start()])
    last = max((at for at, line in enumerate(lines) if _FIELD.match(line)), default=-1)
    strays = [
        at for at, line in enumerate(lines[: last + 1])
        if not _FIELD.match(line) and line[:1] not in (b" ", b"\t") and not (at == 0 and line.startswith(b"From "))
    ]  # fmt: skip
    if len(strays) > 0.5 * len(lines):
        return [], data
    if not strays and not any(map(_SPACED.match, lines)):
        return [], data
    fields = [_SPACED.sub(rb"\1:", line, count=1) for at, line in enumerate(lines) if at not in strays]
    mended = b"\r\n".join(fields) + data[end.start() :]
    return [lines[at].decode("utf-8", "replace") for at in strays], mended
