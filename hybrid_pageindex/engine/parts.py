"""The components of an engine. Each is opened on first use."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import TYPE_CHECKING

from hybrid_core.store.cache import Cache
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.home import CACHE, CATALOG
from hybrid_core.system import Reach
from hybrid_core.types.notes import Note
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.engine.documents.originals import PageWork
from hybrid_pageindex.engine.models.embedders import Embedders
from hybrid_pageindex.engine.models.models import Chat
from hybrid_pageindex.engine.search.handles import ServerAddress
from hybrid_pageindex.engine.search.indexes import Indexes
from hybrid_pageindex.engine.search.searcher import Searcher, unread_advice
from retrievers.pipeline.state import Stages

if TYPE_CHECKING:
    from hybrid_core.llm.client.chat_model import ChatModel
    from hybrid_core.store.bucket import BucketAddress
    from hybrid_pageindex.engine.accounts import Spending
    from hybrid_pageindex.engine.search.grep import Grep


def bucket_of(settings: Settings) -> BucketAddress | None:
    if not settings.objects_url:
        return None
    from hybrid_core.store.bucket import BucketAddress

    return BucketAddress(
        settings.objects_url, settings.objects_endpoint, settings.objects_region, settings.objects_access_key,
        settings.objects_secret_key, settings.max_cache_size,
    )  # fmt: skip


class Parts:
    """The components of an engine: catalog, cache, vector indexes, embedders, pictures, language
    models and searcher.
    """

    def __init__(self, settings: Settings, chat: ChatModel | None, stages: Stages) -> None:
        self._lock = threading.Lock()
        self._workers = 0
        self.reach: Reach | None = None
        """How far a server reads on the disk; None where the user asks, who may read everything of theirs."""
        self.leaving = threading.Event()
        """Whether this process ends: jobs that it stops waiting for stay."""
        self.catalog = Catalog(settings.storage_path / CATALOG, settings.postgres_url, bucket=bucket_of(settings))
        self.cache = Cache(settings.storage_path / CACHE, settings.max_cache_size)
        layout = {
            "shards": settings.qdrant_shards, "replicas": settings.qdrant_replicas,
            "write_consistency": settings.qdrant_write_consistency, "on_disk": settings.qdrant_vectors == "disk",
            "quantization": settings.qdrant_quantization,
        }  # fmt: skip
        address = ServerAddress(
            settings.qdrant_url, settings.qdrant_api_key, settings.qdrant_prefix, settings.qdrant_own_from, layout
        )
        self.indexes = Indexes(self.catalog, settings.storage_path, address)
        self.embedders = Embedders(settings)
        self.pages = PageWork(self.catalog, self.cache, settings)
        self._settings = settings
        self._spending: Spending | None = None
        self._grep: Grep | None = None
        self.chat = Chat(settings, self.cache, lambda: self.spending, chat)
        self._advice = cache(unread_advice)
        self.searcher = Searcher(
            self.catalog, settings, self.indexes, self.embedders, self.chat, self._advice_now, stages
        )

    def use(self, settings: Settings) -> None:
        """Use other settings from this call on, also in components that are already open."""
        self._settings = settings
        self.spending.settings = settings
        self.chat.use(settings)
        self.embedders.use(settings)

    def _advice_now(self) -> Note:
        settings = self._settings
        return self._advice(settings.ocr, settings.ocr_languages, bool(settings.vlm_model))

    @property
    def spending(self) -> Spending:
        """Return the recorded usage of models and the spending limits."""
        from hybrid_pageindex.engine.accounts import Spending  # imported here because a search needs none of it

        with self._lock:
            if self._spending is None:
                self._spending = Spending(self.catalog, self._settings)
            return self._spending

    @property
    def grep(self) -> Grep:
        """Return the component for exhaustive search."""
        from hybrid_core.store.words import WordStore
        from hybrid_pageindex.engine.search.grep import Grep

        with self._lock:
            if self._grep is None:
                self._grep = Grep(self.catalog, WordStore(self.catalog, self._settings.storage_path))
            return self._grep

    @contextmanager
    def working(self) -> Iterator[None]:
        """Return a context in which this process counts as running queued jobs.

        Other calls in the process then wait for it instead of running jobs themselves.
        """
        with self._lock:
            self._workers += 1
        try:
            yield
        finally:
            with self._lock:
                self._workers -= 1

    @property
    def works(self) -> bool:
        return self._workers > 0

    def close(self) -> None:
        """Close all components, even if one fails; the catalog is closed last."""
        with ExitStack() as closing:
            for part in (
                self.catalog, self.cache, self.indexes, self.embedders, self.chat, self.pages, self.searcher
            ):  # fmt: skip
                closing.callback(part.close)
