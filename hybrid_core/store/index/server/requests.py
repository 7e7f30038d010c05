"""Parts of requests to a Qdrant server: the tenant, filters, vectors and parameters.

A library has its own collection or shares one with others. In a shared collection every request must filter by the
library, so that it does not reach points of another library.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hybrid_core.store.index.points import Point, Query, named_page, point_id
from hybrid_core.store.index.server.connection import EXTRA, Quantization
from hybrid_core.system import require

if TYPE_CHECKING:
    from qdrant_client import models
else:
    models = require("qdrant_client.models", EXTRA)

RECORD = str(uuid.UUID("9f0c4b5e-7a57-5d8c-9a0b-51c6a9d0b0e4"))
ANNOUNCED = str(uuid.UUID("b6a4d7a2-4f0d-5b3e-8c1f-0a6f6d1f7c35"))
_KEY = "library"


@dataclass(frozen=True, slots=True)
class Tenant:
    """A library that shares a collection with others. ``library`` is "" if the collection belongs to one library."""

    library: str = ""

    @property
    def record(self) -> str:
        """Return the id of the point with the position up to which the library's changes are applied."""
        return self._own(RECORD)

    @property
    def announced(self) -> str:
        """Return the id of the point with the newest change that may be partly written."""
        return self._own(ANNOUNCED)

    def id_of(self, point: Point) -> str:
        """Return the id of a point, unique among all libraries of a shared collection.

        If the usual id contains no document id, the id of the library is added to the hash.
        """
        id = point_id(point)
        return id if named_page(id) else self._own(id)

    def payload(self, **more: Any) -> dict[str, Any]:
        return {_KEY: self.library, **more} if self.library else more

    def only(self, filter: models.Filter | None = None) -> models.Filter | None:
        """Return ``filter`` with the condition that a point belongs to the library, if the collection is shared."""
        if not self.library:
            return filter
        own = models.FieldCondition(key=_KEY, match=models.MatchValue(value=self.library))
        base = filter or models.Filter()
        must = base.must or []
        return base.model_copy(update={"must": [own, *(must if isinstance(must, list) else [must])]})

    def indexes(self) -> dict[str, models.KeywordIndexParams]:
        """Return the payload index that lets the server store each library's points together, {} if not shared."""
        keyword = models.KeywordIndexType.KEYWORD
        return {_KEY: models.KeywordIndexParams(type=keyword, is_tenant=True)} if self.library else {}

    def _own(self, id: str) -> str:
        return str(uuid.uuid5(uuid.UUID(id), self.library)) if self.library else id


def quantization_config(kind: Quantization) -> models.QuantizationConfig | None:
    if kind == "scalar":
        scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, quantile=0.99, always_ram=True)
        return models.ScalarQuantization(scalar=scalar)
    if kind == "binary":
        binary = models.BinaryQuantizationConfig(
            always_ram=True,
            encoding=models.BinaryQuantizationEncoding.TWO_BITS,  # with one bit, a twentieth of the best is lost
            query_encoding=models.BinaryQuantizationQueryEncoding.SCALAR8BITS,
        )
        return models.BinaryQuantization(binary=binary)
    return None


def vector_of(vector: Any) -> Any:
    return models.SparseVector(indices=vector[0], values=vector[1]) if isinstance(vector, tuple) else vector


def in_range(key: str, **bounds: int) -> models.FieldCondition:
    return models.FieldCondition(key=key, range=models.Range(**bounds))


def of_any(doc_ids: Collection[str]) -> models.FieldCondition:
    return models.FieldCondition(key="doc_id", match=models.MatchAny(any=list(doc_ids)))


def query_filter(query: Query) -> models.Filter | None:
    if query.doc_ids is None and not query.without:
        return None
    return models.Filter(
        must=None if query.doc_ids is None else [of_any(query.doc_ids)],
        must_not=[of_any(query.without)] if query.without else None,
    )
