"""Copies of original files with users' notes as annotations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hybrid_core.errors import UsageError
from hybrid_core.store.home import scratch_folder, working_folder
from hybrid_core.store.notes import NoteStore
from hybrid_core.types.conversations import UserNote
from hybrid_core.types.documents import Document
from hybrid_pageindex.engine.documents import reading
from hybrid_pageindex.engine.documents.originals import PageWork, format_of_document
from hybrid_pageindex.engine.documents.page_views import Layouts
from indexers.formats.format import PageNote
from indexers.formats.limits import ParseLimits
from indexers.workers.protocol import AnnotateTask

_MAX_NOTES = 10_000
_SPARE = 10_000_000  # bytes of disk for the annotations


@contextmanager
def annotated_copy(work: PageWork, library: str, name: str, password: str | None) -> Iterator[Path]:
    """Yield the path of a temporary copy of a PDF, with the highlights and notes of its pages as annotations.

    Raise UsageError for another format, and DocumentError if the file is missing or has changed.
    """
    with work.catalog.snapshot() as snapshot:
        document = reading.find_document(snapshot, library, name)
        library_id = snapshot.library(library).id
    format = format_of_document(document)
    if format.annotate is None:
        raise UsageError(
            f"{document.name}: highlights can be written into PDF files only, and this is a {format.title} file.",
            "Download the original without highlights, or export the notes as Markdown.",
        )
    stored = NoteStore(work.catalog).all(library_id, document.doc_id, _MAX_NOTES)
    notes = tuple(_page_note(work, library, document, note, password) for note in reversed(stored))
    parent = working_folder(work.settings.storage_path / "tmp", 2 * document.size + _SPARE, f"A copy of {name}")
    with scratch_folder(parent) as folder, work.original(library_id, document) as path:
        result = folder / "annotated.pdf"
        work.run(AnnotateTask(path, password, result, notes, work.settings.part(ParseLimits)))
        yield result


def _page_note(work: PageWork, library: str, document: Document, note: UserNote, password: str | None) -> PageNote:
    """Return a user's note in the form in which it is written into the copy of the PDF.

    If its highlighted words are no longer on the page, return a note on the page as a whole.
    """
    page = min(max(note.page, 1), document.pages)
    place = (document.doc_id, page, note.quote, note.occurrence, password)
    boxes = Layouts(work).highlight(library, *place) if note.quote else ()
    text = note.text or note.quote if boxes else "\n\n".join(filter(None, (note.title, note.quote, note.text)))
    return PageNote(page, boxes, text, note.author)
