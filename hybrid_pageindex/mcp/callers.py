"""Identify the caller of a tool, and limit an engine to what the caller may read and change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from fastmcp.server.dependencies import get_http_request

from hybrid_core.errors import NotFoundError, UsageError
from hybrid_core.types.access import EVERYWHERE, ROLES, Caller, Role
from hybrid_core.types.conversations import Conversation, ConversationMessage
from hybrid_core.types.documents import Document
from hybrid_core.types.exhaustive import CompareRequest, GrepRequest
from hybrid_core.types.libraries import Library, library_called, no_library
from hybrid_core.types.results import SearchResult
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.engine.documents.comparison import Comparison
from hybrid_pageindex.engine.documents.contents import Outline
from hybrid_pageindex.engine.documents.documents import DocumentPage
from hybrid_pageindex.engine.documents.reading import PageRead
from hybrid_pageindex.engine.engine import Engine
from hybrid_pageindex.engine.job_views import JobDecision, JobHistory, JobList
from hybrid_pageindex.engine.libraries.libraries import LibrarySize
from hybrid_pageindex.engine.search.grep import GrepResult

if TYPE_CHECKING:
    from hybrid_pageindex.engine.index.uploads import Upload, Uploaded
    from indexers.jobs.report import IndexReport

_DISK_TOOLS = frozenset({"build_index", "add_documents"})
"""Tools that read files of the server's disk, which only callers with all rights may use."""


@dataclass(frozen=True, slots=True)
class ToolCaller:
    """The caller of a tool. ``owner`` is "" for local callers and admins, who may read all conversations."""

    name: str = ""
    owner: str = ""


def tool_caller() -> ToolCaller:
    """Return the caller of the current tool call, by the token of its own request.

    A session may outlive a token and continue with another.
    """
    try:
        request = get_http_request()
    except RuntimeError:  # called over stdio
        return ToolCaller()
    caller: Caller | None = request.scope.get("state", {}).get("caller")
    if caller is None:
        return ToolCaller()
    return ToolCaller(caller.name, "" if caller.may("admin") else caller.id)


def required_caller() -> Caller:
    """Return the caller of the request. Raise UsageError if the caller is unknown."""
    try:
        caller = get_http_request().scope.get("state", {}).get("caller")
    except RuntimeError:
        caller = None
    if not isinstance(caller, Caller):
        raise UsageError(
            "The request contains no valid token, so its sender is unknown.",
            "Send the header Authorization: Bearer TOKEN.",
        )
    return caller


def check_role(role: Role, library: str = EVERYWHERE) -> None:
    """Raise UsageError if the caller lacks the role in a library (an id), or by default in all libraries."""
    if not required_caller().may(role, library):
        where = "in all libraries" if library == EVERYWHERE else "in this library"
        raise UsageError(f"This request needs the role '{role}' {where}.", "Use a token with this role.")


def hidden_tools() -> frozenset[str]:
    """Return the tools that the caller of a limited server may never use, so that lists can leave them out."""
    caller = required_caller()
    highest = max((ROLES.index(role) for role in caller.grants.values()), default=0)
    hidden = _DISK_TOOLS
    if highest < ROLES.index("write"):
        hidden |= {"upload_document", "remove_documents"}
    if highest < ROLES.index("admin") and not caller.may("write"):
        hidden |= {"name_library"}
    return hidden


class LimitedEngine:
    """The methods of ``Engine`` that tools use, limited to the libraries that the caller may read or change.

    It is not a subclass, so that only the methods written here are available.
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
        """Return a library by name. Without a name, return the configured library or the only readable one.

        Raise NotFoundError if it is unknown or may not be read, UsageError if no name is given and several are
        possible.
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
        raise UsageError(
            "The call does not say which library to use.", f"Name one of these libraries: {names or 'none'}."
        )

    async def writable(self, name: str | None, role: Role = "write") -> Library:
        """Return a library as ``library`` does. Also raise UsageError if the caller lacks the role in it."""
        library = await self.library(name)
        check_role(role, library.id)
        return library

    async def default_writable(self, name: str | None, role: Role = "write") -> Library:
        """Return a library as ``writable`` does. Ignore a name that is only the default from the settings."""
        return await self.writable(None if name == self.settings.library else name, role)

    async def scope(self, named: str | Sequence[str] | None, all_libraries: bool) -> list[str]:
        """Return the names of the libraries to search: the named ones, or all that the caller may read.

        Raise NotFoundError if the caller may not read one of them.
        """
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

    async def grep(self, request: GrepRequest) -> GrepResult:
        libraries = await self.scope(request.libraries, request.all_libraries)
        return await self._engine.grep(replace(request, libraries=tuple(libraries), all_libraries=False))

    async def compare(self, request: CompareRequest) -> Comparison:
        left = await self.library(request.left.library)
        right = await self.library(request.right.library) if request.right.library else left
        return await self._engine.compare(
            replace(
                request,
                left=replace(request.left, library=left.name),
                right=replace(request.right, library=right.name),
            )
        )

    async def outline(self, document: str, *, library: str | None = None, **more: Any) -> Outline:
        return await self._engine.outline(document, library=(await self.library(library)).name, **more)

    async def outlines(self, question: str, *, library: str | None = None, **more: Any) -> list[Outline]:
        return await self._engine.outlines(question, library=(await self.library(library)).name, **more)

    async def pages(
        self, document: str, numbers: str | int | Sequence[int], *, library: str | None = None
    ) -> list[PageRead]:
        return await self._engine.pages(document, numbers, library=(await self.library(library)).name)

    async def upload(self, uploads: Sequence[Upload], *, library: str | None = None) -> Uploaded:
        return await self._engine.upload(uploads, library=(await self.writable(library)).name)


class LimitedDocuments:
    """Methods on documents of the libraries that the caller may read, or change with the role ``write``."""

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

    async def remove(self, documents: Sequence[str], *, library: str | None = None) -> Sequence[Document]:
        return await self._engine.documents.remove(documents, library=(await self._limited.writable(library)).name)

    async def rebuild(
        self, documents: Sequence[str], *, library: str | None = None, detach: bool = False
    ) -> IndexReport:
        role: Literal["write", "admin"] = "write" if documents else "admin"
        name = (await self._limited.default_writable(library, role)).name
        return await self._engine.documents.rebuild(documents, library=name, detach=detach)


class LimitedPictures:
    """Methods on page pictures of the libraries that the caller may read."""

    def __init__(self, engine: Engine, limited: LimitedEngine) -> None:
        self._engine, self._limited = engine, limited

    async def page(self, document: str, page: int, *, library: str | None = None, **more: Any) -> bytes:
        name = (await self._limited.library(library)).name
        return await self._engine.pictures.page(document, page, library=name, **more)

    async def contact_sheet(self, document: str, pages: Sequence[int], *, library: str | None = None) -> bytes:
        name = (await self._limited.library(library)).name
        return await self._engine.pictures.contact_sheet(document, pages, library=name)


class LimitedLibraries:
    """Methods on the libraries that the caller may read, or rename with the role ``admin``."""

    def __init__(self, engine: Engine, limited: LimitedEngine) -> None:
        self._engine, self._limited = engine, limited

    async def list(self, part: str = "") -> list[LibrarySize]:
        caller = required_caller()
        return [item for item in await self._engine.libraries.list(part) if caller.may("read", item.id)]

    async def name(self, library: str, **names: str) -> Library:
        readable = await self._limited.readable()
        named = library_called(library, readable)  # without a name no library is meant
        if named is None:
            raise no_library(library[:200], readable)
        check_role("admin", named.id)
        return await self._engine.libraries.name(named.name, **names)

    async def create(self, name: str, *, alias: str = "") -> Library:
        check_role("write")
        return await self._engine.libraries.create(name, alias=alias)


class LimitedJobs:
    """Methods on jobs of the libraries that the caller may read, or change with the role ``write``."""

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

    async def list(self, *, library: str | None = None, limit: int = 100) -> JobList:
        """Return the jobs of one library, or of all libraries that the caller may read. Pauses and workers are left
        out.
        """
        limited = self._limited
        libraries = [await limited.library(library)] if library else await limited.readable()
        if not libraries:
            raise NotFoundError("You may not read any library.")
        lists = [await self._engine.jobs.list(library=item.name, limit=limit) for item in libraries]
        views = tuple(view for item in lists for view in item.jobs)[:limit]
        return replace(lists[0], jobs=views, paused=(), workers=())

    async def pause(self, *ids: int, library: str | None = None) -> JobDecision:
        return await self._engine.jobs.pause(*ids, library=await self._check(ids, library))

    async def resume(self, *ids: int, library: str | None = None) -> JobDecision:
        return await self._engine.jobs.resume(*ids, library=await self._check(ids, library))

    async def cancel(self, *ids: int, library: str | None = None) -> JobDecision:
        return await self._engine.jobs.cancel(*ids, library=await self._check(ids, library))

    async def retry(self, *ids: int, library: str | None = None) -> JobDecision:
        return await self._engine.jobs.retry(*ids, library=await self._check(ids, library))

    async def forget(self, *ids: int, library: str | None = None) -> JobDecision:
        return await self._engine.jobs.forget(*ids, library=await self._check(ids, library))

    async def _check(self, ids: Sequence[int], library: str | None) -> str | None:
        """Check that the caller may change jobs. Return the library's name, or None for jobs by number.

        Raise the errors of ``get`` and ``check_role``.
        """
        for id in ids:
            check_role("write", (await self.get(id)).view.job.library)
        return None if ids else (await self._limited.default_writable(library)).name


class LimitedConversations:
    """Methods on conversations about the libraries that the caller may read.

    The tools check who owns a conversation.
    """

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

    async def listed(self, *, owner: str | None, limit: int) -> list[Conversation]:
        caller = required_caller()
        conversations = await self._engine.conversations.listed(owner=owner or caller.id, limit=limit)
        return [item for item in conversations if _readable(item, caller)]


def _readable(conversation: Conversation, caller: Caller) -> bool:
    """Return whether a caller may read all libraries of a conversation.

    A conversation without libraries is about all of them.
    """
    return all(caller.may("read", item) for item in conversation.scope.libraries or (EVERYWHERE,))
