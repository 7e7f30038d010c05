"""An engine as a token of some libraries may use it: whatever it asks is asked within these, and nothing is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fastmcp.server.dependencies import get_http_request

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.types.access import Caller
from hybrid_core.types.conversations import Conversation, ConversationMessage
from hybrid_core.types.documents import Document
from hybrid_core.types.libraries import Library, library_called, no_library
from hybrid_core.types.results import SearchResult
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.engine import Engine
from hybrid_pageindex.services.comparing import Comparison
from hybrid_pageindex.services.grep import GrepResult
from hybrid_pageindex.services.jobs import JobHistory, JobList
from hybrid_pageindex.services.outline import Outline
from hybrid_pageindex.services.reading import PageRead
from hybrid_pageindex.services.sizes import LibrarySize


def calling() -> Caller:
    """The caller of the request that is answered. Raise UsageError where nobody is known: nothing is shown then."""
    try:
        caller = get_http_request().scope.get("state", {}).get("caller")
    except RuntimeError:
        caller = None
    if not isinstance(caller, Caller):
        raise UsageError("It is not known who calls.", "Send Authorization: Bearer TOKEN.")
    return caller


class LimitedEngine:
    """The calls of an ``Engine`` that tools make, within the libraries that the caller of each may read.

    It is no subclass on purpose: a call that is not written here is not there.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.conversations = LimitedConversations(engine, self)

    @property
    def settings(self) -> Settings:
        return self._engine.settings

    async def readable(self) -> list[Library]:
        """The libraries that the caller may read."""
        caller = calling()
        return [item for item in await self._engine.named_libraries() if caller.may("read", item.id)]

    async def library(self, name: str | None) -> Library:
        """The library that is named, or else the usual one, or the only one. Raise NotFoundError for one that is
        unknown or may not be read, UsageError where it is not clear which is meant.
        """
        readable = await self.readable()
        found = library_called(name or self.settings.library, readable)
        if found is not None:
            return found
        if name:
            raise no_library(name[:200], readable)
        if len(readable) == 1:
            return readable[0]
        names = ", ".join(item.name for item in readable[:20])
        raise UsageError("It is not clear which library is meant.", f"Name one of: {names or 'none'}.")

    async def scope(self, named: str | Sequence[str] | None, all_libraries: bool) -> list[str]:
        """The names of the libraries that a search may look into."""
        if all_libraries:
            names = [item.name for item in await self.readable()]
            if not names:
                raise NotFoundError("There is no library that you may read.")
            return names
        several: list[str | None] = [named] if isinstance(named, str) else [*(named or (None,))]
        found = [await self.library(item) for item in several]
        return list(dict.fromkeys(item.name for item in found))

    async def search(
        self, question: str, *, library: str | Sequence[str] | None = None, all_libraries: bool = False, **more: Any
    ) -> SearchResult:
        return await self._engine.search(question, library=await self.scope(library, all_libraries), **more)

    async def grep(
        self, pattern: str, *, library: str | Sequence[str] | None = None, all_libraries: bool = False, **more: Any
    ) -> GrepResult:
        return await self._engine.grep(pattern, library=await self.scope(library, all_libraries), **more)

    async def compare(
        self, left: str, right: str, *, library: str | None = None, right_library: str | None = None, **more: Any
    ) -> Comparison:
        first = (await self.library(library)).name
        second = (await self.library(right_library)).name if right_library else first
        return await self._engine.compare(left, right, library=first, right_library=second, **more)

    async def outline(self, document: str, *, library: str | None = None, **more: Any) -> Outline:
        return await self._engine.outline(document, library=(await self.library(library)).name, **more)

    async def outlines(self, question: str, *, library: str | None = None, **more: Any) -> list[Outline]:
        return await self._engine.outlines(question, library=(await self.library(library)).name, **more)

    async def pages(
        self, document: str, numbers: str | int | Sequence[int], *, library: str | None = None
    ) -> list[PageRead]:
        return await self._engine.pages(document, numbers, library=(await self.library(library)).name)

    async def with_tables(self, read: PageRead, *, library: str | None = None) -> PageRead:
        return await self._engine.with_tables(read, library=(await self.library(library)).name)

    async def page_image(self, document: str, page: int, *, library: str | None = None, **more: Any) -> bytes:
        return await self._engine.page_image(document, page, library=(await self.library(library)).name, **more)

    async def contact_sheet(self, document: str, pages: Sequence[int], *, library: str | None = None) -> bytes:
        return await self._engine.contact_sheet(document, pages, library=(await self.library(library)).name)

    async def documents(self, *, library: str | None = None, where: Sequence[str] = ()) -> list[Document]:
        return await self._engine.documents(library=(await self.library(library)).name, where=where)

    async def info(self, document: str, *, library: str | None = None) -> Document:
        return await self._engine.info(document, library=(await self.library(library)).name)

    async def libraries(self, part: str = "") -> list[LibrarySize]:
        caller = calling()
        return [item for item in await self._engine.libraries(part) if caller.may("read", item.id)]

    async def jobs(self, *, library: str | None = None, most: int = 100) -> JobList:
        """The queue of the libraries that are read: what else is paused, and who works, is not told."""
        meant = [await self.library(library)] if library else await self.readable()
        if not meant:
            raise NotFoundError("There is no library that you may read.")
        lists = [await self._engine.jobs(library=item.name, most=most) for item in meant]
        views = tuple(view for item in lists for view in item.jobs)[:most]
        return replace(lists[0], jobs=views, paused=(), workers=())

    async def job(self, id: int) -> JobHistory:
        missing = NotFoundError(f"No job {id}.")
        try:
            history = await self._engine.job(id)
        except NotFoundError:
            raise missing from None
        if not calling().may("read", history.view.job.library):
            raise missing
        return history


class LimitedConversations:
    """Conversations about the libraries that the caller may read; whose they are the tools look at."""

    def __init__(self, engine: Engine, limited: LimitedEngine) -> None:
        self._engine, self._limited = engine, limited

    async def create(self, *, libraries: str | Sequence[str] = (), owner: str = "") -> Conversation:
        names = await self._limited.scope(libraries or None, False)
        return await self._engine.conversations.create(libraries=names, owner=owner)

    async def get(self, id: str) -> Conversation:
        found = await self._engine.conversations.get(id)
        caller = calling()
        if not _readable(found, caller):
            raise NotFoundError(f"No conversation '{id[:100]}'.")
        return found

    async def ask(self, id: str, question: str) -> ConversationMessage:
        await self.get(id)
        return await self._engine.conversations.ask(id, question)

    async def wait(self, message: int) -> ConversationMessage:
        found = await self._engine.conversations.wait(message)
        await self.get(found.conversation)
        return found

    async def messages(self, id: str) -> list[ConversationMessage]:
        await self.get(id)
        return list(await self._engine.conversations.messages(id))

    async def listed(self, *, owner: str | None, most: int) -> list[Conversation]:
        caller = calling()
        found = await self._engine.conversations.listed(owner=owner or caller.id, most=most)
        return [item for item in found if _readable(item, caller)]


def _readable(conversation: Conversation, caller: Caller) -> bool:
    """Whether a conversation is about libraries that a caller may read; one about all of them is not."""
    libraries = conversation.scope.libraries
    return bool(libraries) and all(caller.may("read", item) for item in libraries)
