"""Whose the points of a collection are: of one library, which has it alone or shares it with others.

Of a shared one every call names the library: a search, a count and a deletion that do not would reach another's points.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hybrid_core.store.index.points import Point, named_page, point_id
from hybrid_core.system.extras import require

if TYPE_CHECKING:
    from qdrant_client import models
else:
    models = require("qdrant_client.models", "qdrant")

RECORD = str(uuid.UUID("9f0c4b5e-7a57-5d8c-9a0b-51c6a9d0b0e4"))
ANNOUNCED = str(uuid.UUID("b6a4d7a2-4f0d-5b3e-8c1f-0a6f6d1f7c35"))
_KEY = "library"


@dataclass(frozen=True, slots=True)
class Tenant:
    """``library`` is "" where it has the collection alone."""

    library: str = ""

    @property
    def record(self) -> str:
        """The id of the point that says how far the library's points are."""
        return self._own(RECORD)

    @property
    def announced(self) -> str:
        """The id of the point that names the newest change of which something may be written."""
        return self._own(ANNOUNCED)

    def id_of(self, point: Point) -> str:
        """One that names its document is one library's anyway."""
        id = point_id(point)
        return id if named_page(id) else self._own(id)

    def payload(self, **more: Any) -> dict[str, Any]:
        return {_KEY: self.library, **more} if self.library else more

    def only(self, filter: models.Filter | None = None) -> models.Filter | None:
        """A filter that keeps none but the library's points."""
        if not self.library:
            return filter
        own = models.FieldCondition(key=_KEY, match=models.MatchValue(value=self.library))
        found = filter or models.Filter()
        must = found.must or []
        return found.model_copy(update={"must": [own, *(must if isinstance(must, list) else [must])]})

    def indexes(self) -> dict[str, models.KeywordIndexParams]:
        """What the server needs to hold a library's points together."""
        keyword = models.KeywordIndexType.KEYWORD
        return {_KEY: models.KeywordIndexParams(type=keyword, is_tenant=True)} if self.library else {}

    def _own(self, id: str) -> str:
        return str(uuid.uuid5(uuid.UUID(id), self.library)) if self.library else id
