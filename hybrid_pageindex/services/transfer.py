"""A library as one file: its documents as files, and what people made: alias, corrections, notes, feedback.

Whoever imports it indexes the files.

What was made of them is not in it: it is made again, by the version that imports, of bytes that it has looked at. Only
vectors go along, which cost the most, and are known by their texts.
"""

from __future__ import annotations

import json
import os
import secrets
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from hybrid_core.cards.corrections import FIELDS, correction
from hybrid_core.errors import DocumentError, PageIndexError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.correcting import expect
from hybrid_core.store.catalog.libraries import create_library
from hybrid_core.store.notes.store import FeedbackStore, NoteStore
from hybrid_core.store.scratch import scratch_folder
from hybrid_core.types.addresses import containers, is_upload, member_address
from hybrid_core.types.documents import Document
from hybrid_core.types.notes import Feedback, Note
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.services.exported_vectors import matching, take_vectors, write_vectors
from hybrid_pageindex.services.opening import lent_original
from hybrid_pageindex.services.page_work import PageWork
from hybrid_pageindex.services.parts import Parts
from hybrid_pageindex.services.taking_in import Upload
from hybrid_pageindex.services.upkeep import clear
from indexers.files.identity import new_id

_MANIFEST, _FILES, _KIND = "library.json", "files/", "hybrid-pageindex library 1"
_MOST_FILES = 100_000
_MOST_MANIFEST = 100 * 10**6  # bytes
_PIECE = 1 << 20
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError)
_UNPACKED = 5  # times the size of an upload
_AT_ONCE = 50  # files
_LONGEST = 100_000  # characters
_LONGEST_INSIDE = 4_000  # characters of a place inside a document
_LAST = 1 << 53  # ms since 1970


@dataclass(frozen=True, slots=True)
class Exported:
    """``left_out`` are documents whose original is gone or has changed, with the reason."""

    file: Path
    documents: int
    left_out: tuple[tuple[str, str], ...]


def export_library(catalog: Catalog, pages: PageWork, library: str, file: Path) -> Exported:
    """Raises NotFoundError for an unknown library."""
    with catalog.snapshot() as snapshot:
        known = snapshot.library(library)
        everything = snapshot.documents(known.id)
    documents, ids = (
        [one for one in everything if not containers(one.path)],
        {one.path: one.doc_id for one in everything},
    )
    names = dict(_named(documents))
    left_out: list[tuple[str, str]] = []
    packed: list[dict[str, Any]] = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as bundle:
        for document in documents:
            try:
                with lent_original(catalog, pages, known.name, document.doc_id) as original:
                    bundle.write(original, _FILES + names[document.doc_id])
            except (PageIndexError, OSError) as error:
                left_out.append((document.path, str(error)))
                continue
            packed.append({"name": names[document.doc_id], "path": document.path, "doc_id": document.doc_id})
        places = _places(everything, {one.path: names[one.doc_id] for one in documents})
        vectors = write_vectors(catalog, known.id, bundle)
        manifest = {
            "kind": _KIND, "name": known.name, "alias": known.alias, "documents": packed, "vectors": vectors,
            "left_out": left_out,
            "notes": [
                asdict(one) | {"place": places.get(one.doc_id)}
                for one in NoteStore(catalog).all(known.id, most=_MOST_FILES)
            ],
            "feedback": [
                asdict(one) | {"place": places.get(ids.get(one.document, ""))}
                for one in FeedbackStore(catalog).all(known.id)
            ],
            "corrections": _corrections(everything, places),
        }  # fmt: skip
        bundle.writestr(_MANIFEST, json.dumps(manifest, ensure_ascii=False))
    return Exported(file, len(packed), tuple(left_out))


@dataclass(frozen=True, slots=True)
class Imported:
    """``documents`` were asked to be indexed; ``notes``, ``feedback`` and ``vectors`` (of texts) taken over. ``note``
    says why vectors were not.
    """

    library: str
    documents: int
    notes: int
    feedback: int
    vectors: int = 0
    note: str = ""


def import_library(
    parts: Parts,
    settings: Settings,
    file: Path,
    name: str | None,
    ask: Callable[[str, Sequence[Upload]], None],
) -> Imported:
    """``ask`` has uploads of a library indexed; it is called for some after the other, so that the disk need not hold
    all of them twice.
    """
    catalog, most = parts.catalog, settings.max_upload_size * _UNPACKED
    with scratch_folder(settings.storage_path / "tmp") as folder:
        manifest, uploads = unpacked(file, Path(folder), most)
        made = create_library(catalog, name or manifest["name"], alias="" if name else str(manifest.get("alias", "")))
        count, taken, note = 0, 0, ""
        try:
            if isinstance(said := manifest.get("vectors"), dict):
                taken, note = _vectors(parts, settings, made.id, said, file)
            places = _Places(catalog, made.id, manifest)
            places.correct(_entries(manifest, "corrections"))
            while some := list(islice(uploads, _AT_ONCE)):
                ask(made.name, some)
                count += len(some)
        except PageIndexError:  # all of it or nothing
            clear(catalog, parts.cache, parts.indexes, settings.storage_path, made.name)
            raise
    notes, feedback = _entries(manifest, "notes"), _entries(manifest, "feedback")
    NoteStore(catalog).restore([_note(one, made.id, places) for one in notes])
    FeedbackStore(catalog).restore([_feedback(one, made.id, places) for one in feedback])
    return Imported(made.name, count, len(notes), len(feedback), taken, note)


class _Places:
    """Where the documents of an exported library lie in the one that is made of it."""

    def __init__(self, catalog: Catalog, library: str, manifest: Mapping[str, Any]) -> None:
        self._catalog, self._library = catalog, library
        packed = _entries(manifest, "documents")
        self._names = {one.get(key): one.get("name") for one in packed for key in ("doc_id", "path")}

    def address(self, entry: Mapping[str, Any], otherwise: str) -> str:
        """Return the path of an entry's document, "" for none; of older files it is known by ``otherwise``."""
        place = entry.get("place") or [self._names.get(otherwise), ""]
        if not isinstance(place, list) or len(place) != 2 or not all(isinstance(one, str) for one in place):
            return ""
        name, inside = place
        try:
            outer = Upload(name, b"").address
        except UsageError:
            return ""
        return member_address(outer, inside[:_LONGEST_INSIDE]) if inside else outer

    def doc_id(self, address: str) -> str:
        return new_id(self._catalog, self._library, Path(address)) if address else ""

    def correct(self, entries: Sequence[Mapping[str, Any]]) -> None:
        """Record corrections before the documents are indexed, which leaves them as they are."""
        for one in entries:
            if address := self.address(one, ""):
                given = one.get("corrections")
                fields = _fields(given) if isinstance(given, dict) else {}
                expect(self._catalog, self._library, self.doc_id(address), address, fields)


def _fields(given: Mapping[str, Any]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name in FIELDS:
        with suppress(UsageError):  # of a newer version, or nobody's
            if isinstance(value := given.get(name), str):
                fields[name] = correction(name, value)
    return fields


def _note(entry: Mapping[str, Any], library: str, places: _Places) -> Note:
    doc_id = places.doc_id(places.address(entry, _said(entry, "doc_id")))
    page = _number(entry, "page", 10**6) if doc_id else 0
    texts = (_said(entry, "author"), _said(entry, "title"), _said(entry, "text"))
    times = (_number(entry, "created_at", _LAST), _number(entry, "changed_at", _LAST))
    return Note(secrets.token_hex(8), library, *texts, doc_id, page, *times)


def _feedback(entry: Mapping[str, Any], library: str, places: _Places) -> Feedback:
    before = _said(entry, "document")
    document = places.address(entry, before) or before
    texts = (_said(entry, "author"), _said(entry, "question"), _said(entry, "answer"))
    page, at = _number(entry, "page", 10**6), _number(entry, "at", _LAST)
    return Feedback(secrets.token_hex(8), library, *texts, document, page, bool(entry.get("right")), at)


def _number(entry: Mapping[str, Any], name: str, most: int) -> int:
    value = entry.get(name)
    return max(0, min(value, most)) if isinstance(value, int) else 0


def _vectors(parts: Parts, settings: Settings, library: str, said: Mapping[str, Any], file: Path) -> tuple[int, str]:
    """How many were taken over, or why none was. Raises DocumentError for a damaged file."""
    try:
        embedder = matching(parts.embedders, settings, said)
    except DocumentError as error:
        return 0, error.message
    try:
        with zipfile.ZipFile(file) as bundle:
            return take_vectors(parts.catalog, library, embedder, bundle), ""
    except (*_DAMAGE, KeyError) as error:
        raise _unfit() from error


def _entries(manifest: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    given = manifest.get(name)
    return [one for one in given if isinstance(one, dict)][:_MOST_FILES] if isinstance(given, list) else []


def _said(entry: Mapping[str, Any], name: str) -> str:
    return str(entry.get(name, ""))[:_LONGEST]


def unpacked(file: Path, folder: Path, most_bytes: int) -> tuple[dict[str, Any], Iterator[Upload]]:
    """What an exported file says of itself, and its documents one after the other, each in ``folder``.

    Raises DocumentError for a file that is none, that has more than ``most_bytes`` unpacked, or that says less than it
    has.
    """
    try:
        bundle = zipfile.ZipFile(file)
        inside = bundle.infolist()
        if len(inside) > _MOST_FILES or sum(one.file_size for one in inside) > most_bytes:
            bundle.close()
            raise DocumentError("This library is too large to be imported.", "See the setting max_upload_size.")
        head = bundle.getinfo(_MANIFEST)
        if head.file_size > _MOST_MANIFEST:
            bundle.close()
            raise _unfit()
        manifest = json.loads(bundle.read(head))
    except (*_DAMAGE, KeyError, OSError, RecursionError) as error:
        raise _unfit() from error
    if not isinstance(manifest, dict) or manifest.get("kind") != _KIND or not isinstance(manifest.get("name"), str):
        bundle.close()
        raise _unfit()
    return manifest, _uploads(bundle, inside, folder)


def _uploads(bundle: zipfile.ZipFile, inside: Sequence[zipfile.ZipInfo], folder: Path) -> Iterator[Upload]:
    with bundle:
        for number, one in enumerate(inside):
            if not one.filename.startswith(_FILES) or one.is_dir():
                continue
            place = folder / f"{number}.part"
            left = one.file_size
            try:
                with bundle.open(one) as packed, place.open("xb") as target:
                    while piece := packed.read(_PIECE):
                        left -= len(piece)
                        if left < 0:
                            raise _unfit()
                        target.write(piece)
            except _DAMAGE as error:
                raise _unfit() from error
            yield Upload(one.filename.removeprefix(_FILES), place)


def _named(documents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """A name for each, with the folders below the one that all files share."""
    files = [one.path for one in documents if not is_upload(one.path)]
    shared = os.path.commonpath([str(Path(path).parent) for path in files]) if files else ""
    taken: set[str] = set()
    for one in documents:
        where = one.path.partition(":/")[2] if is_upload(one.path) else os.path.relpath(one.path, shared)
        name = where
        while name in taken:
            name = f"{PurePosixPath(name).parent}/{len(taken)}-{PurePosixPath(name).name}".removeprefix("./")
        taken.add(name)
        yield one.doc_id, name


def _places(documents: Sequence[Document], names: Mapping[str, str]) -> dict[str, list[str]]:
    """By id: the name under which a document, or what it lies in, is packed, and its place inside."""
    places: dict[str, list[str]] = {}
    for one in documents:
        outer = next(iter(containers(one.path)), one.path)
        if outer in names:
            places[one.doc_id] = [names[outer], one.path[len(member_address(outer, "")) :]]
    return places


def _corrections(documents: Sequence[Document], places: Mapping[str, list[str]]) -> list[dict[str, Any]]:
    """Those that have some, and their copies that have none, which would take them over otherwise."""
    shared = {one.content_id for one in documents if one.corrections and one.content_id}
    return [
        {"place": places[one.doc_id], "corrections": dict(one.corrections)}
        for one in documents
        if (one.corrections or one.content_id in shared) and one.doc_id in places
    ]


def _unfit() -> DocumentError:
    return DocumentError("This file is no exported library, or is damaged.", "Export it again.")
