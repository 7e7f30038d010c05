"""What a person says a document's headings are."""

from __future__ import annotations

from dataclasses import dataclass

Row = tuple[int, str, int]  # level from 1, title, page from 1


@dataclass(frozen=True, slots=True)
class HumanOutline:
    """``rows`` in reading order. Where judgement is tolerant, ``optional`` headings are no mistakes, and ``doubtful``
    ones of the rows (drawn as pictures, defensible either way) need not be found. Only headings on pages ``first`` to
    ``last`` count; None: to the end. Outlines of one ``kind`` are held out together. ``language`` is "" where nobody
    says.
    """

    rows: tuple[Row, ...]
    optional: tuple[Row, ...] = ()
    doubtful: tuple[Row, ...] = ()
    first: int = 1
    last: int | None = None
    kind: str = ""
    language: str = ""
