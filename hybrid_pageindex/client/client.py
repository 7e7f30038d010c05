"""A client for the HTTP interface, with the methods of ``Engine`` on a remote server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Unpack

from pydantic import TypeAdapter

from hybrid_core import errors
from hybrid_core.types.answers import Answer
from hybrid_core.types.exhaustive import (
    CompareFields,
    CompareRequest,
    GrepFields,
    GrepRequest,
    changed_fields,
    compare_request,
    grep_request,
)
from hybrid_core.types.requests import SearchFields, SearchRequest, search_request, several
from hybrid_core.types.results import ReasoningStep, SearchResult
from hybrid_pageindex.client.conversations import ConversationsClient
from hybrid_pageindex.client.documents import DocumentsClient, PicturesClient
from hybrid_pageindex.client.libraries import BinClient, JobsClient, LibrariesClient, ModelsClient
from hybrid_pageindex.client.wire import SubClient, Wire, error_of, read_as
from hybrid_pageindex.engine.documents.comparison import Comparison
from hybrid_pageindex.engine.documents.contents import Outline
from hybrid_pageindex.engine.documents.reading import PageRead
from hybrid_pageindex.engine.index.uploads import Uploaded
from hybrid_pageindex.engine.search.grep import GrepResult

_BINARY = {"Content-Type": "application/octet-stream"}


class Client(SubClient):
    """A client that calls a server with the methods of ``Engine``.

    All errors derive from ``PageIndexError``: errors of the engine, RefusedError if the token lacks rights,
    UnreachableError if the server does not answer.
    """

    def __init__(self, url: str, token: str, *, library: str = "default", timeout: float = 120.0) -> None:
        """Create a client for the server at ``url``.

        ``library`` is the default library of all methods. ``timeout`` is in seconds.
        """
        wire = Wire(f"{url.rstrip('/')}/api/v1", token, timeout)
        super().__init__(wire, library)
        self.conversations = ConversationsClient(wire, library)
        self.documents, self.pictures = DocumentsClient(wire, library), PicturesClient(wire, library)
        self.libraries, self.bin = LibrariesClient(wire, library), BinClient(wire, library)
        self.jobs, self.models = JobsClient(wire, library), ModelsClient(wire, library)

    async def search(
        self,
        question: str | SearchRequest,
        *,
        on_step: Callable[[ReasoningStep], None] | None = None,
        **options: Unpack[SearchFields],
    ) -> SearchResult:
        """Return the pages that answer a question, as ``Engine.search`` does."""
        body = self._search_body(question, options)
        if on_step is None:
            return read_as(SearchResult, await self._wire.json("POST", "/search", json=body))
        return read_as(SearchResult, await self._followed("/search", body, "result", on_step, None))

    async def ask(
        self,
        question: str | SearchRequest,
        *,
        force: bool = False,
        vision: bool | None = None,
        on_text: Callable[[str], None] | None = None,
        on_step: Callable[[ReasoningStep], None] | None = None,
        **options: Unpack[SearchFields],
    ) -> Answer:
        """Answer a question, as ``Engine.ask`` does."""
        body = self._search_body(question, options) | (
            {"force": force} if vision is None else {"force": force, "vision": vision}
        )
        if on_text is None and on_step is None:
            return read_as(Answer, await self._wire.json("POST", "/ask", json=body))
        return read_as(Answer, await self._followed("/ask", body, "answer", on_step, on_text))

    async def grep(self, pattern: str | GrepRequest, **options: Unpack[GrepFields]) -> GrepResult:
        """Count and list the pages that match a pattern, as ``Engine.grep`` does.

        The server stops searching after ``seconds`` (default 2).
        """
        request = grep_request(pattern, options)
        if not (request.libraries or request.all_libraries):
            request = replace(request, libraries=(self._library,))
        return read_as(GrepResult, await self._wire.json("POST", "/grep", json=changed_fields(request)))

    async def compare(
        self, left: str | CompareRequest, right: str | None = None, **options: Unpack[CompareFields]
    ) -> Comparison:
        """Compare two documents or sections, as ``Engine.compare`` does."""
        request = compare_request(left, right, options).with_libraries(lambda name: name or self._library)
        body = changed_fields(request)
        return read_as(Comparison, await self._wire.json("POST", "/compare", json=body))

    async def outline(
        self,
        document: str,
        *,
        library: str | None = None,
        query: str | None = None,
        depth: int | None = None,
        node: str | None = None,
        text: bool = False,
    ) -> Outline:
        params = {"q": query, "depth": depth, "node": node, "text": text, "shape": "flat"}
        return read_as(Outline, await self._wire.json("GET", self._of(library, document, "outline"), params))

    async def pages(
        self, document: str, numbers: str | int | Sequence[int], *, library: str | None = None, tables: bool = False
    ) -> list[PageRead]:
        listed = numbers if isinstance(numbers, str | int) else ",".join(map(str, numbers))
        params = {"pages": listed, "tables": tables}
        return read_as(list[PageRead], await self._wire.json("GET", self._of(library, document, "pages"), params))

    async def upload(self, paths: Sequence[str | Path] | str | Path, *, library: str | None = None) -> Uploaded:
        """Upload files of this machine to the server, and return the jobs that index them.

        Call ``jobs.wait`` to wait until they are indexed.
        """
        named = map(Path, several(paths))
        sent = [await self.upload_bytes(upload.name, _read_chunks(upload), library=library) for upload in named]
        files = tuple(file for part in sent for file in part.files)
        return Uploaded(library or self._library, files, tuple(note for part in sent for note in part.notes))

    async def upload_bytes(
        self, name: str, data: bytes | AsyncIterator[bytes], *, library: str | None = None
    ) -> Uploaded:
        answered = await self._wire.json("POST", self._of(library), {"name": name}, content=data, headers=_BINARY)
        return read_as(Uploaded, answered)

    async def close(self) -> None:
        await self._wire.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _search_body(self, question: str | SearchRequest, options: SearchFields) -> dict[str, Any]:
        """Return the JSON body of a search request. The server's settings decide the missing fields."""
        request = search_request(question, options)
        values = {item.name: getattr(request, item.name) for item in fields(request)}
        values["scoring"] = TypeAdapter(Any).dump_python(request.scoring) if request.scoring else None
        values = {name: value for name, value in values.items() if value not in (None, ())}
        if "libraries" not in values and not request.all_libraries:
            values["libraries"] = [self._library]
        return values

    async def _followed(
        self,
        path: str,
        body: Mapping[str, Any],
        last: str,
        on_step: Callable[[ReasoningStep], None] | None,
        on_text: Callable[[str], None] | None,
    ) -> Any:
        async for _, kind, data in self._wire.events(path, method="POST", json=body):
            if kind == last:
                return data
            if kind == "step" and on_step is not None:
                on_step(read_as(ReasoningStep, data))
            elif kind == "text" and on_text is not None:
                on_text(data)
            elif kind == "error":
                raise error_of(data)
        raise errors.UnreachableError(
            "The connection to the server ended before the answer was complete.", "Ask the question again."
        )


async def _read_chunks(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as opened:
        while piece := await asyncio.to_thread(opened.read, 1 << 18):
            yield piece
