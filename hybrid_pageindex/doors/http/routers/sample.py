"""A library to try things with: made once, where there is no other yet, and gone for good once it is deleted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from hybrid_core.errors import StoreError
from hybrid_core.store.home import make_file
from hybrid_core.store.scratch import scratch_folder
from hybrid_pageindex.doors.http.callers import At, Reader, Writer, in_thread, visible
from hybrid_pageindex.doors.http.errors import Refusal
from hybrid_pageindex.doors.http.replies import said
from hybrid_pageindex.doors.http.server import Server
from hybrid_pageindex.doors.http.shapes import SampleState
from hybrid_pageindex.sample import COMPANY, SAMPLE_QUESTIONS, write_sample_report
from hybrid_pageindex.services.taking_in import Upload

router = APIRouter(prefix="/sample", tags=["libraries"])
_MARK = "sample"  # a file of the home with the library's id: it stays when the library goes
_NAME, _FILE, _QUESTIONS = "sample", "kestrel-vale-2025-annual-report.pdf", 3


@router.get("", response_model=SampleState)
async def show_sample(request: Request, server: At, _: Reader) -> Response:
    """``library`` is its name, "" where it is not there. ``offered``: it can be made."""
    return said(await _state(request, server))


@router.post("", status_code=201, response_model=SampleState)
async def make_sample(request: Request, server: At, _: Writer) -> Response:
    """The annual report of an invented company, in a library of its own. Refused where there are libraries, or it was
    made before.
    """
    state = await _state(request, server)
    if not state["offered"]:
        raise Refusal(409, "not_offered", "The sample was here before, or there are libraries already.")
    made = await server.engine.create_library(_NAME, alias=COMPANY.split(",")[0])
    await in_thread(lambda: _remember(server.engine.home, made.id))
    with scratch_folder(server.engine.home / "tmp") as folder:
        report = await in_thread(lambda: write_sample_report(folder / _FILE))
        await server.engine.upload([Upload(_FILE, report)], library=made.name)
    server.standby.wake()
    return said(await _state(request, server), 201)


async def _state(request: Request, server: Server) -> dict[str, Any]:
    marked, all_of_them = await in_thread(lambda: _marked(server.engine.home)), await server.engine.named_libraries()
    name = next((one.name for one in await visible(request) if one.id == marked), "")
    questions = [one.question for one in SAMPLE_QUESTIONS[:_QUESTIONS]]
    return {"library": name, "offered": not marked and not all_of_them, "questions": questions}


def _marked(home: Path) -> str:
    try:
        return (home / _MARK).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise StoreError(f"{home / _MARK}: cannot be read ({error.strerror}).", "Check its permissions.") from error


def _remember(home: Path, library: str) -> None:
    make_file(home / _MARK)
    (home / _MARK).write_text(library + "\n", encoding="utf-8")
