"""Bytes of a text file become text: UTF-8 first; another encoding only with a warning that names it."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from hybrid_core.errors import DocumentError

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MOST_CONTROLS = 0.02  # share of control bytes above which a file is not text
_HIGH = re.compile(rb"[\x80-\xff]+")
_SEQUENCE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_SAMPLE, _ZEROS = 4096, 0.7  # bytes looked at, and the share of zeros in every second one that makes them UTF-16
_PAIRED = 0.95  # share of runs of high bytes with an even length: all of them in GB 18030, half of them elsewhere


def read_text(path: Path) -> tuple[str, list[str]]:
    """The file's text with line ends as newlines, and warnings.

    Raises DocumentError where it cannot be read, is empty, or is not text.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DocumentError(f"{path}: cannot be read ({error.strerror}).") from error
    if not data:
        raise DocumentError(f"{path}: the file is empty.")
    text, warnings = decode(data, path)
    return text.replace("\r\n", "\n").replace("\r", "\n"), warnings


def decode(data: bytes, path: Path) -> tuple[str, list[str]]:
    """Bytes as text, and warnings. Raises DocumentError where they are not text; ``path`` says whose they are."""
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            text = data[len(mark) :].decode(encoding, "replace")
            broken = text.count("\ufffd")
            return text, [f"{broken} characters are no valid {encoding.upper()}"] if broken else []
    if encoding := _unmarked(data):
        text = data.decode(encoding, "replace")
        return text, [f"it bears no mark of its encoding; it was read as {encoding.upper()}"]
    controls = len(_CONTROLS.findall(data))
    if b"\x00" in data or controls > _MOST_CONTROLS * len(data):
        raise DocumentError(f"{path}: not a text file (it holds binary data).")
    try:
        return data.decode("utf-8"), []
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
    high = sum(map(len, _HIGH.findall(data)))
    if sum(map(len, _SEQUENCE.findall(data))) > 0.7 * high:
        text = data.decode("utf-8", "replace")
        return text, [f"bytes that are not UTF-8 were replaced, first in line {line}"]
    advice = "save it as UTF-8 if it looks wrong"
    runs = _HIGH.findall(data)
    if sum(len(run) % 2 == 0 for run in runs) >= _PAIRED * len(runs):
        try:
            return data.decode("gb18030"), [f"not UTF-8 (line {line}); it was read as GB 18030: {advice}"]
        except UnicodeDecodeError:
            pass
    return data.decode("cp1252", "replace"), [f"not UTF-8 (line {line}); it was read as Windows-1252: {advice}"]


def _unmarked(data: bytes) -> str:
    """UTF-16 of mostly Latin letters, told by where its zeros stand; "" for anything else."""
    head = data[:_SAMPLE]
    half = max(1, len(head) // 2)
    high, low = head[0::2].count(0) / half, head[1::2].count(0) / half
    if len(head) % 2 or max(high, low) < _ZEROS or min(high, low) > 0:
        return ""
    encoding = "utf-16-be" if high > low else "utf-16-le"
    return "" if _CONTROLS.search(head.decode(encoding, "replace").encode()) else encoding
