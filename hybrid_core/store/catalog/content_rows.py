"""Everything made of one file's bytes as rows: worked out before a transaction, so that nobody waits for it."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, insert

from hybrid_core.store.catalog import schema
from hybrid_core.store.catalog.trees import packed
from hybrid_core.store.tables import insert_into
from hybrid_core.store.text import to_json
from hybrid_core.text.term_order import TermOrder
from hybrid_core.types.documents import IndexedContent, Page
from hybrid_core.types.versions import ContentVersion

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ContentRows:
    """One of contents, terms and trees each, those of pages with their orders, and chunks; without the content's id."""

    content: Row
    terms: Row
    tree: Row
    pages: Sequence[Row]
    orders: Sequence[Row]
    chunks: Sequence[Row]

    @classmethod
    def of(cls, version: ContentVersion, content: IndexedContent) -> ContentRows:
        tree, titles = packed(content.sections)
        return cls(
            content={
                **asdict(version), "pages": len(content.pages), "sections": len(content.sections),
                "title": content.title, "description": content.description,
                "metadata": to_json(dict(content.metadata)), "warnings": to_json(content.warnings),
                "models": to_json(dict(content.models)),
            },
            terms={"body": content.terms, "headings": content.heading_terms},
            tree={"sections": tree, "titles": titles},
            pages=[_page(page) for page in content.pages],
            orders=[
                {"number": page.number, "terms": TermOrder.of_text(page.text).to_bytes()} for page in content.pages
            ],
            chunks=[
                {"number": c.number, "section": int(c.node_id), "page": c.page, "start": c.start, "end": c.end}
                for c in content.chunks
            ],
        )  # fmt: skip

    def insert(self, connection: Connection, content_id: str) -> bool:
        """Write them; False, and nothing is written, where somebody else has written that version."""
        key = {"content_id": content_id}
        new = insert_into(connection, schema.contents).values(**key, **self.content).on_conflict_do_nothing()
        if connection.scalar(new.returning(schema.contents.c.content_id)) is None:
            return False
        connection.execute(insert(schema.terms).values(**key, **self.terms))
        connection.execute(insert(schema.pages), [{**key, **page} for page in self.pages])
        connection.execute(insert(schema.orders), [{**key, **order} for order in self.orders])
        connection.execute(insert(schema.trees).values(**key, **self.tree))
        if self.chunks:
            connection.execute(insert(schema.chunks), [{**key, **chunk} for chunk in self.chunks])
        return True


def _page(page: Page) -> Row:
    boxes = zlib.compress(np.asarray(page.boxes, "<i2").reshape(-1, 4).tobytes(), 6)
    return {
        "number": page.number, "label": page.label, "width": page.width, "height": page.height, "text": page.text,
        "summary": page.summary, "boxes": boxes, "needs_ocr": page.needs_ocr, "ocr": page.ocr,
        "described": page.described, "places": to_json(page.places),
        "pictures": page.pictures, "engine": page.engine, "sure": page.sure,
    }  # fmt: skip
