"""Repair of a salvaged catalog.

Rows that refer to lost rows are repaired, marked for indexing again, or deleted. So are rows with invalid values, which
SQLite does not detect, since its pages have no checksums. Stored files whose address is lost get a new one.
"""

from __future__ import annotations

import json
import secrets
import struct
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath
from typing import Any, get_args

import numpy as np
from sqlalchemy import Connection, insert, select, text, update
from sqlalchemy.exc import InvalidRequestError

from hybrid_core.cards.corrections import card_from_json, corrected_card
from hybrid_core.errors import PageIndexError
from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import COUNTER, kept_files
from hybrid_core.store.catalog.frequencies import Recount, frequencies
from hybrid_core.store.catalog.libraries import RENEWED, all_libraries, library_ids
from hybrid_core.store.catalog.rows import delete_content, now
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.store.catalog.upgrades import fill_orders
from hybrid_core.store.conversations.tables import messages, to_result
from hybrid_core.store.database import UNREADABLE, parts
from hybrid_core.store.recovery.salvage import LOST, Saved
from hybrid_core.text.terms import TermCounts
from hybrid_core.types import access, conversations, jobs, sources
from hybrid_core.types.libraries import UPLOAD, containers, is_upload, library_called

GARBLED = (
    ValueError, KeyError, TypeError, IndexError, AttributeError, struct.error, InvalidRequestError, PageIndexError,
    *UNREADABLE,
)  # fmt: skip
"""The errors that reading a damaged or missing value raises."""

_JSON: dict[str, tuple[tuple[str, str], ...]] = {
    "contents": (("metadata", "{}"), ("warnings", "[]"), ("models", "{}")),
    "sources": (("options", "{}"), ("mounts", "{}")),
    "jobs": (("options", "{}"), ("result", "{}")),
    "job_events": (("detail", "{}"),),
    "conversations": (("documents", "[]"),),
    "messages": (("result", "{}"),),
    "citations": (("section_path", "[]"), ("boxes", "")),
    "message_events": (("detail", "{}"),),
    "replies": (("headers", "{}"),),
}
"""Columns with JSON, and the replacement for a damaged value. A valid value begins with the same character."""

_WORDS: dict[tuple[str, str], tuple[tuple[str, ...], str]] = {
    ("messages", "status"): (get_args(conversations.MessageStatus), "complete"),
    ("messages", "searched_from"): (get_args(conversations.QuestionFrom), "as asked"),
    ("conversations", "title_from"): (get_args(conversations.TitleFrom), "user"),
    ("sources", "watch"): (get_args(sources.WatchMode), ""),
    ("jobs", "status"): (get_args(jobs.JobStatus), "cancelled"),
}
"""Columns with one of several words, and the replacement for an unknown word."""

_REQUIRED_WORDS: dict[tuple[str, str], tuple[str, ...]] = {
    ("messages", "role"): get_args(conversations.Role),
    ("message_events", "kind"): get_args(conversations.MessageEventKind),
    ("sources", "kind"): get_args(sources.SourceKind),
    ("jobs", "kind"): ("index", "embed"),
    ("tokens", "kind"): ("token", "user", "session"),
    ("grants", "role"): get_args(access.Role),
}
"""Columns with words that decide what a row is. A row with an unknown word is deleted."""

_MARK_BITS = 62

_LIBRARIES = (
    "SELECT library FROM documents UNION SELECT library FROM originals UNION SELECT library FROM sources UNION "
    "SELECT library FROM exclusions UNION SELECT library FROM notes UNION SELECT library FROM feedback"
)
_ORPHAN_ROWS: dict[str, str] = {
    "grants": "token NOT IN (SELECT id FROM tokens)",
    "conversation_libraries": "conversation NOT IN (SELECT id FROM conversations)",
    "citations": "message NOT IN (SELECT id FROM messages)",
    "message_events": "message NOT IN (SELECT id FROM messages)",
    "conversation_summaries": "message NOT IN (SELECT id FROM messages)",
}
"""Tables whose rows are useless without the row that they refer to."""

RECOVERED = "recovered"
"""The name of the library for files of unknown origin."""

HASH = 64  # length of the SHA-256 at the beginning of a stored file's name
SHOWN = 12  # characters of the hash in the new name of a file
_DOCUMENT = text(
    "SELECT d.library, d.path FROM documents d JOIN contents c ON c.content_id = d.content_id WHERE c.sha256 = :sha256 "
    "AND NOT EXISTS (SELECT 1 FROM originals o WHERE o.library = d.library AND o.path = d.path)"
)
_SELECT_CITATION = text(
    "SELECT library, doc_name FROM citations WHERE sha256 = :sha256 AND library IN (SELECT id FROM libraries)"
)


class Mending:
    """Repair of a salvaged catalog, with counts of the repairs.

    ``lost`` counts the deleted rows by table, ``emptied`` counts the rows in which an invalid value was replaced, and
    ``rebuild`` counts the documents that have to be indexed again.
    """

    def __init__(self, catalog: Catalog, saved: dict[str, Saved]) -> None:
        self._catalog, self._saved = catalog, saved
        self.lost, self.emptied = Counter[str](), Counter[str]()
        self.libraries = list[str]()
        self.rebuild = 0

    @property
    def changed(self) -> bool:
        """Return whether anything was repaired."""
        return bool(self.lost.total() or self.emptied.total() or self.libraries or self.rebuild)

    def run(self) -> None:
        """Repair all tables of the catalog. Raise StoreError if it cannot be written."""
        with self._catalog.writing() as connection:
            self._add_libraries(connection)
            mend_values(connection, self.lost, self.emptied)
            self._mend_conversations(connection)
            self._drop_hanging(connection)
            self._mend_documents(connection)
        self._discard_halves()
        with self._catalog.writing() as connection:
            if not (self._is_complete("embeddings") and self._is_complete("embedded")):
                # Some vectors may be lost. Contents without this mark reuse the remaining vectors when they are
                # embedded again.
                connection.execute(schema.embedded.delete())
            _count_again(connection)
            fill_orders(connection)
            _number_on(connection)

    def _add_libraries(self, connection: Connection) -> None:
        """Create a row for each lost library that documents and notes refer to, with its id."""

        for library in sorted(set(connection.scalars(text(_LIBRARIES))).difference(library_ids(connection))):
            others = all_libraries(connection)
            names = (library.partition(RENEWED)[0], *(f"recovered {n}" for n in range(1, len(others) + 2)))
            name = next(candidate for candidate in names if candidate and library_called(candidate, others) is None)
            values = {"id": library, "name": name, "alias": "", "created_at": now()}
            connection.execute(schema.libraries.insert().values(**values))
            self.libraries.append(name)
        for column in ("embedder", "next_embedder"):
            where = f"{column} IS NOT NULL AND {column} NOT IN (SELECT fingerprint FROM embedders)"
            self.emptied["libraries"] += _execute(connection, f"UPDATE libraries SET {column} = NULL WHERE {where}")

    def _mend_conversations(self, connection: Connection) -> None:
        """Create conversations for messages whose conversation is lost. Their owner is unknown."""
        created = _execute(
            connection,
            "INSERT INTO conversations (id, title, created_at, updated_at) SELECT conversation, 'recovered', "
            "min(created_at), max(created_at) FROM messages WHERE conversation NOT IN (SELECT id FROM conversations) "
            "GROUP BY conversation",
        )
        self.emptied["conversations"] += created
        self.emptied["messages"] += _execute(
            connection,
            "UPDATE messages SET parent = coalesce((SELECT max(e.id) FROM messages e WHERE e.conversation = "
            "messages.conversation AND e.id < messages.id), 0) WHERE parent <> 0 AND NOT EXISTS (SELECT 1 FROM "
            "messages e WHERE e.id = messages.parent AND e.id < messages.id AND "
            "e.conversation = messages.conversation)",
        )
        self.emptied["conversations"] += _execute(
            connection,
            "UPDATE conversations SET leaf = coalesce((SELECT max(id) FROM messages WHERE conversation = "
            "conversations.id), 0) WHERE leaf <> 0 AND NOT EXISTS (SELECT 1 FROM messages e WHERE e.id = leaf AND "
            "e.conversation = conversations.id)",
        )

    def _drop_hanging(self, connection: Connection) -> None:
        for table, where in _ORPHAN_ROWS.items():
            self.lost[table] += _execute(connection, f"DELETE FROM {table} WHERE {where}")
        orphan = "kind = 'session' AND parent <> '' AND parent NOT IN (SELECT id FROM tokens)"
        _execute(connection, f"DELETE FROM grants WHERE token IN (SELECT id FROM tokens WHERE {orphan})")
        self.lost["tokens"] += _execute(connection, f"DELETE FROM tokens WHERE {orphan}")
        # rows that belong to lost contents
        for table in ("pages", "trees", "chunks", "terms", "embedded"):
            where = "content_id NOT IN (SELECT content_id FROM contents)"
            self.lost[table] += _execute(connection, f"DELETE FROM {table} WHERE {where}")

    def _mend_documents(self, connection: Connection) -> None:
        columns = schema.documents.c
        rows = connection.execute(select(columns.doc_id, columns.card, columns.corrections)).all()
        for row in rows:
            values: dict[str, Any] = {}
            corrections = _parse_json(row.corrections, dict)
            if corrections is None or not works(corrected_card, card_from_json({}), corrections):
                values["corrections"] = "{}"
                self.emptied["corrections"] += 1
            if not works(lambda text: card_from_json(json.loads(text)), row.card):
                values |= {"card": "{}", "content_id": None, "error": LOST}
                self.rebuild += 1
            if values:
                connection.execute(update(schema.documents).where(columns.doc_id == row.doc_id).values(**values))
        where = "content_id IS NOT NULL AND content_id NOT IN (SELECT content_id FROM contents)"
        statement = text(f"UPDATE documents SET content_id = NULL, error = :error WHERE {where}")
        self.rebuild += connection.execute(statement, {"error": LOST}).rowcount

    def _discard_halves(self) -> None:
        """Delete incomplete parsed documents, and mark them for indexing again.

        A document is incomplete if a page, its section tree or its term counts are lost.
        """
        with self._catalog.snapshot() as snapshot, self._catalog.reading() as connection:
            columns = schema.contents.c
            contents = connection.execute(select(columns.content_id, columns.pages, columns.sections)).all()
            sure = self._is_complete("chunks")
            halves = [row.content_id for row in contents if not _is_whole(snapshot, *row, chunks=sure)]
        with self._catalog.writing() as connection:
            documents = schema.documents.c
            for content_id in halves:
                used = update(schema.documents).where(documents.content_id == content_id)
                self.rebuild += connection.execute(used.values(content_id=None, error=LOST)).rowcount
                delete_content(connection, content_id)
                self.lost["contents"] += 1

    def _is_complete(self, table: str) -> bool:
        saved = self._saved.get(table)
        return saved is None or (saved.whole and not saved.gone)


def mend_values(connection: Connection, lost: Counter[str], emptied: Counter[str]) -> None:
    """Replace invalid values, or delete their rows. ``lost`` and ``emptied`` count the rows by table."""
    for (table, column), words in _REQUIRED_WORDS.items():
        if table == "tokens":
            unknown = f"token IN (SELECT id FROM tokens WHERE kind NOT IN ({_quote(words)}))"
            lost["grants"] += _execute(connection, f"DELETE FROM grants WHERE {unknown}")
        lost[table] += _execute(connection, f"DELETE FROM {table} WHERE {column} NOT IN ({_quote(words)})")
    for (table, column), (words, usual) in _WORDS.items():
        where = f"{column} NOT IN ({_quote(words)})"
        emptied[table] += _execute(connection, f"UPDATE {table} SET {column} = '{usual}' WHERE {where}")
    for table, columns in _JSON.items():
        for column, empty in columns:
            opening = f" OR substr({column}, 1, 1) <> '{empty[0]}'" if empty else ""
            where = f"{column} <> '{empty}' AND (NOT json_valid({column}){opening})"
            emptied[table] += _execute(connection, f"UPDATE {table} SET {column} = '{empty}' WHERE {where}")
    for row in connection.execute(select(messages.c.id, messages.c.result).where(messages.c.result != "{}")).all():
        if not works(to_result, json.loads(row.result)):
            connection.execute(update(messages).where(messages.c.id == row.id).values(result="{}"))
            emptied["messages"] += 1


def are_sound(counts: TermCounts) -> bool:
    """Return whether each term of decoded term counts has pages, and these are in ascending order."""
    if not (np.diff(counts.starts) > 0).all():
        return False
    rising = np.diff(counts.pages.astype(np.int64)) > 0
    rising[counts.starts[1:-1] - 1] = True  # the next term begins here
    return bool(rising.all())


def works(call: Callable[..., object], *arguments: Any) -> bool:
    """Call a function that decodes stored values. Return whether it succeeds, and so finds no damaged value."""
    try:
        call(*arguments)
    except GARBLED:
        return False
    return True


def _quote(words: tuple[str, ...]) -> str:
    return ", ".join(f"'{word}'" for word in words)


def _is_whole(snapshot: Snapshot, content_id: str, pages: int, sections: int, *, chunks: bool) -> bool:
    """Return whether a parsed document is complete.

    ``chunks`` is True if no chunk of any document is lost. If it is False, the document's chunks are checked, too.
    """
    try:
        content = snapshot.content(content_id)
        words = snapshot.looked_into([content_id]).get(content_id)
        titles = None if words is None else words.sections.title_terms
    except GARBLED:
        return False
    if content is None or words is None or titles is None or len(content.sections) != sections:
        return False
    if [page.number for page in content.pages] != list(range(1, pages + 1)) or words.body.page_count != pages:
        return False
    if titles.page_count != sections or not all(map(are_sound, (words.body, words.headings, titles))):
        return False
    if not all(1 <= chunk.page <= pages and 1 <= int(chunk.node_id) <= sections for chunk in content.chunks):
        return False
    return chunks or _chunks_cover_pages(content)


def _chunks_cover_pages(content: Any) -> bool:
    """Return whether the chunks cover all text of the pages."""
    if [chunk.number for chunk in content.chunks] != list(range(1, len(content.chunks) + 1)):
        return False
    left = {page.number: list(page.text) for page in content.pages}
    for chunk in content.chunks:
        if chunk.page not in left:
            return False
        left[chunk.page][chunk.start : chunk.end] = " " * (min(chunk.end, len(left[chunk.page])) - chunk.start)
    return not any("".join(letters).strip() for letters in left.values())


def _count_again(connection: Connection) -> None:
    connection.execute(frequencies.delete())
    documents = schema.documents.c
    published = select(documents.library, documents.content_id).where(documents.content_id.is_not(None))
    for some in parts(connection.execute(published).all()):
        recount = Recount(connection)
        for row in some:
            recount.add(row.library, row.content_id)
        recount.write()


def _number_on(connection: Connection) -> None:
    """Set the catalog's counters above all numbers in use.

    Give all changes in the log a new mark, so that each search index is rebuilt.
    """
    mark = secrets.randbits(_MARK_BITS) + 1
    connection.execute(update(schema.changes).values(mark=mark))
    newest = (
        ("SELECT :name || library, max(seq) FROM changes WHERE true GROUP BY library", COUNTER),
        ("SELECT :name, max(number) FROM job_events WHERE true HAVING max(number) > 0", "job events"),
    )
    for query, name in newest:
        statement = f"INSERT INTO counters (name, n) {query} ON CONFLICT (name) DO UPDATE SET n = max(n, excluded.n)"
        connection.execute(text(statement), {"name": name})


def _execute(connection: Connection, statement: str) -> int:
    return int(connection.exec_driver_sql(statement).rowcount)


def _parse_json(written: str, kind: type) -> Any:
    try:
        value = json.loads(written)
    except ValueError:
        return None
    return value if isinstance(value, kind) else None


def name_originals(connection: Connection, names: Sequence[str]) -> int:
    """Create rows in the table ``originals`` for stored files that have none.

    Their address is that of the document with these bytes, or a new one. Return the number of files that had no row.
    """
    unnamed = sorted(set(names) - kept_files(connection))
    for name in unnamed:
        for library, path in _addresses(connection, name):
            inside = containers(path)
            values = {"library": library, "path": path, "container": inside[-1] if inside else "", "file": name}
            connection.execute(insert(schema.originals).values(**values))
    return len(unnamed)


def _addresses(connection: Connection, name: str) -> list[tuple[str, str]]:
    """Return (library, address) pairs under which to enter a stored file: its documents, or one new address."""
    sha256 = name[:HASH]
    documents = [tuple(row) for row in connection.execute(_DOCUMENT, {"sha256": sha256})]
    places = [(library, path) for library, path in documents if is_upload(path) or not Path(path).exists()]
    if places:
        return places
    cited = connection.execute(_SELECT_CITATION, {"sha256": sha256}).first()
    if cited is None:
        library, called = _recovered_library(connection), sha256[:SHOWN] + PurePath(name).suffix
    else:
        library, called = cited.library, cited.doc_name.replace("!/", "-")
    return [(library, _free_address(connection, library, called))]


def _free_address(connection: Connection, library: str, called: str) -> str:
    """Return an unused address in the library for an uploaded file with the name ``called``."""
    columns = schema.originals.c
    taken = set(connection.scalars(select(columns.path).where(columns.library == library)))
    stem, suffix = PurePath(called).stem, PurePath(called).suffix
    path, number = UPLOAD + called, 1
    while path in taken:
        number += 1
        path = f"{UPLOAD}{stem}-{number}{suffix}"
    return path


def _recovered_library(connection: Connection) -> str:
    """Return the id of the library for files of unknown origin. Create it if it is missing."""
    libraries = all_libraries(connection)
    library = library_called(RECOVERED, libraries)
    if library is not None:
        return library.id
    values = {"id": RECOVERED, "name": RECOVERED, "alias": "", "created_at": now()}
    connection.execute(insert(schema.libraries).values(**values))
    return RECOVERED
