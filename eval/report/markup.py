"""HTML from parts: whatever is not made here is text, and text is escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable


class Markup(str):
    """HTML that is already safe."""

    __slots__ = ()


def element(name: str, *inside: str, **attributes: str) -> Markup:
    """``<name attribute="…">inside</name>``; an attribute's trailing ``_`` is left out, others become ``-``."""
    named = "".join(f' {key.rstrip("_").replace("_", "-")}="{html.escape(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{named}>{join(inside)}</{name}>")


def join(parts: Iterable[str]) -> Markup:
    """The parts one after another, those that are no Markup escaped."""
    return Markup("".join(part if isinstance(part, Markup) else html.escape(part) for part in parts))
