"""Parsing of a message, and repair of errors that programs make in headers and parts.

In headers: stray lines, bytes in other encodings, encoded words with charsets unknown to Python. In parts: encoded
messages and reports, boundaries that do not occur in the message, and signatures (S/MIME) that wrap the whole mail.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import quopri
import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.errors import MessageDefect
from email.message import EmailMessage, Message
from pathlib import Path
from typing import Any

from hybrid_core.errors import DocumentError
from indexers.formats.decode import codec_of, decode

_FIELD = re.compile(rb"[!-9;-~]{1,200}[ \t]*:")
_SPACED = re.compile(rb"([!-9;-~]{1,200})[ \t]+:")
_HEAD_END = re.compile(rb"\r?\n\r?\n|\r\r")
_LINE_ENDS = re.compile(rb"\r\n|\n|\r")
# the length of the message, which precedes it in an EMLX file
_APPLE = re.compile(rb"(\d{1,10})[ \t]*\r?\n(?=[!-9;-~]{1,200}:)")
_CHARSET = re.compile(rb"charset\s*=\s*[\"']?\s*([\w.:-]+)", re.I)
_SAMPLE = 20_000  # bytes for guessing the encoding of a header
_ENCODED = re.compile(rb"=\?([\w.:+-]{1,40})(?:\*[\w-]*)?\?([bq])\?([^?\r\n]{0,2000})\?=", re.I)
_BETWEEN = re.compile(rb"\s*")
_BOUNDARY = re.compile(r"^--(\S[^\n]{0,69}?)[ \t]*\n[!-9;-~]{1,200}:", re.M)
_DEEPEST = 50


class StrayLine(MessageDefect):
    """A defect of a message: a line of its header that is not a field."""


def message_of(data: bytes) -> EmailMessage:
    """Parse a message. Header lines that are not fields become ``StrayLine`` entries of its ``defects``."""
    return _parsed(data, 0)


def _parsed(data: bytes, deep: int) -> EmailMessage:
    head, mended = _mended(data)
    message = message_from_bytes(mended, policy=policy.default)
    message.defects += [StrayLine(line) for line in head]
    _mend_parts(message, deep)
    return message


def _mended(data: bytes) -> tuple[list[str], bytes]:
    """Repair the header of a message. Return the lines that are no header fields, and the message without them.

    A byte order mark and blank lines at the start are removed, too.
    """
    data = data.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n\t ")
    if (apple := _APPLE.match(data)) is not None:
        data = data[apple.end() : apple.end() + int(apple[1])]
    end = _HEAD_END.search(data)
    if end is None:
        return [], data
    data = _decoded_head(data[: end.start()], data) + data[end.start() :]
    end = _HEAD_END.search(data)
    assert end is not None
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


def _decoded_head(head: bytes, data: bytes) -> bytes:
    """Return a message header in UTF-8, with its encoded words decoded.

    Python itself does not read headers in other encodings, and does not know all charset labels.
    """
    if not head.isascii():
        label = _CHARSET.search(data[:_SAMPLE])
        try:
            head.decode("utf-8")
        except UnicodeDecodeError:
            head = _utf8(head, label[1].decode() if label is not None else "")
    if b"=?" not in head:
        return head
    parts, at = [], 0
    words = list(_ENCODED.finditer(head))
    while words:
        first = last = words.pop(0)
        packed = _unpacked(first)
        while (
            words and words[0][1].lower() == first[1].lower()
            and _BETWEEN.fullmatch(head, last.end(), words[0].start()) is not None
        ):  # fmt: skip
            last = words.pop(0)
            packed += _unpacked(last)
        charset = first[1].decode()
        if not packed or (first is last and codec_of(charset) == "utf-8" and _is_utf8(packed)):
            continue
        text = _utf8(packed, charset)
        parts += [head[at : first.start()], b"=?utf-8?B?" + base64.b64encode(text) + b"?="]
        at = last.end()
    return b"".join((*parts, head[at:]))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _unpacked(word: re.Match[bytes]) -> bytes:
    try:
        if word[2] in b"qQ":
            return quopri.decodestring(word[3], header=True)
        return base64.b64decode(word[3] + b"=" * (-len(word[3]) % 4))
    except (binascii.Error, ValueError):
        return b""


def _utf8(data: bytes, label: str) -> bytes:
    try:
        return decode(data, Path(), label)[0].encode("utf-8", "replace")
    except DocumentError:
        return data


def _mend_parts(message: Any, deep: int) -> None:
    """Replace encoded messages, reports and signed packages by their contents."""
    kind, payload = message.get_content_type(), message.get_payload()
    if deep > _DEEPEST:
        return
    if kind == "message/rfc822" and isinstance(payload, list) and payload:
        if (whole := _transferred(message, payload[0])) is not None:
            message.set_payload([_parsed(whole, deep + 1)])
            return
    elif message.get_content_maintype() == "message" and isinstance(payload, list):
        text = "\n\n".join(part.as_string(policy=policy.default.clone(refold_source="none")) for part in payload)
        _replace(message, "text/plain; charset=utf-8", text.encode("utf-8", "replace").decode("utf-8"))
        return
    elif message.get_content_maintype() == "multipart" and isinstance(payload, str):
        _mend_boundary(message, payload, deep)
        return
    elif kind in ("application/pkcs7-mime", "application/x-pkcs7-mime"):
        if inside := signed_content(message.get_payload(decode=True) or b""):
            _replace(message, "multipart/mixed", [_parsed(inside, deep + 1)])
        return
    for part in payload if isinstance(payload, list) else ():
        _mend_parts(part, deep + 1)


def _transferred(message: Any, packed: Message) -> bytes | None:
    """Return the decoded bytes of an attached message in Base64 or quoted-printable, None for any other encoding."""
    packing = str(message.get("content-transfer-encoding") or "").strip().lower()
    if packing not in ("base64", "quoted-printable") or packed.keys():
        return None
    data = packed.as_bytes().lstrip(b"\r\n")
    try:
        return base64.b64decode(data) if packing == "base64" else quopri.decodestring(data)
    except (binascii.Error, ValueError):
        return None


def _replace(message: Any, kind: str, payload: Any) -> None:
    """Replace the body of a part. Its other header fields stay."""
    for name in ("content-type", "content-transfer-encoding", "content-disposition"):
        del message[name]
    message["Content-Type"] = kind
    message.set_payload(payload)


def _mend_boundary(message: Any, body: str, deep: int) -> None:
    """Parse the parts of a message again if its header names a boundary that the body does not use.

    Use the boundary found in the body. If there is none, read all of the body as text.
    """
    boundary = _BOUNDARY.search(body.replace("\r\n", "\n"))
    if boundary is None:
        _replace(message, "text/plain", body)
        return
    head = f'Content-Type: multipart/mixed; boundary="{boundary[1]}"\n\n'
    parts = message_from_bytes((head + body).encode("utf-8", "surrogateescape"), policy=policy.default)
    if parts.is_multipart():
        _replace(message, "multipart/mixed", parts.get_payload())
        for part in message.get_payload():
            _mend_parts(part, deep + 1)


_SEQUENCE, _OCTETS = 0x30, 0x04
_SIGNED = bytes.fromhex("2a864886f70d010702")  # 1.2.840.113549.1.7.2
_DATA = bytes.fromhex("2a864886f70d010701")


def signed_content(data: bytes) -> bytes:
    """Return the message inside an S/MIME package that is signed and not encrypted (RFC 5652), b"" for any other."""
    try:
        kind, content = list(_elements(data, next(iter(_elements(data, (0, 0, len(data)))))))[:2]
        if data[kind[1] : kind[2]] != _SIGNED:
            return b""
        signed = next(iter(_elements(data, content)))
        package = next(part for part in _elements(data, signed) if part[0] == _SEQUENCE)
        inner, *rest = _elements(data, package)
        if data[inner[1] : inner[2]] != _DATA or not rest:
            return b""
        return b"".join(_octets(data, part) for part in _elements(data, rest[0]))
    except (IndexError, ValueError, StopIteration, RecursionError):
        return b""


_Element = tuple[int, int, int]  # tag, start and end of the content


def _elements(data: bytes, outer: _Element) -> Iterator[_Element]:
    """Yield the elements inside an element. The format is the basic encoding rules of ASN.1 (X.690)."""
    at = outer[1]
    while at < outer[2]:
        element, at = _element(data, at, 0)
        yield element


def _element(data: bytes, at: int, deep: int) -> tuple[_Element, int]:
    """Return the ASN.1 element at an offset, and the offset after it.

    Raise ValueError or IndexError if there is none.
    """
    if deep > _DEEPEST:
        raise ValueError("nested too deeply")
    tag, length, at = data[at], data[at + 1], at + 2
    if length == 0x80:  # indefinite length: up to two zero bytes
        start = at
        while data[at : at + 2] != b"\0\0":
            _, at = _element(data, at, deep + 1)
        return (tag, start, at), at + 2
    if length > 0x80:
        size = length & 0x7F
        length, at = int.from_bytes(data[at : at + size], "big"), at + size
    if at + length > len(data):
        raise ValueError("cut off")
    return (tag, at, at + length), at + length


def _octets(data: bytes, element: _Element) -> bytes:
    """Return the bytes of an octet string (ASN.1), which may be divided into several pieces."""
    if element[0] == _OCTETS:
        return data[element[1] : element[2]]
    return b"".join(_octets(data, part) for part in _elements(data, element))
