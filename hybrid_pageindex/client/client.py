"""A client for the HTTP interface: the methods of ``Engine`` on another server."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack

from pydantic import TypeAdapter

from hybrid_core import errors
from hybrid_core.store.catalog.bin import BinEntry
from hybrid_core.types.answers import Answer
from hybrid_core.types.documents import Document, DocumentRow
from hybrid_core.types.jobs import ENDED
from hybrid_core.types.libraries import Library
from hybrid_core.types.locators import Box, PageLayout, WordBox
from hybrid_core.types.requests import SearchFields, SearchRequest, search_request, several
from hybrid_core.types.results import ReasoningStep, SearchResult
from hybrid_pageindex.client.conversations import ConversationsClient
from hybrid_pageindex.client.wire import Wire, error_of, quoted, read_as
from hybrid_pageindex.engine.documents.briefing import Briefing
from hybrid_pageindex.engine.documents.contents import Matches, Outline
from hybrid_pageindex.engine.documents.documents import DocumentPage, DocumentVersion
from hybrid_pageindex.engine.documents.reading import PageRead
from hybrid_pageindex.engine.index.reindexing import Estimate
from hybrid_pageindex.engine.index.uploads import Uploaded
from hybrid_pageindex.engine.libraries.libraries import LibrarySize

if TYPE_CHECKING:
    from indexers.formats.format import PageView

_BINARY = {"Content-Type": "application/octet-stream"}


class Client:
    """Call a server with the methods of ``Engine``.

    All errors derive from ``PageIndexError``: errors of the engine, RefusedError if the token lacks rights,
    UnreachableError if the server does not answer.
    """

    def __init__(self, url: str, token: str, *, library: str = "default", timeout: float = 120.0) -> None:
        """``library`` is the default library of all methods. ``timeout`` is in seconds."""
        self._wire = Wire(f"{url.rstrip('/')}/api/v1", token, timeout)
        self._library = library
        self.conversations = ConversationsClient(self._wire, library)

    async def search(
        self,
        question: str | SearchRequest,
        *,
        on_step: Callable[[ReasoningStep], None] | None = None,
        **options: Unpack[SearchFields],
    ) -> SearchResult:
        """Search like ``Engine.search``."""
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
        """Answer like ``Engine.ask``."""
        body = self._search_body(question, options) | (
            {"force": force} if vision is None else {"force": force, "vision": vision}
        )
        if on_text is None and on_step is None:
            return read_as(Answer, await self._wire.json("POST", "/ask", json=body))
        return read_as(Answer, await self._followed("/ask", body, "answer", on_step, on_text))

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

    async def briefing(
        self, document: str | None = None, *, library: str | None = None, model: bool = False
    ) -> Briefing:
        of = (
            self._of(library, document, "briefing")
            if document
            else f"{self._of(library).removesuffix('/documents')}/briefing"
        )
        return read_as(Briefing, await self._wire.json("GET", of, {"model": model}))

    async def pages(
        self, document: str, numbers: str | int | Sequence[int], *, library: str | None = None, tables: bool = False
    ) -> list[PageRead]:
        listed = numbers if isinstance(numbers, str | int) else ",".join(map(str, numbers))
        params = {"pages": listed, "tables": tables}
        return read_as(list[PageRead], await self._wire.json("GET", self._of(library, document, "pages"), params))

    async def layout(self, document: str, page: int, *, library: str | None = None) -> PageLayout:
        return read_as(PageLayout, await self._wire.json("GET", self._of(library, document, f"pages/{page}/layout")))

    async def words(self, document: str, page: int, *, library: str | None = None) -> tuple[WordBox, ...]:
        return (await self.layout(document, page, library=library)).words

    async def boxes(self, document: str, page: int, quote: str, *, library: str | None = None) -> tuple[Box, ...]:
        boxes = await self._wire.json("GET", self._of(library, document, f"pages/{page}/boxes"), {"quote": quote})
        return read_as(tuple[Box, ...], boxes["boxes"])

    async def page_image(
        self, document: str, page: int, *, library: str | None = None, scale: int = 1, view: PageView = "page"
    ) -> bytes:
        """Return a page as PNG at 96 dpi, or twice that with ``scale`` 2. ``view`` is as in ``Engine.page_image``."""
        where = self._of(library, document, f"pages/{page}/picture")
        return (await self._wire.sent("GET", where, {"scale": scale, "view": view})).content

    async def find_words(
        self, document: str, words: str, *, library: str | None = None, first: int = 1, most: int = 100
    ) -> Matches:
        params = {"q": words, "first": first, "most": most}
        return read_as(Matches, await self._wire.json("GET", self._of(library, document, "find"), params))

    async def original(self, document: str, to: str | Path, *, library: str | None = None) -> Path:
        """Download the original file of a document to a local path."""
        target = Path(to)
        async with self._wire.opened("GET", self._of(library, document, "original")) as answered:
            with target.open("wb") as file:
                async for piece in answered.aiter_bytes():
                    await asyncio.to_thread(file.write, piece)
        return target

    async def documents(self, *, library: str | None = None, where: Sequence[str] | str = ()) -> list[Document]:
        documents: list[Document] = []
        cursor = ""
        while True:
            part = await self.list_documents(library=library, where=several(where), most=1000, cursor=cursor)
            documents += part.documents
            if not (cursor := part.cursor):
                return documents

    async def list_documents(self, *, library: str | None = None, **options: Any) -> DocumentPage:
        return read_as(DocumentPage, await self._wire.json("GET", self._of(library), options))

    async def document_rows(self, *, library: str | None = None) -> list[DocumentRow]:
        """List documents like ``Engine.document_rows``."""
        rows = f"/libraries/{quoted(library or self._library)}/rows"
        return read_as(list[DocumentRow], (await self._wire.json("GET", rows))["rows"])

    async def info(self, document: str, *, library: str | None = None) -> Document:
        return read_as(Document, await self._wire.json("GET", self._of(library, document)))

    async def versions(self, document: str, *, library: str | None = None) -> list[DocumentVersion]:
        """List versions like ``Engine.versions``."""
        return read_as(list[DocumentVersion], await self._wire.json("GET", self._of(library, document, "versions")))

    async def edit(
        self,
        document: str,
        *,
        set: Mapping[str, str] | None = None,
        unset: Sequence[str] = (),
        library: str | None = None,
    ) -> Document:
        """Correct a document like ``Engine.edit``."""
        body = {"set": dict(set or {}), "unset": list(several(unset))}
        return read_as(Document, await self._wire.json("PATCH", self._of(library, document), json=body))

    async def remove(
        self, documents: Sequence[str] | str, *, library: str | None = None, for_good: bool = False
    ) -> list[Document]:
        """Remove documents one by one. If one is not found, the ones before it are already removed."""
        params = {"for_good": "true"} if for_good else {}
        replies = [
            await self._wire.json("DELETE", self._of(library, document_id), params)
            for document_id in several(documents)
        ]
        return read_as(list[Document], [document for document_id in replies for document in document_id["removed"]])

    async def estimate(self, documents: Sequence[str] | str = (), *, library: str | None = None) -> Estimate:
        """Estimate like ``Engine.estimate``."""
        where = f"/libraries/{quoted(library or self._library)}/estimate"
        return read_as(Estimate, await self._wire.json("POST", where, json={"documents": several(documents)}))

    async def upload(self, paths: Sequence[str | Path] | str | Path, *, library: str | None = None) -> Uploaded:
        """Upload local files; the server indexes them. Use ``wait`` to wait for the result."""
        named = map(Path, several(paths))
        sent = [await self.upload_bytes(upload.name, _read_chunks(upload), library=library) for upload in named]
        files = tuple(file for part in sent for file in part.files)
        return Uploaded(library or self._library, files, tuple(note for part in sent for note in part.notes))

    async def upload_bytes(
        self, name: str, data: bytes | AsyncIterator[bytes], *, library: str | None = None
    ) -> Uploaded:
        answered = await self._wire.json("POST", self._of(library), {"name": name}, content=data, headers=_BINARY)
        return read_as(Uploaded, answered)

    async def wait(self, uploaded: Uploaded) -> list[dict[str, Any]]:
        """Wait until all jobs of an upload have ended. Return the outcome of each."""
        jobs = [file.job for file in uploaded.files if file.job is not None]
        for job in jobs:
            async for _ in self.job_events(job):
                pass
        return [await self.job(job) for job in jobs]

    async def libraries(self, part: str = "") -> list[LibrarySize]:
        return read_as(list[LibrarySize], await self._wire.json("GET", "/libraries", {"find": part}))

    async def create_library(self, name: str, *, alias: str = "") -> Library:
        return read_as(Library, await self._wire.json("POST", "/libraries", json={"name": name, "alias": alias}))

    async def name_library(self, library: str, *, name: str | None = None, alias: str | None = None) -> Library:
        changed = {"name": name, "alias": alias}
        return read_as(Library, await self._wire.json("PATCH", f"/libraries/{quoted(library)}", json=changed))

    async def clear(self, *, library: str, for_good: bool = False) -> list[str]:
        params = {"for_good": "true"} if for_good else {}
        deleted: list[str] = (await self._wire.json("DELETE", f"/libraries/{quoted(library)}", params))["deleted"]
        return deleted

    async def bin(self) -> list[BinEntry]:
        """List the bin like ``Engine.bin``."""
        return read_as(list[BinEntry], await self._wire.json("GET", "/bin"))

    async def restore(self, entry: str) -> BinEntry:
        """Restore an entry like ``Engine.restore``."""
        return read_as(BinEntry, await self._wire.json("POST", f"/bin/{quoted(entry)}/restore"))

    async def empty_bin(self, entry: str | None = None) -> int:
        """Empty the bin like ``Engine.empty_bin``."""
        if entry is None:
            return int((await self._wire.json("DELETE", "/bin"))["deleted"])
        await self._wire.json("DELETE", f"/bin/{quoted(entry)}")
        return 1

    async def jobs(self, *, library: str | None = None, status: Sequence[str] = (), most: int = 100) -> dict[str, Any]:
        """Return jobs in the shape of ``JobList.to_dict``."""
        params = {"library": library, "status": list(status), "most": most}
        return read_as(dict[str, Any], await self._wire.json("GET", "/jobs", params))

    async def job(self, id: int) -> dict[str, Any]:
        """Return a job in the shape of ``JobHistory.to_dict``."""
        return read_as(dict[str, Any], await self._wire.json("GET", f"/jobs/{id}"))

    async def job_events(self, id: int, after: int | None = None) -> AsyncIterator[tuple[int, str, Any]]:
        """Yield number, kind and detail of each event of a job, until the job has ended."""
        ended = False
        while not ended:  # the server ends a stream after a while, or when it is started again
            async for number, kind, data in self._wire.events(f"/jobs/{id}/events", after):
                after = max(number, after or 0) if number >= 0 else after
                ended = ended or _ended(kind, data)
                yield number, kind, data
            if not ended:
                await asyncio.sleep(1)

    async def decide(self, action: str, *jobs: int, library: str | None = None, everything: bool = False) -> list[int]:
        """Pause, resume, cancel, retry or forget jobs. Return the numbers of the affected jobs."""
        body = {"jobs": list(jobs), "library": library, "everything": everything}
        done: list[int] = (await self._wire.json("POST", f"/jobs/{action}", json=body))["jobs"]
        return done

    async def close(self) -> None:
        await self._wire.close()

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _of(self, library: str | None, document: str = "", what: str = "") -> str:
        if library == "":
            raise errors.UsageError("The library's name is empty.", "Leave it out, or name a library.")
        named = [f"/libraries/{quoted(library or self._library)}/documents", quoted(str(document)), what]
        return "/".join(part for part in named if part)

    def _search_body(self, question: str | SearchRequest, options: SearchFields) -> dict[str, Any]:
        """A request as JSON says it: what it does not say is as the server's settings have it."""
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
        raise errors.UnreachableError("The server ended before the answer was whole.", "Ask again.")


def _ended(kind: str, data: Any) -> bool:
    if kind == "state":
        return any(job["status"] in ENDED for job in data["jobs"])
    return kind in ENDED


async def _read_chunks(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as opened:
        while piece := await asyncio.to_thread(opened.read, 1 << 18):
            yield piece
