"""A salvaged catalog brought in order: what refers to lost rows is mended, marked for indexing again, or dropped."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from typing import Any

from sqlalchemy import Connection, select, text, update

from hybrid_core.cards.as_json import card_from_json
from hybrid_core.cards.corrections import corrected_card
from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.changes import COUNTER
from hybrid_core.store.catalog.frequencies import Recount, frequencies
from hybrid_core.store.catalog.rows import delete_content, now
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.store.catalog.upgrades import fill_orders
from hybrid_core.store.parts import parts
from hybrid_core.store.recovery.salvage import LOST, Saved
from hybrid_core.store.recovery.values import GARBLED, are_sound, mend_values, works
from hybrid_core.types.libraries import library_called

_MARK_BITS = 62

_LIBRARIES = (
    "SELECT library FROM documents UNION SELECT library FROM originals UNION SELECT library FROM sources UNION "
    "SELECT library FROM exclusions UNION SELECT library FROM notes UNION SELECT library FROM feedback"
)
_HANGING: dict[str, str] = {
    "grants": "token NOT IN (SELECT id FROM tokens)",
    "conversation_libraries": "conversation NOT IN (SELECT id FROM conversations)",
    "citations": "message NOT IN (SELECT id FROM messages)",
    "message_events": "message NOT IN (SELECT id FROM messages)",
    "conversation_summaries": "message NOT IN (SELECT id FROM messages)",
}
"""Rows that are nothing without the one they refer to."""


class Mending:
    """``lost`` counts rows that could not stay, by table; ``emptied`` those of which a part was lost; ``rebuild`` the
    documents that are to be indexed again.
    """

    def __init__(self, catalog: Catalog, saved: dict[str, Saved]) -> None:
        self._catalog, self._saved = catalog, saved
        self.lost, self.emptied = Counter[str](), Counter[str]()
        self.libraries = list[str]()
        self.rebuild = 0

    @property
    def changed(self) -> bool:
        """Return True if anything had to be mended."""
        return bool(self.lost.total() or self.emptied.total() or self.libraries or self.rebuild)

    def run(self) -> None:
        """Mend everything. Raises StoreError where the new catalog cannot be written."""
        with self._catalog.writing() as connection:
            self._add_libraries(connection)
            mend_values(connection, self.lost, self.emptied)
            self._mend_conversations(connection)
            self._drop_hanging(connection)
            self._mend_documents(connection)
        self._discard_halves()
        with self._catalog.writing() as connection:
            self._forget_vectors(connection)
            _count_again(connection)
            fill_orders(connection)
            _number_on(connection)

    def _add_libraries(self, connection: Connection) -> None:
        """Documents and notes keep the library that they were in, under its id, where its own row is lost."""
        from hybrid_core.store.catalog.libraries import RENEWED, all_libraries, library_ids

        for library in sorted(set(connection.scalars(text(_LIBRARIES))).difference(library_ids(connection))):
            others = all_libraries(connection)
            names = (library.partition(RENEWED)[0], *(f"recovered {n}" for n in range(1, len(others) + 2)))
            name = next(candidate for candidate in names if candidate and library_called(candidate, others) is None)
            values = {"id": library, "name": name, "alias": "", "created_at": now()}
            connection.execute(schema.libraries.insert().values(**values))
            self.libraries.append(name)
        for column in ("embedder", "next_embedder"):
            where = f"{column} IS NOT NULL AND {column} NOT IN (SELECT fingerprint FROM embedders)"
            self.emptied["libraries"] += _changed(connection, f"UPDATE libraries SET {column} = NULL WHERE {where}")

    def _mend_conversations(self, connection: Connection) -> None:
        """Questions and answers whose conversation is lost get one again; who asked is not known any more."""
        created = _changed(
            connection,
            "INSERT INTO conversations (id, title, created_at, updated_at) SELECT conversation, 'recovered', "
            "min(created_at), max(created_at) FROM messages WHERE conversation NOT IN (SELECT id FROM conversations) "
            "GROUP BY conversation",
        )
        self.emptied["conversations"] += created
        self.emptied["messages"] += _changed(
            connection,
            "UPDATE messages SET parent = coalesce((SELECT max(e.id) FROM messages e WHERE e.conversation = "
            "messages.conversation AND e.id < messages.id), 0) WHERE parent <> 0 AND NOT EXISTS (SELECT 1 FROM "
            "messages e WHERE e.id = messages.parent AND e.id < messages.id AND "
            "e.conversation = messages.conversation)",
        )
        self.emptied["conversations"] += _changed(
            connection,
            "UPDATE conversations SET leaf = coalesce((SELECT max(id) FROM messages WHERE conversation = "
            "conversations.id), 0) WHERE leaf <> 0 AND NOT EXISTS (SELECT 1 FROM messages e WHERE e.id = leaf AND "
            "e.conversation = conversations.id)",
        )

    def _drop_hanging(self, connection: Connection) -> None:
        for table, where in _HANGING.items():
            self.lost[table] += _changed(connection, f"DELETE FROM {table} WHERE {where}")
        orphan = "kind = 'session' AND parent <> '' AND parent NOT IN (SELECT id FROM tokens)"
        _changed(connection, f"DELETE FROM grants WHERE token IN (SELECT id FROM tokens WHERE {orphan})")
        self.lost["tokens"] += _changed(connection, f"DELETE FROM tokens WHERE {orphan}")
        # What shares its table with what was made of contents.
        for table in ("pages", "trees", "chunks", "terms", "embedded"):
            where = "content_id NOT IN (SELECT content_id FROM contents)"
            self.lost[table] += _changed(connection, f"DELETE FROM {table} WHERE {where}")

    def _mend_documents(self, connection: Connection) -> None:
        columns = schema.documents.c
        rows = connection.execute(select(columns.doc_id, columns.card, columns.corrections)).all()
        for row in rows:
            values: dict[str, Any] = {}
            corrections = _read(row.corrections, dict)
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
        """Contents of which a page, the tree or the words are lost are taken out; their documents are marked."""
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

    def _forget_vectors(self, connection: Connection) -> None:
        """Mark all contents as not embedded if a vector may be lost. Vectors that are there are used again."""
        if not (self._is_complete("embeddings") and self._is_complete("embedded")):
            connection.execute(schema.embedded.delete())

    def _is_complete(self, table: str) -> bool:
        saved = self._saved.get(table)
        return saved is None or (saved.whole and not saved.gone)


def _is_whole(snapshot: Snapshot, content_id: str, pages: int, sections: int, *, chunks: bool) -> bool:
    """``chunks``: none of any content was lost; else each must be seen to have its own."""
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
    return chunks or _covered(content)


def _covered(content: Any) -> bool:
    """Return True if the chunks hold all text of the pages."""
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
    """No number is given twice, and no search index is taken for one of this catalog: each is built anew."""
    mark = secrets.randbits(_MARK_BITS) + 1
    connection.execute(update(schema.changes).values(mark=mark))
    newest = (
        ("SELECT :name || library, max(seq) FROM changes WHERE true GROUP BY library", COUNTER),
        ("SELECT :name, max(number) FROM job_events WHERE true HAVING max(number) > 0", "job events"),
    )
    for query, name in newest:
        statement = f"INSERT INTO counters (name, n) {query} ON CONFLICT (name) DO UPDATE SET n = max(n, excluded.n)"
        connection.execute(text(statement), {"name": name})


def _changed(connection: Connection, statement: str) -> int:
    return int(connection.exec_driver_sql(statement).rowcount)


def _read(written: str, kind: type) -> Any:
    try:
        value = json.loads(written)
    except ValueError:
        return None
    return value if isinstance(value, kind) else None
