"""Salvage of a damaged catalog: every readable row is written into a new one."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from hybrid_core.store.database import parts
from hybrid_core.store.recovery.layouts import Layout, Row, Schema, last_ids
from hybrid_core.store.recovery.pages import Damage, PageFile, Record, Tree

_AT_ONCE = 500
_SKIPPED_IDS = 1000  # ids to skip, since an id must never be reused
_RIGHTS = ("tokens", "grants")
LEFT_OUT = frozenset({"workers", "job_waiters", "frequencies", "orders"})
"""Tables that are not salvaged, because their rows live only as long as a process or are counted again."""

Key = int | tuple[object, ...]
"""A rowid, or the primary key of a table without rowids."""

_MILLISECONDS = 10**11  # a smaller number cannot be a time since 1973
_LOOKS_LIKE: Mapping[str, Callable[[Row], object]] = {
    "notes": lambda row: int(str(row["created_at"])) > _MILLISECONDS,
    "feedback": lambda row: row["right"] in (0, 1) and int(str(row["at"])) > _MILLISECONDS,
    "tokens": lambda row: row["kind"] in ("token", "user", "session"),
    "conversations": lambda row: str(row["documents"]).startswith("["),
    "grants": lambda row: row["role"] in ("read", "write", "admin"),
    "trees": lambda row: isinstance(row["sections"], bytes) and row["sections"].startswith(b"ST01"),
    "terms": lambda row: isinstance(row["body"], bytes) and row["body"].startswith(b"TC01"),
}
"""Checks that distinguish tables whose columns have the same types."""

_MISSING_VALUES: Mapping[str, Callable[[Row], Row]] = {
    "documents": lambda row: {
        "content_id": None, "name": str(row["path"]).rpartition("/")[2], "card": "{}", "size": 0, "mtime": 0.0,
        "indexed_at": "1970-01-01T00:00:00+00:00", "error": LOST,
    },
    "conversations": lambda row: {"created_at": row["updated_at"]},
    "conversation_libraries": lambda row: {"position": 0},
    "originals": lambda row: {},
}  # fmt: skip
"""Tables whose rows can be rebuilt from indexes, and the values that the indexes lack."""

LOST = "The stored text of this document was lost when the catalog was damaged; index the file again."


@dataclass(slots=True)
class Saved:
    """The saved rows of one table.

    ``rows`` counts all saved rows, ``partly`` those of them that lack the values of some columns. ``gone`` counts rows
    that are known to be lost. ``whole`` is True if no further row can be lost.
    """

    rows: int
    gone: int
    partly: int
    whole: bool


@dataclass(slots=True)
class _Walk:
    """The state of the salvage of one table.

    ``missing`` are rows that an index lists and the table lacks, with the values of their indexed columns.
    """

    layout: Layout
    tree: Tree
    keys: set[Key] = field(default_factory=set)
    missing: dict[Key, Row] = field(default_factory=dict)
    certain: bool = False  # an undamaged index lists every row
    refused: int = 0
    partly: int = 0
    index_damage: int = 0


class Salvage:
    """Salvage of the tables of one file into ``target``.

    The target has the same tables, empty, and does not check foreign keys.
    """

    def __init__(self, pages: PageFile, schema: Schema, target: sqlite3.Connection) -> None:
        self._pages, self._schema, self._target = pages, schema, target
        self._drained = list[Tree]()
        columns = "SELECT m.name, c.name FROM sqlite_schema m, pragma_table_info(m.name) c WHERE m.type = 'table'"
        self._columns = dict[str, set[str]]()
        for table, column in target.execute(columns):
            self._columns.setdefault(table, set()).add(column)

    def run(self) -> dict[str, Saved]:
        """Write all readable rows of all tables into the target. Return the saved rows by table name."""
        last = last_ids(self._pages, self._schema.sequence)
        layouts = [
            layout
            for layout in self._schema.layouts.values()
            if layout.name not in LEFT_OUT and layout.name in self._columns
        ]
        walks = [self._table(layout) for layout in layouts]
        for layout in self._schema.layouts.values():
            if layout not in layouts:  # read them to assign their pages
                self._drain(layout.root, table=layout.rowids)
                for index in layout.indexes:
                    self._drain(index.root, table=False)
        for walk in walks:
            self._indexes(walk)
        self._strays(walks)
        for walk in walks:
            self._complete(walk)
        damaged = any(walk.tree.damage or walk.index_damage for walk in walks) or any(
            tree.damage for tree in self._drained
        )
        # a tree has lost these pages, and it is unknown which one
        astray = not damaged and bool(self._pages.unclaimed())
        self._number_on(last, walks)
        return {walk.layout.name: self._count_saved(walk, astray) for walk in walks}

    def _table(self, layout: Layout) -> _Walk:
        walk = _Walk(layout, self._pages.new_tree(table=layout.rowids))
        if layout.root:
            self._insert(walk, self._pages.records(walk.tree, layout.root))
        else:
            walk.tree.damage += 1
        return walk

    def _insert(self, walk: _Walk, records: Iterable[Record]) -> None:
        keyed = any(index.whole for index in walk.layout.indexes)
        for some in parts(records, _AT_ONCE):
            rows = list[Row]()
            for record in some:
                row = walk.layout.row(record)
                if row is None:
                    walk.tree.damage += 1
                    continue
                rows.append(row)
                if keyed:
                    walk.keys.add(_row_key(walk.layout, record[0], row))
            self._write(walk, rows)

    def _write(self, walk: _Walk, rows: list[Row]) -> None:
        names = [name for name in walk.layout.columns if name in self._columns[walk.layout.name]]
        if not rows:
            return
        listed, marks = ", ".join(f'"{name}"' for name in names), ", ".join("?" * len(names))
        before = self._target.total_changes
        self._target.executemany(
            f'INSERT OR IGNORE INTO "{walk.layout.name}" ({listed}) VALUES ({marks})',
            [[row[name] for name in names] for row in rows],
        )
        walk.refused += len(rows) - (self._target.total_changes - before)

    def _drain(self, root: int, *, table: bool) -> None:
        self._drained.append(self._pages.new_tree(table=table))
        for _ in self._pages.records(self._drained[-1], root) if root else ():
            pass

    def _indexes(self, walk: _Walk) -> None:
        """Compare the indexes of a table with its rows, to detect missing rows."""
        layout = walk.layout
        for index in layout.indexes:
            if not index.root:
                continue
            tree, named_keys = self._pages.new_tree(table=False), set[Key]()
            for record in self._pages.records(tree, index.root):
                part = layout.part(index, record)
                if part is None:
                    tree.damage += 1
                    continue
                rowid, row = part
                if not index.whole:
                    continue
                key = _row_key(layout, rowid, row)
                tree.damage += key in named_keys  # then another row has no entry
                named_keys.add(key)
                if key not in walk.keys:
                    walk.missing.setdefault(key, {}).update(row)
            walk.index_damage += tree.damage
            walk.certain = walk.certain or (index.whole and not tree.damage and bool(named_keys))
        if not walk.tree.damage and not walk.certain:
            walk.missing.clear()  # the index is damaged, not the table

    def _strays(self, walks: list[_Walk]) -> None:
        """Find pages of the file that belong to no tree, and assign them to the tables whose rows they contain."""
        unclaimed = self._pages.unclaimed()
        damaged = [walk for walk in walks if walk.tree.damage or walk.missing] or walks
        for number in unclaimed:
            try:
                table, records = self._pages.stray(number)
            except (Damage, IndexError, ValueError):
                continue
            fitting = [walk for walk in damaged if walk.layout.rowids == table and self._fits(walk, records)]
            fitting = [walk for walk in fitting if walk.certain] or fitting
            if len(fitting) != 1:
                continue
            walk = fitting[0]
            self._pages.claim_stray(walk.tree, number)
            if walk.certain:  # deleted rows must not reappear
                records = [record for record in records if self._is_missing(walk, record)]
            self._insert(walk, records)

    def _fits(self, walk: _Walk, records: list[Record]) -> bool:
        layout = walk.layout
        if not records or (layout.name in _RIGHTS and not walk.certain and not self._pages.whole):
            return False
        looks = _LOOKS_LIKE.get(layout.name, bool)
        rows = [layout.row(record) for record in records]
        if not all(row is not None and looks(row) for row in rows):
            return False
        return not walk.certain or any(self._is_missing(walk, record) for record in records)

    def _is_missing(self, walk: _Walk, record: Record) -> bool:
        """Return whether the table lacks the row in a record, while an index lists it with the same values."""
        row = walk.layout.row(record)
        if row is None:
            return False
        named = walk.missing.get(_row_key(walk.layout, record[0], row))
        return named is not None and all(row[name] == value for name, value in named.items())

    def _complete(self, walk: _Walk) -> None:
        """Write rows that only indexes list into the target, if the indexes have enough of their columns."""
        if walk.layout.name not in _MISSING_VALUES:
            return
        for key in walk.missing.keys() - walk.keys:
            row = self._complete_row(walk.layout, walk.missing[key])
            if row is not None:
                self._write(walk, [row])
                walk.keys.add(key)
                walk.partly += walk.layout.rowids  # for tables without rowids, the indexes have all columns

    def _complete_row(self, layout: Layout, part: Row) -> Row | None:
        try:
            row = part | _MISSING_VALUES[layout.name](part)
        except KeyError:
            return None
        for column in layout.columns.values():
            if column.name not in row:
                if column.required and column.default is None:
                    return None
                row[column.name] = column.default
        return row

    def _number_on(self, last: Mapping[str, int], walks: list[_Walk]) -> None:
        for walk in walks:
            name, alias = walk.layout.name, walk.layout.alias
            statement = self._target.execute("SELECT sql FROM sqlite_schema WHERE name = ?", [name]).fetchone()
            if not alias or "AUTOINCREMENT" not in statement[0].upper():
                continue
            newest = self._target.execute(f'SELECT max("{alias}") FROM "{name}"').fetchone()[0] or 0
            last_id = last.get(name)
            if last_id is None and (newest or walk.tree.damage):
                newest += _SKIPPED_IDS
            self._target.execute("DELETE FROM sqlite_sequence WHERE name = ?", [name])
            self._target.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", [name, max(newest, last_id or 0)])

    def _count_saved(self, walk: _Walk, astray: bool) -> Saved:
        rows = self._target.execute(f'SELECT count(*) FROM "{walk.layout.name}"').fetchone()[0]
        gone = len(walk.missing.keys() - walk.keys) + walk.refused
        return Saved(rows, gone, walk.partly, walk.certain or not (walk.tree.damage or astray))


def _row_key(layout: Layout, rowid: int, row: Row) -> Key:
    return rowid if layout.rowids else tuple(row[name] for name in layout.key)
