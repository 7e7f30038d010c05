"""The texts of a message in their various formats, and the removal of duplicates among them."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator, Sequence
from html import unescape
from typing import Any, NamedTuple

from hybrid_core.types.notes import Note
from indexers.formats.mail.parts import file_name, part_text, rtf_text, safe

_UNSHOWN = frozenset(("css", "javascript", "ecmascript", "x-amp-html", "watch-html", "x-watch-html"))
_FIELDS = frozenset(("calendar", "vcard", "x-vcard", "directory"))  # iCalendar and vCard
_HTML = re.compile(r"\s*(?:<!--.*?-->\s*)?<(?:!doctype\s+html|html|body)\b", re.IGNORECASE | re.DOTALL)


class Text(NamedTuple):
    """A text of a message, with the files that are embedded in it by uuencode (``files``).

    ``kind`` is "html" or "plain". ``group`` identifies texts that are alternatives of each other, 0 for none.
    """

    kind: str
    text: str
    group: int = 0
    files: tuple[tuple[str, bytes], ...] = ()
    warnings: tuple[str, ...] = ()


def is_text(part: Any) -> bool:
    """Return whether a part belongs to the text of the message. Other parts are only listed as attached files."""
    if part.get_content_maintype() != "text":
        return False
    named = file_name(part) and part.get_content_disposition() == "attachment"
    return not named or part.get_content_subtype() in _FIELDS


def read_part(part: Any, group: int) -> Text | None:
    """Return the text of a part, None for style sheets, scripts and pages for smartwatches."""
    subtype = part.get_content_subtype()
    if subtype in _UNSHOWN:
        return None
    text, warnings = part_text(part)
    if subtype == "html" or (part["content-type"] is None and _HTML.match(text) is not None):
        return Text("html", text, group, (), tuple(warnings))
    if subtype in _FIELDS:
        return Text("plain", "\n".join(_fields(text)), 0, (), tuple(warnings))
    if subtype in ("enriched", "richtext"):
        text = _plain_enriched(text)
    elif subtype in ("rtf", "x-rtf") and text.lstrip().startswith("{\\rtf"):
        text = rtf_text(text.encode("latin-1", "replace"))
    elif str(safe(lambda: part.get_param("format")) or "").lower() == "flowed":
        text = _unflowed(text, str(safe(lambda: part.get_param("delsp")) or "").lower() == "yes")
    text, files = _without_files(text)
    text, encrypted = _without_armour(text)
    if encrypted:
        warnings = [*warnings, Note("read.encrypted-text")]
    return Text("plain", text, group, files, tuple(warnings))


_MARKUP = re.compile(r"<(style|script|head|title)\b.*?</\1\s*>|<!--.*?-->|<[^<>]*>", re.I | re.S)
_WORD = re.compile(r"\w+")
_FEW = 20  # words of a plain text that only replaces the HTML
# maximum share of an HTML text's words that plain text may lack to replace it: in an alternative, and otherwise
_ALTERNATIVE, _BESIDE = 0.1, 0.2
_REPLACED = 0.1  # maximum share of a plain alternative's words that the HTML may lack to replace it
_ADDRESS = re.compile(r"(?:https?:|www\.|mailto:)\S+", re.I)  # HTML has them in its links


def without_copies(texts: Sequence[Text]) -> list[Text]:
    """Return the texts without duplicates.

    HTML is dropped if the plain texts contain its words. A plain text is dropped if it only says that the message is in
    HTML.
    """
    plain = {word for text in texts if text.kind == "plain" for word in _words(text)}
    shown: list[Text] = []
    for text in texts:
        words = _words(text) if text.kind == "html" else set()
        if not words or len(words - plain) > (_ALTERNATIVE if text.group else _BESIDE) * len(words):
            shown.append(text)
    html = [text for text in shown if text.kind == "html"]
    return [
        text for text in shown
        if text.kind == "html" or not text.group or not _stands_for(text, [h for h in html if h.group == text.group])
    ]  # fmt: skip


def _stands_for(text: Text, html: Sequence[Text]) -> bool:
    words = set(_WORD.findall(_ADDRESS.sub(" ", text.text).lower()))
    shown = {word for other in html for word in _words(other)}
    return bool(html) and (len(words) < _FEW or len(words - shown) <= _REPLACED * len(words))


def _words(text: Text) -> set[str]:
    source = unescape(_MARKUP.sub(" ", text.text)) if text.kind == "html" else text.text
    return set(_WORD.findall(source.lower()))


def _unflowed(text: str, close: bool) -> str:
    """Join the soft line breaks of ``format=flowed`` (RFC 3676). With ``close``, remove the space before a soft
    break.
    """
    lines: list[str] = []
    soft, before = False, 0
    for line in text.split("\n"):
        body = line.lstrip(">")
        depth = len(line) - len(body)
        body = body.removeprefix(" ")
        if soft and depth == before and body != "-- ":
            lines[-1] += body
        else:
            lines.append(f"{'>' * depth} {body}" if depth else body)
        soft, before = body.endswith(" ") and body != "-- ", depth
        if soft and close:
            lines[-1] = lines[-1][:-1]
    return "\n".join(lines)


_PARAMETERS = re.compile(r"<param>.*?</param>", re.I | re.S)
_COMMAND = re.compile(r"</?[a-zA-Z][a-zA-Z0-9-]{0,60}>")


def _plain_enriched(text: str) -> str:
    """Return the plain text of text/enriched (RFC 1896)."""
    text = _COMMAND.sub("", _PARAMETERS.sub("", text.replace("<<", "\0")))
    return text.replace("\0", "<")


_BEGIN = re.compile(r"^begin(?:-base64)? [0-7]{3,4} (.{1,200})\n", re.M)
_END = re.compile(r"^(?:end|====)[ \t]*$\n?", re.M)


def _without_files(text: str) -> tuple[str, tuple[tuple[str, bytes], ...]]:
    """Return a text without uuencoded files, and these files."""
    files: list[tuple[str, bytes]] = []
    parts, at = [], 0
    while (begin := _BEGIN.search(text, at)) is not None and (end := _END.search(text, begin.end())) is not None:
        data = _uudecoded(text[begin.end() : end.start()].split("\n"), begin[0].startswith("begin-base64"))
        if data:
            files.append((begin[1].strip(), data))
        parts.append(text[at : begin.start() if data else end.end()])
        at = end.end()
    return "".join((*parts, text[at:])), tuple(files)


def _uudecoded(lines: Sequence[str], is_base64: bool) -> bytes:
    data = b""
    try:
        for line in filter(str.strip, lines):
            data += binascii.a2b_base64(line) if is_base64 else binascii.a2b_uu(line.encode("ascii"))
    except (binascii.Error, UnicodeEncodeError, ValueError):
        return b""
    return data


_SIGNED = re.compile(r"^-----BEGIN PGP SIGNED MESSAGE-----\n(?:[A-Z][\w-]*:.*\n)*\n?", re.M)
_SIGNATURE = re.compile(r"^-----BEGIN PGP SIGNATURE-----\n.*?(?:^-----END PGP SIGNATURE-----\n?|\Z)", re.M | re.S)
_SECRET = re.compile(r"^-----BEGIN PGP MESSAGE-----\n.*?(?:^-----END PGP MESSAGE-----\n?|\Z)", re.M | re.S)
_DASHES = re.compile(r"^- (?=-)", re.M)


def _without_armour(text: str) -> tuple[str, bool]:
    """Return a text without PGP signatures and encrypted blocks, and whether it had an encrypted block."""
    if "-----BEGIN PGP" not in text:
        return text, False
    if _SIGNED.search(text) is not None:
        text = _DASHES.sub("", _SIGNATURE.sub("", _SIGNED.sub("", text)))
    return _SECRET.sub("", text), _SECRET.search(text) is not None


_CONTENT_LINE = re.compile(r"(?:[\w-]+\.)?([A-Z][A-Z0-9-]*)((?:;[^:;\"]*(?:\"[^\"]*\"[^:;\"]*)*)*):(.*)")
_COMMON_NAME = re.compile(r";CN=(?:\"([^\"]*)\"|([^;:]*))", re.I)
_DAY = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\dZ?)?")
_ESCAPED = re.compile(r"\\([nN,;\\])")
_TECHNICAL = frozenset(
    "BEGIN END VERSION PRODID CALSCALE METHOD UID DTSTAMP SEQUENCE TRANSP CREATED LAST-MODIFIED TZID TZOFFSETFROM "
    "TZOFFSETTO TZNAME TZURL CLASS ACTION TRIGGER REV PHOTO LOGO SOUND KEY".split()
)


def _fields(text: str) -> Iterator[str]:
    """Yield the fields of an invitation (RFC 5545) or a visiting card (RFC 6350) that are meant for people."""
    zone = False
    for line in re.sub(r"\n[ \t]", "", text).split("\n"):
        field = _CONTENT_LINE.fullmatch(line.strip())
        if field is None:
            if line.strip():
                yield line
            continue
        name, parameters, value = field.groups()
        zone = (zone or (name, value) == ("BEGIN", "VTIMEZONE")) and (name, value) != ("END", "VTIMEZONE")
        if zone or name in _TECHNICAL or name.startswith("X-"):
            continue
        value = _ESCAPED.sub(lambda sign: "\n" if sign[1] in "nN" else sign[1], value)
        if (day := _DAY.fullmatch(value)) is not None:
            value = f"{day[1]}-{day[2]}-{day[3]}" + (f" {day[4]}:{day[5]}" if day[4] else "")
        if (person := _COMMON_NAME.search(parameters)) is not None:
            value = f"{person[1] or person[2]} <{value.removeprefix('mailto:').removeprefix('MAILTO:')}>"
        if value.strip(" ;"):
            yield f"{name.replace('DTSTART', 'START').replace('DTEND', 'END').capitalize()}: {value.strip(';')}"
