"""A section tree as it is stored, each section made when it is first looked at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from sqlalchemy import Row

from hybrid_core.store.catalog.rows import to_section
from hybrid_core.types.documents import Section


class StoredSections(Sequence[Section]):
    """Sections in preorder. A search reads the trees of several documents with hundreds of sections each, and looks at
    a dozen of them: the others are columns to it.
    """

    def __init__(self, rows: Sequence[Row[Any]]) -> None:
        self._rows = rows
        self._made: list[Section | None] = [None] * len(rows)

    @overload
    def __getitem__(self, at: int) -> Section: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Section]: ...
    def __getitem__(self, at: int | slice) -> Section | Sequence[Section]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        made = self._made[at]
        if made is None:
            made = self._made[at] = to_section(self._rows[at])
        return made

    def __len__(self) -> int:
        return len(self._rows)

    def column(self, name: str) -> list[Any]:
        """One stored value of every section; "parent" is the position of the section above, from 1, 0 at the top."""
        at = self._rows[0]._fields.index(name) if self._rows else 0
        return [row[at] for row in self._rows]


def column(sections: Sequence[Section], name: str) -> list[Any]:
    """``StoredSections.column`` of any sections in preorder."""
    if isinstance(sections, StoredSections):
        return sections.column(name)
    if name == "parent":
        return [0 if section.parent_id is None else int(section.parent_id) for section in sections]
    return [getattr(section, name) for section in sections]
