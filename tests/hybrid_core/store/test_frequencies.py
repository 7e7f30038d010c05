"""How many pages hold a term is what counting all that is published gives, whatever happened."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, select

from hybrid_core.errors import UnreachableError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import Publication
from hybrid_core.store.catalog.frequencies import EVERY, Frequencies, frequencies
from hybrid_core.store.index.index import WeightedIndex
from hybrid_core.store.index.points import Query
from hybrid_core.text.bm25 import idf
from hybrid_core.text.terms import TermCounts
from hybrid_core.types.documents import Card, IndexedContent
from hybrid_core.types.files import ContentVersion, FileStamp
from tests.hybrid_core.store.old_catalogs import LATER_COLUMNS, unpack_trees
from tests.hybrid_core.store.test_catalog import ALPHA, content, publish


def made(word: str, seed: int) -> IndexedContent:
    rng = random.Random(seed)
    pages = [{rng.randrange(30): 1 for _ in range(rng.randrange(9))} for _ in range(rng.randrange(1, 6))]
    counts = TermCounts.build(pages, [len(page) for page in pages])
    return replace(content(len(pages), word), terms=counts.to_bytes())


def stored(catalog: Catalog) -> dict[tuple[str, int], int]:
    with catalog.reading() as connection:
        found = connection.execute(select(frequencies))
        return {(row.library, row.term): row.pages for row in found}


def counted(catalog: Catalog) -> dict[tuple[str, int], int]:
    """From the term counts of everything that is published."""
    found = Counter[tuple[str, int]]()
    with catalog.snapshot() as snapshot:
        for library in snapshot.libraries():
            for content_id in snapshot.published(library).values():
                counts = snapshot.page_terms([content_id])[content_id]
                found[library, EVERY] += counts.page_count
                for term, holding in zip(counts.terms, counts.occurrences(counts.terms).holding, strict=True):
                    found[library, int(term)] += int(holding)
    return dict(found)


def test_any_history_leaves_the_counts_of_what_is_published(catalog: Catalog) -> None:
    catalog.ensure_library("other")
    rng = random.Random(11)
    versions = [ContentVersion(f"w{n}", "pdf", "pdf-1", "chunks-1", "tree-1") for n in range(4)]
    for step in range(40):
        version = rng.choice(versions)
        library = rng.choice(("default", "other"))
        doc_id = f"{library}-{rng.randrange(5)}"
        match rng.randrange(7):
            case 0:
                catalog.remove([doc_id, "unknown"])
            case 1:
                with catalog.snapshot() as snapshot:
                    held = sorted(set(snapshot.published(library).values()))
                catalog.discard(held[:1], "wrong")
            case 2:
                catalog.publish(
                    Publication(
                        library=library,
                        doc_id=doc_id,
                        path=f"/{doc_id}.pdf",
                        version=version,
                        content=made(version.sha256, 100 + step),
                        card=Card(),
                        stamp=FileStamp(1, 1.0, 1.0, "1", 9.0),
                    ),
                    anew=True,
                )
            case _:
                publish(catalog, doc_id, version, made(version.sha256, int(version.sha256[1:])), library)
        assert stored(catalog) == counted(catalog)
    assert stored(catalog)
    catalog.remove_library("other")
    assert {library for library, _ in stored(catalog)} <= {"default"}
    catalog.clear()
    assert stored(catalog) == {}


def test_a_catalog_without_them_counts_them_once(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    before = Catalog(path)
    before.ensure_library("default")
    for number in range(3):
        version = replace(ALPHA, sha256=f"w{number}")
        publish(before, f"d{number}", version, made(f"w{number}", number))
    publish(before, "copy", version, None)
    expected = stored(before)
    before.close()
    with sqlite3.connect(path) as connection:
        unpack_trees(connection)
        connection.execute("DROP TABLE frequencies")
        for table, column in LATER_COLUMNS:
            connection.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
        connection.execute("DROP TABLE job_turns")
        connection.execute("DROP INDEX jobs_by_group")
        connection.execute("UPDATE meta SET value = '21' WHERE key = 'schema'")
    connection.close()
    after = Catalog(path)
    assert stored(after) == expected
    after.close()


def test_words_are_weighed_by_the_pages_of_all_libraries_that_are_searched(catalog: Catalog) -> None:
    catalog.ensure_library("other")
    publish(catalog, "a", ALPHA, content(3, "alpha"))
    publish(catalog, "b", ALPHA, None, "other")
    asked: list[Query] = []

    class Index:
        rebuilt = ""

        def search(self, query: Query) -> list[object]:
            asked.append(query)
            return []

    weighted = WeightedIndex(Index(), Frequencies(catalog, ["default", "other"]))  # type: ignore[arg-type]
    weighted.search(Query("bm25", ([0, 2, 77], [1.0, 2.0, 1.0]), 5))
    expected = [idf(6, 2), 2 * idf(6, 2), idf(6, 0)]
    assert [float(weight) for weight in asked[0].vector[1]] == pytest.approx([float(one) for one in expected], rel=1e-3)
    assert weighted.holding([0, 77]) == [2, 0]


class _Flaky:
    """A catalog whose first read fails."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog, self._failed = catalog, False

    def reading(self) -> AbstractContextManager[Connection]:
        if not self._failed:
            self._failed = True
            raise UnreachableError("the server restarts", "Try again.")
        return self._catalog.reading()


def test_a_read_that_fails_leaves_no_wrong_counts_behind(catalog: Catalog) -> None:
    publish(catalog, "a", ALPHA, content(3, "alpha"))
    counted = Frequencies(_Flaky(catalog), ["default"])
    with pytest.raises(UnreachableError):
        counted.of([0, 77])
    every, holding = counted.of([0, 77])
    assert (every, holding.tolist()) == (3, [1, 0])
