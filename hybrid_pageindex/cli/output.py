"""Write text to the standard streams. Characters that the encoding lacks or that break a line are escaped."""

from __future__ import annotations

import io
import json
import logging
import os
import sys
import unicodedata
from typing import Any

_BREAKS = ("Cc", "Cs", "Zl", "Zp")  # control characters, lone surrogates, line and paragraph separators


def prepare() -> None:
    """Let stdout escape characters that it cannot encode, and replace closed streams by the null device.

    Also suppress the traceback of a log message that cannot be written because memory or disk are full.
    """
    logging.raiseExceptions = False
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123 - stays open as long as the process
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def discard() -> None:
    """Discard buffered output, because writing it when Python ends would cause another error."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def dump(value: Any) -> None:
    """Print a value as JSON."""
    unicode = (sys.stdout.encoding or "").lower().startswith("utf")
    print(json.dumps(value, ensure_ascii=not unicode, indent=2))


def visible(text: str) -> str:
    r"""Return text with control characters except tabs escaped, such as ``a\nb.pdf``.

    Unescaped, they could break a line or control the terminal.
    """
    return "".join(_escaped(c) if unicodedata.category(c) in _BREAKS and c != "\t" else c for c in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
