"""Names for people: under which a library's own collection is seen on a Qdrant server, whatever its hash.

Nothing of ours searches by them, so one that cannot be set is told in the log and costs nothing else.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hybrid_core.errors import StoreError
from hybrid_core.store.index.server.connection import Server
from hybrid_core.store.index.server.nodes import EXTRA
from hybrid_core.system.extras import require

if TYPE_CHECKING:
    from qdrant_client import models
else:
    models = require("qdrant_client.models", EXTRA)

_REFUSED = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')  # in names of collections, which aliases stand for
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CollectionAlias:
    """``name`` is what people call the library, ``library`` its id, ``beginning`` that of all names of its catalog."""

    beginning: str
    name: str
    library: str

    def give(self, server: Server, collection: str, own: Callable[[str], bool]) -> None:
        """Let it stand for a collection, and nothing else for any of which are the library's ``own``.

        Where another library's collection has the name, this one's id follows it.
        """
        with _told(collection):
            held = server.aliases()
            wanted = next((name for name in self._names() if name not in held or own(held[name])), None)
            if wanted is None:
                raise StoreError(f"Other libraries have '{self.name}'.")
            old = [name for name, of in held.items() if own(of) and name != wanted]
            if held.get(wanted) != collection or old:
                _change(server, {wanted: collection}, old)

    def change(self, server: Server, own: Callable[[str], bool]) -> None:
        """Let the collection that has an alias of the library have this one."""
        with _told(self.library):
            for collection in {of for of in server.aliases().values() if own(of)}:
                self.give(server, collection, own)

    def _names(self) -> Iterator[str]:
        for name in (self.name, f"{self.name}-{self.library}"):
            yield self.beginning + _REFUSED.sub("-", name)


@contextmanager
def kept_aliases(server: Server, collection: str) -> Iterator[None]:
    """What stands for a collection that is deleted and made again stands for it afterwards too."""
    names: dict[str, str] = {}
    with _told(collection):
        names = {name: of for name, of in server.aliases().items() if of == collection}
    yield
    with _told(collection):
        if names:
            _change(server, names, [])


@contextmanager
def _told(named: str) -> Iterator[None]:
    """What fails is told in the log."""
    try:
        yield
    except StoreError as error:
        _log.warning("the alias of %s was not set: %s", named, error.message)


def _change(server: Server, given: dict[str, str], taken: list[str]) -> None:
    """In one step."""
    away = [models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=name)) for name in taken]
    to = [
        models.CreateAliasOperation(create_alias=models.CreateAlias(collection_name=collection, alias_name=name))
        for name, collection in given.items()
    ]
    server.call(lambda client: client.update_collection_aliases([*away, *to]))
