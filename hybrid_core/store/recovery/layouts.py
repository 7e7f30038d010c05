"""Layouts of tables in a SQLite file: the column of each value in a record, and the values that are valid."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field

from hybrid_core.store.recovery.pages import Damage, PageFile, Record, Text, Tree, Value

Row = dict[str, Value]
_SCHEMA_ROOT = 1
_SEQUENCE = "sqlite_sequence"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. ``kind`` is "text", "integer", "float" or "blob".

    ``default`` is its value in rows that were written before the column was added.
    """

    name: str
    kind: str
    required: bool
    default: Value


@dataclass(frozen=True, slots=True)
class Index:
    """An index of a table. ``columns`` are in the order of its records, followed by the rowid if the table has one.

    With ``whole`` it has an entry for every row. ``root`` is the number of its root page, 0 if unknown.
    """

    name: str
    columns: tuple[str, ...]
    whole: bool
    root: int = 0


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a table. ``stored`` are the columns in the order of its records, ``key`` is the primary key.

    ``alias`` is the column that equals the rowid, "" for none. ``root`` is its root page, 0 if unknown.
    """

    name: str
    columns: Mapping[str, Column]
    stored: tuple[str, ...]
    key: tuple[str, ...]
    rowids: bool
    alias: str
    indexes: tuple[Index, ...]
    root: int = 0

    def row(self, record: Record) -> Row | None:
        """Return the values of a record by column, None if it cannot belong to this table."""
        rowid, values = record
        if len(values) > len(self.stored):
            return None
        row: Row = {}
        for at, name in enumerate(self.stored):
            column = self.columns[name]
            value = values[at] if at < len(values) else column.default
            if name == self.alias:
                value = rowid
            if not _fits(value, column):
                return None
            row[name] = _decode_value(value, column)
        return row

    def part(self, index: Index, record: Record) -> tuple[int, Row] | None:
        """Return the rowid (0 for none) and the column values of an index entry, None if it is invalid."""
        _, values = record
        if len(values) != len(index.columns) + self.rowids:
            return None
        rowid = values[-1] if self.rowids else 0
        row: Row = {}
        for name, value in zip(index.columns, values, strict=False):
            if not _fits(value, self.columns[name]):
                return None
            row[name] = _decode_value(value, self.columns[name])
        return (rowid, row) if isinstance(rowid, int) else None


@dataclass(frozen=True, slots=True)
class Schema:
    """The tables of a damaged file. ``statements`` are the readable statements that created tables and indexes.

    ``missing`` are expected tables that the file's schema does not list. ``sequence`` is the root page of the table
    ``sqlite_sequence``, 0 if unknown. ``usual`` is True if all tables have the expected number of columns. ``replaced``
    are tables with a damaged or lost statement, for which the expected layout is used.
    """

    layouts: Mapping[str, Layout]
    statements: tuple[str, ...]
    missing: frozenset[str]
    sequence: int
    usual: bool = False
    replaced: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Entries:
    tables: dict[str, tuple[int, str]] = field(default_factory=dict)
    indexes: dict[str, tuple[int, str]] = field(default_factory=dict)


def read_schema(pages: PageFile, expected: Iterable[str]) -> Schema:
    """Read the layouts of the tables in a file. Lost tables get the layout of the ``expected`` CREATE statements."""
    tree = pages.new_tree(table=True)
    entries = _Entries()
    for record in pages.records(tree, _SCHEMA_ROOT):
        tree.damage += not _note(entries, record)
    for number in pages.unclaimed() if tree.damage else ():
        _take_stray(pages, tree, number, entries)
    usual = _layouts(expected, {})
    roots = {name: root for kind in (entries.tables, entries.indexes) for name, (root, _) in kind.items()}
    statements = [sql for kind in (entries.tables, entries.indexes) for _, sql in kind.values() if sql]
    layouts = _layouts(statements, roots)
    replaced = set[str]()
    for name, layout in usual.items():
        columns = set(layouts[name].columns) if name in layouts else set[str]()
        if not columns or (len(columns) == len(layout.columns) and columns != set(layout.columns)):
            layouts[name] = _with_roots(layout, roots)  # the statement is lost or damaged
            replaced.add(name)
    same = all(len(layouts[name].columns) == len(layout.columns) for name, layout in usual.items())
    missing = frozenset(usual.keys() - entries.tables.keys())
    last = roots.get(_SEQUENCE, 0)
    return Schema(layouts, tuple(statements), missing, last, same and not missing, frozenset(replaced))


def statements_of(connection: sqlite3.Connection) -> list[str]:
    """Return the CREATE statements of the tables and indexes of a database."""
    query = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC"
    return [sql for (sql,) in connection.execute(query)]


def _note(entries: _Entries, record: Record) -> bool:
    """Add a record of the schema table to the entries. Return False if it is invalid."""
    values = record[1]
    if len(values) != 5:
        return False
    kind, name, _, root, sql = values
    if not (isinstance(kind, Text) and isinstance(name, Text) and isinstance(root, int)):
        return False
    if kind not in (b"table", b"index") or not isinstance(sql, Text | None):
        return False
    try:
        place = entries.tables if kind == b"table" else entries.indexes
        place[name.decode()] = (root, sql.decode() if sql else "")
    except UnicodeDecodeError:
        return False
    return True


def _take_stray(pages: PageFile, tree: Tree, number: int, entries: _Entries) -> None:
    try:
        table, records = pages.stray(number)
    except Damage:
        return
    if table and records and all(_note(_Entries(), record) for record in records):
        for record in records:
            _note(entries, record)
        pages.claim_stray(tree, number)


def _layouts(statements: Iterable[str], roots: Mapping[str, int]) -> dict[str, Layout]:
    """Return the table layouts that CREATE statements define, by name. Skip statements that SQLite refuses.

    ``roots`` has the root pages of tables and indexes.
    """
    with closing(sqlite3.connect(":memory:")) as scratch:
        for sql in sorted(statements, key=lambda statement: not statement.upper().startswith("CREATE TABLE")):
            if sql.upper().startswith("CREATE ") and not sql.startswith("CREATE TABLE sqlite_"):
                with suppress(sqlite3.Error, sqlite3.Warning, ValueError):
                    scratch.execute(sql)
        query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        names = [name for (name,) in scratch.execute(query)]
        layouts = dict[str, Layout]()
        for name in names:
            with suppress(sqlite3.Error, ValueError):
                layouts[name] = _layout(scratch, name, roots)
        return layouts


def _layout(scratch: sqlite3.Connection, table: str, roots: Mapping[str, int]) -> Layout:
    described = scratch.execute('SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?)', [table])
    columns, keyed = dict[str, Column](), list[tuple[int, str]]()
    types = dict[str, str]()
    for name, declared, required, default, key in described.fetchall():
        value = None if default is None else scratch.execute(f"SELECT {default}").fetchone()[0]
        kind = _column_kind(declared)
        if kind in ("integer", "float") and isinstance(value, str):
            value = float(value) if kind == "float" else int(value)
        columns[name] = Column(name, kind, bool(required), value)
        types[name] = declared.upper()
        if key:
            keyed.append((key, name))
    key_names = tuple(name for _, name in sorted(keyed))
    try:
        scratch.execute(f'SELECT rowid FROM "{table}"')
        rowids = True
    except sqlite3.OperationalError:
        rowids = False
    alias = key_names[0] if rowids and len(key_names) == 1 and types[key_names[0]] == "INTEGER" else ""
    stored = tuple(columns) if rowids else (*key_names, *(name for name in columns if name not in key_names))
    indexes = []
    for name, origin, partial in scratch.execute("SELECT name, origin, partial FROM pragma_index_list(?)", [table]):
        if origin == "pk" and not rowids:
            continue
        query = "SELECT name FROM pragma_index_xinfo(?) WHERE cid >= 0 ORDER BY seqno"
        covered = tuple(row[0] for row in scratch.execute(query, [name]).fetchall())
        indexes.append(Index(name, covered, not partial, roots.get(name, 0)))
    return Layout(table, columns, stored, key_names, rowids, alias, tuple(indexes), roots.get(table, 0))


def _with_roots(layout: Layout, roots: Mapping[str, int]) -> Layout:
    indexes = tuple(Index(index.name, index.columns, index.whole, roots.get(index.name, 0)) for index in layout.indexes)
    return Layout(
        layout.name, layout.columns, layout.stored, layout.key, layout.rowids, layout.alias, indexes,
        roots.get(layout.name, 0),
    )  # fmt: skip


def _column_kind(declared: str) -> str:
    upper = declared.upper()
    if "CHAR" in upper or "TEXT" in upper:
        return "text"
    return {"BLOB": "blob", "FLOAT": "float"}.get(upper, "integer")


def _fits(value: Value, column: Column) -> bool:
    if value is None:
        return not column.required
    if column.kind == "text":
        return isinstance(value, str) or (isinstance(value, Text) and _is_text(value))
    if column.kind == "blob":
        return isinstance(value, bytes) and not isinstance(value, Text)
    return isinstance(value, int) or (column.kind == "float" and isinstance(value, float))


def _is_text(value: Text) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _decode_value(value: Value, column: Column) -> Value:
    if isinstance(value, Text):
        return value.decode()
    return float(value) if column.kind == "float" and isinstance(value, int) else value


def last_ids(pages: PageFile, root: int) -> dict[str, int]:
    """Return the last id that each table has assigned, from ``sqlite_sequence``."""
    ids = dict[str, int]()
    for _, values in pages.records(pages.new_tree(table=True), root) if root else ():
        match values:
            case [Text() as name, int() as last]:
                ids[name.decode(errors="replace")] = last
    return ids
