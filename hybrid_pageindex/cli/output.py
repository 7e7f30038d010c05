"""Write text to the standard streams, escaping what the encoding lacks and what would break a line."""

from __future__ import annotations

import io
import json
import os
import sys
import unicodedata
from typing import Any

_BREAKS = ("Cc", "Cs", "Zl", "Zp")  # controls, lone surrogates, line and paragraph separators


def prepare() -> None:
    """Escape what stdout cannot encode, and replace streams that are closed."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115, PTH123 - open as long as the process
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def abandon() -> None:
    """Discard buffered output, which would cause another error when Python ends."""
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
    """Escape control characters but tabs, as in ``a\\nb.pdf``: they could end the line or command the terminal."""
    return "".join(_escaped(c) if unicodedata.category(c) in _BREAKS and c != "\t" else c for c in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()
