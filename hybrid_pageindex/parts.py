"""What an engine opens when it is first used."""

from __future__ import annotations

from hybrid_core.models.chat import ChatModel
from hybrid_core.store.catalog import Catalog
from hybrid_pageindex import arguments
from hybrid_pageindex.chatting import Chat
from hybrid_pageindex.embedding import Embedders
from hybrid_pageindex.indexes import Indexes, ServerAddress
from hybrid_pageindex.searching import Searcher
from hybrid_pageindex.settings import Settings


class Parts:
    """Catalog, vector indexes, embedders, language models and the searcher of one home."""

    def __init__(self, settings: Settings, chat: ChatModel | None) -> None:
        self.catalog = Catalog(settings.storage_path / "catalog.sqlite")
        address = ServerAddress(settings.qdrant_url, settings.qdrant_api_key, settings.qdrant_prefix)
        self.indexes = Indexes(self.catalog, settings.storage_path, address)
        self.embedders = Embedders(settings)
        fusion = arguments.fusion(settings.fusion)
        self.chat = Chat(settings, self.catalog, chat)
        self.searcher = Searcher(self.catalog, self.indexes, self.embedders, settings.aliases, fusion, self.chat)

    def close(self) -> None:
        self.chat.close()
        self.embedders.close()
        self.indexes.close()
        self.catalog.close()
