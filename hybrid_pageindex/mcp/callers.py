"""Find out who calls a tool, and limit an engine to the libraries that the caller may read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from fastmcp.server.dependencies import get_http_request

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.types.access import Caller
from hybrid_core.types.conversations import Conversation, ConversationMessage
from hybrid_core.types.documents import Document
from hybrid_core.types.libraries import Library, library_called, no_library
from hybrid_core.types.results import SearchResult
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.engine.documents.comparison import Comparison
from hybrid_pageindex.engine.documents.contents import Outline
from hybrid_pageindex.engine.documents.documents import DocumentPage
from hybrid_pageindex.engine.documents.reading import PageRead
from hybrid_pageindex.engine.engine import Engine
from hybrid_pageindex.engine.jobs import JobHistory, JobList
from hybrid_pageindex.engine.libraries.libraries import LibrarySize
from hybrid_pageindex.engine.search.grep import GrepResult


@dataclass(frozen=True, slots=True)
class ToolCaller:
    """The caller of a tool; ``owner`` is "" for callers of the machine, who see all conversations."""

    name: str = ""
    owner: str = ""


def tool_caller() -> ToolCaller:
    """Return the caller of this call. One session may outlive a token and show another one."""
    try:
        request = get_http_request()
    except RuntimeError:  # it came on stdio
        return ToolCaller()
    caller: Caller | None = request.scope.get("state", {}).get("caller")
    if caller is None:
        return ToolCaller()
    return ToolCaller(caller.name, "" if caller.may("admin") else caller.id)


def required_caller() -> Caller:
    """Return the caller of the request. Raise UsageError where nobody is known: nothing is shown then."""
    try:
        caller = get_http_request().scope.get("state", {}).get("caller")
    except RuntimeError:
        caller = None
    if not isinstance(caller, Caller):
        raise UsageError("The caller is unknown.", "Send Authorization: Bearer TOKEN.")
    return caller


class LimitedEngine:
    """The calls of an ``Engine`` that tools make, within the libraries that the caller of each may read.

    It is no subclass on purpose: a call that is not written here is not there.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.conversations = LimitedConversations(engine, self)
        self.documents, self.pictures = LimitedDocuments(engine, self), LimitedPictures(engine, self)
        self.libraries, self.jobs = LimitedLibraries(engine, self), LimitedJobs(engine, self)

    @property
    def settings(self) -> Settings:
        return self._engine.settings

    async def readable(self) -> list[Library]:
        """Return the libraries that the caller may read."""
        caller = required_caller()
        return [item for item in await self._engine.libraries.named() if caller.may("read", item.id)]

    async def library(self, name: str | None) -> Library:
        """Return the named library, else the default one, else the only one.

        Raise NotFoundError where it is unknown or may not be read, UsageError where the choice is not clear.
        """
        readable = await self.readable()
        library = library_called(name or self.settings.library, readable)
        if library is not None:
            return library
        if name:
            raise no_library(name[:200], readable)
        if len(readable) == 1:
            return readable[0]
        names = ", ".join(item.name for item in readable[:20])
        raise UsageError("The request does not say which library to use.", f"Name one of these: {names or 'none'}.")

    async def scope(self, named: str | Sequence[str] | None, all_libraries: bool) -> list[str]:
        """Return the names of the libraries that a search may look into."""
        if all_libraries:
            names = [item.name for item in await self.readable()]
            if not names:
                raise NotFoundError("You may not read any library.")
            return names
        several: list[str | None] = [named] if isinstance(named, str) else [*(named or (None,))]
        libraries = [await self.library(item) for item in several]
        return list(dict.fromkeys(item.name for item in libraries))

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


class LimitedDocuments:
    """Documents of the libraries that the caller may read."""

    def __init__(self, engine: Engine, limited: LimitedEngine) -> None:
        self._engine, self._limited = engine, limited

    async def with_tables(self, read: PageRead, *, library: str | None = None) -> PageRead:
        return await self._engine.documents.with_tables(read, library=(await self._limited.library(library)).name)

    async def get(self, document: str, *, library: str | None = None) -> Document:
        return await self._engine.documents.get(document, library=(await self._limited.library(library)).name)

    async def list(self, *, library: str | None = None, where: Sequence[str] = ()) -> list[Document]:
        return await self._engine.documents.list(library=(await self._limited.library(library)).name, where=where)

    async def browse(self, *, library: str | None = None, **more: Any) -> DocumentPage:
        return await self._engine.documents.browse(library=(await self._limited.library(library)).name, **more)


class LimitedPictures:
    """Pictures of pages of the libraries that the caller may read."""

    def __init__(self, engine: Engine, limited: LimitedEngine) -> None:
        self._engine, self._limited = engine, limited

    async def page(self, document: str, page: int, *, library: str | None = None, **more: Any) -> bytes:
        name = (await self._limited.library(library)).name
        return await self._engine.pictures.page(document, page, library=name, **more)

    async def contact_sheet(self, document: str, pages: Sequence[int], *, library: str | None = None) -> bytes:
        name = (await self._limited.library(library)).name
        return await self._engine.pictures.contact_sheet(document, pages, library=name)


class LimitedLibraries:
    """The libraries that the caller may read."""

    def __init__(self, engine: Engine, limited: LimitedEngine) -> None:
        self._engine, self._limited = engine, limited

    async def list(self, part: str = "") -> list[LibrarySize]:
        caller = required_caller()
        return [item for item in await self._engine.libraries.list(part) if caller.may("read", item.id)]


class LimitedJobs:
    """Jobs of the libraries that the caller may read."""

    def __init__(self, engine: Engine, limited: LimitedEngine) -> None:
        self._engine, self._limited = engine, limited

    async def get(self, id: int) -> JobHistory:
        missing = NotFoundError(f"Job {id} does not exist.")
        try:
            history = await self._engine.jobs.get(id)
        except NotFoundError:
            raise missing from None
        if not required_caller().may("read", history.view.job.library):
            raise missing
        return history

    async def list(self, *, library: str | None = None, most: int = 100) -> JobList:
        """Return the queue of the libraries that are read; other pauses and workers stay hidden."""
        limited = self._limited
        libraries = [await limited.library(library)] if library else await limited.readable()
        if not libraries:
            raise NotFoundError("You may not read any library.")
        lists = [await self._engine.jobs.list(library=item.name, most=most) for item in libraries]
        views = tuple(view for item in lists for view in item.jobs)[:most]
        return replace(lists[0], jobs=views, paused=(), workers=())


class LimitedConversations:
    """Conversations about the libraries that the caller may read; tools check their owner."""

    def __init__(self, engine: Engine, limited: LimitedEngine) -> None:
        self._engine, self._limited = engine, limited

    async def create(self, *, libraries: str | Sequence[str] = (), owner: str = "") -> Conversation:
        names = await self._limited.scope(libraries or None, False)
        return await self._engine.conversations.create(libraries=names, owner=owner)

    async def get(self, id: str) -> Conversation:
        conversation = await self._engine.conversations.get(id)
        caller = required_caller()
        if not _readable(conversation, caller):
            raise NotFoundError(f"The conversation '{id[:100]}' does not exist.")
        return conversation

    async def ask(self, id: str, question: str) -> ConversationMessage:
        await self.get(id)
        return await self._engine.conversations.ask(id, question)

    async def wait(self, message: int) -> ConversationMessage:
        answer = await self._engine.conversations.wait(message)
        await self.get(answer.conversation)
        return answer

    async def messages(self, id: str) -> list[ConversationMessage]:
        await self.get(id)
        return list(await self._engine.conversations.messages(id))

    async def listed(self, *, owner: str | None, most: int) -> list[Conversation]:
        caller = required_caller()
        conversations = await self._engine.conversations.listed(owner=owner or caller.id, most=most)
        return [item for item in conversations if _readable(item, caller)]


def _readable(conversation: Conversation, caller: Caller) -> bool:
    """Return whether a caller may read all libraries of a conversation. One about all libraries is not readable."""
    libraries = conversation.scope.libraries
    return bool(libraries) and all(caller.may("read", item) for item in libraries)
