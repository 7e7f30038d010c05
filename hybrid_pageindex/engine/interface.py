"""Methods that ``Engine`` and ``Client`` share. Annotate code that runs with either of them with ``Interface``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, Unpack

if TYPE_CHECKING:
    from hybrid_core.store.catalog.bin import BinEntry
    from hybrid_core.types.answers import Answer
    from hybrid_core.types.documents import Document, DocumentRow
    from hybrid_core.types.libraries import Library
    from hybrid_core.types.locators import Box, PageLayout, WordBox
    from hybrid_core.types.requests import SearchFields, SearchRequest
    from hybrid_core.types.results import ReasoningStep, SearchResult
    from hybrid_pageindex.client.client import Client
    from hybrid_pageindex.engine.documents.briefing import Briefing
    from hybrid_pageindex.engine.documents.contents import Matches, Outline
    from hybrid_pageindex.engine.documents.documents import DocumentPage, DocumentState, DocumentVersion
    from hybrid_pageindex.engine.documents.reading import PageRead
    from hybrid_pageindex.engine.engine import Engine
    from hybrid_pageindex.engine.index.reindexing import Estimate
    from hybrid_pageindex.engine.libraries.libraries import LibrarySize
    from indexers.formats.format import PageView


class DocumentsInterface(Protocol):
    """Methods on documents that ``Engine.documents`` and ``Client.documents`` share."""

    async def browse(
        self,
        *,
        library: str | None = None,
        where: Sequence[str] = (),
        find: str = "",
        state: DocumentState = "all",
        sort: str = "path",
        limit: int = 100,
        cursor: str = "",
    ) -> DocumentPage: ...
    async def rows(self, *, library: str | None = None) -> list[DocumentRow]: ...
    async def get(self, document: str, *, library: str | None = None) -> Document: ...
    async def versions(self, document: str, *, library: str | None = None) -> list[DocumentVersion]: ...
    async def edit(
        self,
        document: str,
        *,
        set: Mapping[str, str] | None = None,
        unset: Sequence[str] = (),
        library: str | None = None,
    ) -> Document: ...
    async def remove(
        self, documents: Sequence[str], *, library: str | None = None, for_good: bool = False
    ) -> list[Document]: ...
    async def briefing(
        self, document: str | None = None, *, library: str | None = None, model: bool = False
    ) -> Briefing: ...
    async def find_words(
        self, document: str, words: str, *, library: str | None = None, first: int = 1, limit: int = 100
    ) -> Matches: ...
    async def list(self, *, library: str | None = None, where: Sequence[str] = ()) -> list[Document]: ...


class PicturesInterface(Protocol):
    """Methods on page images that ``Engine.pictures`` and ``Client.pictures`` share."""

    async def page(self, document: str, page: int, *, library: str | None = None, view: PageView = "page") -> bytes: ...
    async def layout(self, document: str, page: int, *, library: str | None = None) -> PageLayout: ...
    async def words(self, document: str, page: int, *, library: str | None = None) -> tuple[WordBox, ...]: ...
    async def boxes(self, document: str, page: int, quote: str, *, library: str | None = None) -> tuple[Box, ...]: ...


class LibrariesInterface(Protocol):
    """Methods on libraries that ``Engine.libraries`` and ``Client.libraries`` share."""

    async def create(self, name: str, *, alias: str = "") -> Library: ...
    async def name(self, library: str, *, name: str | None = None, alias: str | None = None) -> Library: ...
    async def clear(self, *, library: str, for_good: bool = False) -> list[str]: ...
    async def list(self, part: str = "") -> list[LibrarySize]: ...


class BinInterface(Protocol):
    """Methods on the bin of removed documents and libraries that ``Engine.bin`` and ``Client.bin`` share."""

    async def restore(self, entry: str) -> BinEntry: ...
    async def empty(self, entry: str | None = None) -> int: ...
    async def list(self) -> list[BinEntry]: ...


class ModelsInterface(Protocol):
    """Methods on models that ``Engine.models`` and ``Client.models`` share."""

    async def estimate(self, documents: Sequence[str] | str = (), *, library: str | None = None) -> Estimate: ...


class Interface(Protocol):
    """The methods and sub-engines that both ``Engine`` and ``Client`` have."""

    @property
    def documents(self) -> DocumentsInterface: ...
    @property
    def pictures(self) -> PicturesInterface: ...
    @property
    def libraries(self) -> LibrariesInterface: ...
    @property
    def bin(self) -> BinInterface: ...
    @property
    def models(self) -> ModelsInterface: ...

    async def search(
        self,
        question: str | SearchRequest,
        *,
        on_step: Callable[[ReasoningStep], None] | None = None,
        **fields: Unpack[SearchFields],
    ) -> SearchResult: ...
    async def ask(
        self,
        question: str | SearchRequest,
        *,
        force: bool = False,
        vision: bool | None = None,
        on_text: Callable[[str], None] | None = None,
        on_step: Callable[[ReasoningStep], None] | None = None,
        **fields: Unpack[SearchFields],
    ) -> Answer: ...
    async def outline(
        self,
        document: str,
        *,
        library: str | None = None,
        query: str | None = None,
        depth: int | None = None,
        node: str | None = None,
        text: bool = False,
    ) -> Outline: ...
    async def pages(
        self, document: str, numbers: str | int | Sequence[int], *, library: str | None = None
    ) -> list[PageRead]: ...


if TYPE_CHECKING:

    def _share_signatures(engine: Engine, client: Client) -> tuple[Interface, Interface]:
        """Let the type checker verify that ``Engine`` and ``Client`` implement ``Interface``."""
        return engine, client
