"""The engine over HTTP: the methods of ``Engine`` by their names, with the values that it gives, of a server elsewhere.

async with Client("http://127.0.0.1:8323", token="hpi_…") as client:
    found = await client.search("What was the capital expenditure in 2018?")
"""

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
from hybrid_core.types.layouts import Box, PageLayout, WordBox
from hybrid_core.types.libraries import Library
from hybrid_core.types.requests import SearchFields, SearchRequest, search_request, several
from hybrid_core.types.results import ReasoningStep, SearchResult
from hybrid_pageindex.client.conversations import ConversationsClient
from hybrid_pageindex.client.wire import Wire, error_of, quoted, read_as
from hybrid_pageindex.services.briefing import Briefing
from hybrid_pageindex.services.document_versions import DocumentVersion
from hybrid_pageindex.services.estimating import Estimate
from hybrid_pageindex.services.listing import DocumentPage
from hybrid_pageindex.services.outline import Outline
from hybrid_pageindex.services.page_search import Matches
from hybrid_pageindex.services.reading import PageRead
from hybrid_pageindex.services.sizes import LibrarySize
from hybrid_pageindex.services.uploading import Uploaded

if TYPE_CHECKING:
    from indexers.formats.drawing import PageView

_BINARY = {"Content-Type": "application/octet-stream"}


class Client:
    """Every method raises errors of the family ``PageIndexError``: those that the engine raises there, RefusedError
    for what the token may not do, UnreachableError where the server does not answer.
    """

    def __init__(self, url: str, token: str, *, library: str = "default", timeout: float = 120.0) -> None:
        """``library`` is the one that is meant where none is named."""
        self._wire = Wire(f"{url.rstrip('/')}/api/v1", token, timeout)
        self._library = library
        self.conversations = ConversationsClient(self._wire, library)

    async def search(
        self,
        question: str | SearchRequest,
        *,
        on_step: Callable[[ReasoningStep], None] | None = None,
        **given: Unpack[SearchFields],
    ) -> SearchResult:
        """As ``Engine.search``."""
        body = self._asked(question, given)
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
        **given: Unpack[SearchFields],
    ) -> Answer:
        """As ``Engine.ask``."""
        body = self._asked(question, given) | (
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
        asked = {"q": query, "depth": depth, "node": node, "text": text, "shape": "flat"}
        return read_as(Outline, await self._wire.json("GET", self._of(library, document, "outline"), asked))

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
        wanted = numbers if isinstance(numbers, str | int) else ",".join(map(str, numbers))
        asked = {"pages": wanted, "tables": tables}
        return read_as(list[PageRead], await self._wire.json("GET", self._of(library, document, "pages"), asked))

    async def layout(self, document: str, page: int, *, library: str | None = None) -> PageLayout:
        return read_as(PageLayout, await self._wire.json("GET", self._of(library, document, f"pages/{page}/layout")))

    async def words(self, document: str, page: int, *, library: str | None = None) -> tuple[WordBox, ...]:
        return (await self.layout(document, page, library=library)).words

    async def boxes(self, document: str, page: int, quote: str, *, library: str | None = None) -> tuple[Box, ...]:
        found = await self._wire.json("GET", self._of(library, document, f"pages/{page}/boxes"), {"quote": quote})
        return read_as(tuple[Box, ...], found["boxes"])

    async def page_image(
        self, document: str, page: int, *, library: str | None = None, scale: int = 1, view: PageView = "page"
    ) -> bytes:
        """PNG, at 96 pixels an inch or twice that. ``view`` as ``Engine.page_image`` has it."""
        where = self._of(library, document, f"pages/{page}/picture")
        return (await self._wire.sent("GET", where, {"scale": scale, "view": view})).content

    async def find_words(
        self, document: str, words: str, *, library: str | None = None, first: int = 1, most: int = 100
    ) -> Matches:
        asked = {"q": words, "first": first, "most": most}
        return read_as(Matches, await self._wire.json("GET", self._of(library, document, "find"), asked))

    async def original(self, document: str, to: str | Path, *, library: str | None = None) -> Path:
        """Fetch the file that a document was made of, to a file of yours."""
        target = Path(to)
        async with self._wire.opened("GET", self._of(library, document, "original")) as answered:
            with target.open("wb") as file:
                async for piece in answered.aiter_bytes():
                    await asyncio.to_thread(file.write, piece)
        return target

    async def documents(self, *, library: str | None = None, where: Sequence[str] | str = ()) -> list[Document]:
        found: list[Document] = []
        cursor = ""
        while True:
            part = await self.list_documents(library=library, where=several(where), most=1000, cursor=cursor)
            found += part.documents
            if not (cursor := part.cursor):
                return found

    async def list_documents(self, *, library: str | None = None, **asked: Any) -> DocumentPage:
        return read_as(DocumentPage, await self._wire.json("GET", self._of(library), asked))

    async def document_rows(self, *, library: str | None = None) -> list[DocumentRow]:
        """As ``Engine.document_rows``."""
        rows = f"/libraries/{quoted(library or self._library)}/rows"
        return read_as(list[DocumentRow], (await self._wire.json("GET", rows))["rows"])

    async def info(self, document: str, *, library: str | None = None) -> Document:
        return read_as(Document, await self._wire.json("GET", self._of(library, document)))

    async def versions(self, document: str, *, library: str | None = None) -> list[DocumentVersion]:
        """As ``Engine.versions``."""
        return read_as(list[DocumentVersion], await self._wire.json("GET", self._of(library, document, "versions")))

    async def edit(
        self,
        document: str,
        *,
        set: Mapping[str, str] | None = None,
        unset: Sequence[str] = (),
        library: str | None = None,
    ) -> Document:
        """As ``Engine.edit``."""
        body = {"set": dict(set or {}), "unset": list(several(unset))}
        return read_as(Document, await self._wire.json("PATCH", self._of(library, document), json=body))

    async def remove(
        self, documents: Sequence[str] | str, *, library: str | None = None, for_good: bool = False
    ) -> list[Document]:
        """One after the other: where one is not found those before it are gone."""
        asked = {"for_good": "true"} if for_good else {}
        found = [await self._wire.json("DELETE", self._of(library, one), asked) for one in several(documents)]
        return read_as(list[Document], [document for one in found for document in one["removed"]])

    async def estimate(self, documents: Sequence[str] | str = (), *, library: str | None = None) -> Estimate:
        """As ``Engine.estimate``."""
        where = f"/libraries/{quoted(library or self._library)}/estimate"
        return read_as(Estimate, await self._wire.json("POST", where, json={"documents": several(documents)}))

    async def upload(self, paths: Sequence[str | Path] | str | Path, *, library: str | None = None) -> Uploaded:
        """Send files of this machine, by their names; the server indexes them: see ``wait``."""
        named = map(Path, several(paths))
        sent = [await self.upload_bytes(one.name, _pieces(one), library=library) for one in named]
        files = tuple(file for part in sent for file in part.files)
        return Uploaded(library or self._library, files, tuple(note for part in sent for note in part.notes))

    async def upload_bytes(
        self, name: str, data: bytes | AsyncIterator[bytes], *, library: str | None = None
    ) -> Uploaded:
        answered = await self._wire.json("POST", self._of(library), {"name": name}, content=data, headers=_BINARY)
        return read_as(Uploaded, answered)

    async def wait(self, uploaded: Uploaded) -> list[dict[str, Any]]:
        """Until the jobs of an upload have ended: what became of each."""
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
        asked = {"for_good": "true"} if for_good else {}
        deleted: list[str] = (await self._wire.json("DELETE", f"/libraries/{quoted(library)}", asked))["deleted"]
        return deleted

    async def bin(self) -> list[BinEntry]:
        """As ``Engine.bin``."""
        return read_as(list[BinEntry], await self._wire.json("GET", "/bin"))

    async def restore(self, entry: str) -> BinEntry:
        """As ``Engine.restore``."""
        return read_as(BinEntry, await self._wire.json("POST", f"/bin/{quoted(entry)}/restore"))

    async def empty_bin(self, entry: str | None = None) -> int:
        """As ``Engine.empty_bin``."""
        if entry is None:
            return int((await self._wire.json("DELETE", "/bin"))["deleted"])
        await self._wire.json("DELETE", f"/bin/{quoted(entry)}")
        return 1

    async def jobs(self, *, library: str | None = None, status: Sequence[str] = (), most: int = 100) -> dict[str, Any]:
        """As ``JobList.to_dict``."""
        asked = {"library": library, "status": list(status), "most": most}
        return read_as(dict[str, Any], await self._wire.json("GET", "/jobs", asked))

    async def job(self, id: int) -> dict[str, Any]:
        """As ``JobHistory.to_dict``."""
        return read_as(dict[str, Any], await self._wire.json("GET", f"/jobs/{id}"))

    async def job_events(self, id: int, after: int | None = None) -> AsyncIterator[tuple[int, str, Any]]:
        """Number, kind and detail of what happens to a job, until it has ended."""
        over = False
        while not over:  # the server ends a stream after a while, or when it is started again
            async for number, kind, data in self._wire.events(f"/jobs/{id}/events", after):
                after = max(number, after or 0) if number >= 0 else after
                over = over or _ended(kind, data)
                yield number, kind, data
            if not over:
                await asyncio.sleep(1)

    async def decide(self, action: str, *jobs: int, library: str | None = None, everything: bool = False) -> list[int]:
        """pause, resume, cancel, retry or forget: the numbers of the jobs that it was done to."""
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

    def _asked(self, question: str | SearchRequest, given: SearchFields) -> dict[str, Any]:
        """A request as JSON says it: what it does not say is as the server's settings have it."""
        request = search_request(question, given)
        said = {one.name: getattr(request, one.name) for one in fields(request)}
        said["scoring"] = TypeAdapter(Any).dump_python(request.scoring) if request.scoring else None
        said = {name: value for name, value in said.items() if value not in (None, ())}
        if "libraries" not in said and not request.all_libraries:
            said["libraries"] = [self._library]
        return said

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


async def _pieces(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as opened:
        while piece := await asyncio.to_thread(opened.read, 1 << 18):
            yield piece
