"""A document's one-line description."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_core.types.documents import Section

_LISTED = 6


def describe(title: str, sections: Sequence[Section], pages: int) -> str:
    """One line: the title, how long it is, and what its main sections are called."""
    real = [section for section in sections if not section.synthetic]
    if len(real) > 1 and [section.title for section in real if section.parent_id is None] == [title]:
        del real[0]  # the title again, over everything else
    top = min((section.level for section in real), default=1)
    names = list(dict.fromkeys(section.title for section in real if section.level == top))
    if len(names) < 3:
        names = list(dict.fromkeys(section.title for section in real if section.level <= top + 1))
    shown = "; ".join(name if len(name) <= 60 else name[:59] + "…" for name in names[:_LISTED])
    more = f"; … ({len(names) - _LISTED} more)" if len(names) > _LISTED else ""
    extent = f"{pages} page" + ("s" if pages != 1 else "")
    return f"{title} ({extent})" + (f": {shown}{more}" if shown else "")
