"""Export and import of a library as one file with its documents and users' additions to them.

These are alias, corrections, notes, feedback and conversations. The importing version indexes the files itself, so the
export contains no pages or trees. Vectors are included, because they are the most expensive part; the key of each is
computed from its text.
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
from struct import Struct
from typing import IO, Any

import numpy as np

from hybrid_core.cards.corrections import FIELDS, correction
from hybrid_core.errors import DocumentError, PageIndexError, UsageError
from hybrid_core.store.catalog.catalog import Catalog
from hybrid_core.store.catalog.documents import expect
from hybrid_core.store.catalog.embeddings import Embeddings, Vector, content_texts
from hybrid_core.store.catalog.libraries import create_library
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.store.home import scratch_folder
from hybrid_core.store.notes import FeedbackStore, NoteStore
from hybrid_core.types.conversations import Feedback, UserNote
from hybrid_core.types.documents import Document, StoredEmbedder
from hybrid_core.types.libraries import containers, is_upload, member_address
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.engine.documents.originals import PageWork, lent_original
from hybrid_pageindex.engine.index.uploads import Upload
from hybrid_pageindex.engine.libraries.conversation_copies import conversation_entries, restore_conversations
from hybrid_pageindex.engine.libraries.libraries import clear
from hybrid_pageindex.engine.models.embedders import Embedders
from hybrid_pageindex.engine.parts import Parts
from indexers.files.identity import new_id

VECTORS = "vectors.bin"
"""The file of vectors, a sequence of records. A record has the key of a text (16 bytes), the number of term weights (4
bytes), the vector in half precision, and the term weights as in the catalog.
"""
_HEAD = Struct("<16sI")
_VECTORS_AT_ONCE = 500
_MOST_WEIGHTS = 100_000


def write_vectors(catalog: Catalog, library: str, bundle: zipfile.ZipFile) -> dict[str, Any] | None:
    """Write the vectors of a library (id) to the archive, and return their description for the manifest.

    Return None if the library has no vectors.
    """
    with catalog.snapshot() as snapshot:
        embedder, _ = snapshot.embedder(library)
        contents = list(snapshot.published_versions(library)) if embedder else []
    if embedder is None:
        return None
    count, written = 0, set[str]()
    with bundle.open(VECTORS, "w", force_zip64=True) as target:
        for content in contents:
            with catalog.snapshot() as snapshot:
                texts = content_texts(snapshot, content, chunks=True)
                keys = [key for key in dict.fromkeys(text.key for text in texts) if key not in written]
                for record in _records(snapshot, embedder.fingerprint, keys):
                    target.write(record)
                    count += 1
            written.update(keys)
    return {
        "name": embedder.name, "fingerprint": embedder.fingerprint, "dimension": embedder.dimension,
        "sparse": embedder.sparse, "count": count,
    }  # fmt: skip


def _records(snapshot: Snapshot, fingerprint: str, keys: Sequence[str]) -> Iterator[bytes]:
    vectors, weights = snapshot.vectors(fingerprint, keys), snapshot.weights(fingerprint, keys)
    for key, vector in vectors.items():
        terms, values = weights.get(key, ((), ()))
        weighted = np.asarray(terms, "<u4").tobytes() + np.asarray(values, "<f2").tobytes()
        yield _HEAD.pack(bytes.fromhex(key), len(terms)) + vector.astype("<f2").tobytes() + weighted


def matching(embedders: Embedders, settings: Settings, manifest: Mapping[str, Any]) -> StoredEmbedder:
    """Return the configured embedder if it is the one that computed the exported vectors.

    Raise DocumentError with the reason if it is not. A model that the file names is never loaded, because the file is
    not trusted.
    """
    named, fingerprint = settings.embedding_model, str(manifest.get("fingerprint", ""))
    was = f"the vectors of the exported library were computed by the model {str(manifest.get('name', '?'))[:200]}"
    if not named or named == "none":
        raise DocumentError(
            f"{was}. They were not imported, because this home has no embedder (setting "
            "embedding_model). To get vectors, embed the library"
        )
    try:
        embedder = embedders.load(named)
        embedder_id = embedder.id
    except PageIndexError as error:
        raise DocumentError(
            f"{was}. They were not imported, because {named} cannot be loaded on this machine: {error}"
        ) from error
    if embedder_id.fingerprint != fingerprint or manifest.get("dimension") != embedder_id.dimension:
        raise DocumentError(
            f"{was}. They were not imported, because the model {named} on this machine is a "
            "different one. To get vectors, embed the library"
        )
    return StoredEmbedder(embedder_id.fingerprint, named, embedder_id.dimension, manifest.get("sparse") is True)


def take_vectors(catalog: Catalog, library: str, embedder: StoredEmbedder, bundle: zipfile.ZipFile) -> int:
    """Store the vectors of an exported file for a new library (id), and return their number.

    Indexing the library then uses them. Raise ValueError for an invalid record, and the errors of a damaged archive.
    """
    target, count = Embeddings(catalog, library, embedder), 0
    target.begin()
    with bundle.open(VECTORS) as source:
        records = _read_vectors(source, embedder.dimension)
        while some := list(islice(records, _VECTORS_AT_ONCE)):
            vectors = {key: vector for key, vector, _ in some}
            target.put(vectors, {key: terms for key, _, terms in some} if embedder.sparse else None)
            count += len(vectors)
    return count


def _read_vectors(source: IO[bytes], dimension: int) -> Iterator[tuple[str, Vector, dict[int, float]]]:
    while head := source.read(_HEAD.size):
        key, terms = _HEAD.unpack(_whole(head, _HEAD.size))
        if terms > _MOST_WEIGHTS:
            raise ValueError("too many term weights")
        vector = np.frombuffer(_whole(source.read(2 * dimension), 2 * dimension), "<f2").astype(np.float32)
        if not np.isfinite(vector).all() or not 0.9 < float(np.linalg.norm(vector)) < 1.1:
            raise ValueError("no unit vector")
        numbers = np.frombuffer(_whole(source.read(4 * terms), 4 * terms), "<u4")
        values = np.frombuffer(_whole(source.read(2 * terms), 2 * terms), "<f2")
        if not (np.isfinite(values).all() and (values > 0).all()):
            raise ValueError("a term has no weight")
        yield key.hex(), vector, dict(zip(numbers.tolist(), values.astype(float).tolist(), strict=True))


def _whole(read: bytes, size: int) -> bytes:
    if len(read) != size:
        raise ValueError("cut off")
    return read


_MANIFEST, _FILES, _KIND = "library.json", "files/", "hybrid-pageindex library 1"
_MOST_FILES = 100_000
_MOST_MANIFEST = 100 * 10**6  # bytes
_PIECE = 1 << 20
_DAMAGE = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError, RuntimeError)
_UNPACKED_FACTOR = 5  # maximum unpacked size, as a multiple of the maximum upload size
_AT_ONCE = 50  # files queued in one batch
_LONGEST = 100_000  # maximum characters of a text
_LONGEST_INSIDE = 4_000  # maximum characters of a member's path inside its container
_LAST = 1 << 53  # latest time, in ms since 1970


@dataclass(frozen=True, slots=True)
class Exported:
    """The result of an export. ``left_out`` lists documents whose file is missing or has changed, with reasons."""

    file: Path
    documents: int
    left_out: tuple[tuple[str, str], ...]


def export_library(catalog: Catalog, pages: PageWork, library: str, file: Path, owner: str | None = None) -> Exported:
    """Write a library to one file, and return what was exported. Raise NotFoundError for an unknown library.

    ``owner`` limits the conversations to those of one owner.
    """
    with catalog.snapshot() as snapshot:
        exported = snapshot.library(library)
        everything = snapshot.documents(exported.id)
    documents, ids = (
        [row for row in everything if not containers(row.path)],
        {row.path: row.doc_id for row in everything},
    )
    names = dict(_packed_names(documents))
    left_out: list[tuple[str, str]] = []
    packed: list[dict[str, Any]] = []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as bundle:
        for document in documents:
            try:
                with lent_original(catalog, pages, exported.name, document.doc_id) as original:
                    bundle.write(original, _FILES + names[document.doc_id])
            except (PageIndexError, OSError) as error:
                left_out.append((document.path, str(error)))
                continue
            packed.append({"name": names[document.doc_id], "path": document.path, "doc_id": document.doc_id})
        places = _packed_places(everything, {row.path: names[row.doc_id] for row in documents})
        vectors = write_vectors(catalog, exported.id, bundle)
        manifest = {
            "kind": _KIND, "name": exported.name, "alias": exported.alias, "documents": packed, "vectors": vectors,
            "left_out": left_out,
            "notes": [
                asdict(row) | {"place": places.get(row.doc_id)}
                for row in NoteStore(catalog).all(exported.id, limit=_MOST_FILES)
            ],
            "feedback": [
                asdict(row) | {"place": places.get(ids.get(row.document, ""))}
                for row in FeedbackStore(catalog).all(exported.id)
            ],
            "corrections": _corrections(everything, places),
            "conversations": conversation_entries(catalog, exported.id, places, owner),
        }  # fmt: skip
        bundle.writestr(_MANIFEST, json.dumps(manifest, ensure_ascii=False))
    return Exported(file, len(packed), tuple(left_out))


@dataclass(frozen=True, slots=True)
class Imported:
    """An imported library: the number of queued ``documents``, and the numbers of imported items of each other kind.

    ``note`` says why vectors were not imported.
    """

    library: str
    documents: int
    notes: int
    feedback: int
    vectors: int = 0
    note: str = ""
    conversations: int = 0


def import_library(
    parts: Parts,
    settings: Settings,
    file: Path,
    name: str | None,
    ask: Callable[[str, Sequence[Upload]], None],
) -> Imported:
    """Create a library from an exported file, and return the numbers of imported items.

    ``ask`` queues uploads of a library. It is called for one batch of documents after another, so that the disk need
    not hold all files twice.
    """
    catalog, limit = parts.catalog, settings.max_upload_size * _UNPACKED_FACTOR
    with scratch_folder(settings.storage_path / "tmp") as folder:
        manifest, uploads = unpacked(file, Path(folder), limit)
        library = create_library(
            catalog, name or manifest["name"], alias="" if name else str(manifest.get("alias", ""))
        )
        count, taken, note = 0, 0, ""
        try:
            if isinstance(vectors := manifest.get("vectors"), dict):
                taken, note = _vectors(parts, settings, library.id, vectors, file)
            places = _Places(catalog, library.id, manifest)
            places.correct(_entries(manifest, "corrections"))
            while some := list(islice(uploads, _AT_ONCE)):
                ask(library.name, some)
                count += len(some)
        except PageIndexError:  # import everything or nothing
            clear(catalog, parts.cache, parts.indexes, settings.storage_path, library.name)
            raise
    notes, feedback = _entries(manifest, "notes"), _entries(manifest, "feedback")
    NoteStore(catalog).restore([_note(entry, library.id, places) for entry in notes])
    FeedbackStore(catalog).restore([_feedback(entry, library.id, places) for entry in feedback])
    conversations = restore_conversations(
        catalog,
        library.id,
        _entries(manifest, "conversations"),
        lambda entry: places.doc_id(places.address(entry, "")),
    )
    return Imported(library.name, count, len(notes), len(feedback), taken, note, conversations)


class _Places:
    """A map from the documents in an exported file to the addresses and ids of their copies in the new library."""

    def __init__(self, catalog: Catalog, library: str, manifest: Mapping[str, Any]) -> None:
        self._catalog, self._library = catalog, library
        packed = _entries(manifest, "documents")
        self._names = {entry.get(key): entry.get("name") for entry in packed for key in ("doc_id", "path")}

    def address(self, entry: Mapping[str, Any], otherwise: str) -> str:
        """Return the path of an entry's document in the new library's catalog, "" if it has none.

        Older exports name the document by its id or path, which is passed as ``otherwise``.
        """
        place = entry.get("place") or [self._names.get(otherwise), ""]
        if not isinstance(place, list) or len(place) != 2 or not all(isinstance(part, str) for part in place):
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
        """Record users' corrections of documents before these are indexed. Indexing keeps recorded corrections."""
        for entry in entries:
            if address := self.address(entry, ""):
                corrections = entry.get("corrections")
                fields = _fields(corrections) if isinstance(corrections, dict) else {}
                expect(self._catalog, self._library, self.doc_id(address), address, fields)


def _fields(values: Mapping[str, Any]) -> dict[str, str]:
    fields: dict[str, str] = {}
    for name in FIELDS:
        with suppress(UsageError):  # a field of a newer version, or an invalid one
            if isinstance(value := values.get(name), str):
                fields[name] = correction(name, value)
    return fields


def _note(entry: Mapping[str, Any], library: str, places: _Places) -> UserNote:
    doc_id = places.doc_id(places.address(entry, _text_field(entry, "doc_id")))
    page = _number(entry, "page", 10**6) if doc_id else 0
    texts = (_text_field(entry, "author"), _text_field(entry, "title"), _text_field(entry, "text"))
    times = (_number(entry, "created_at", _LAST), _number(entry, "changed_at", _LAST))
    return UserNote(
        secrets.token_hex(8), library, *texts, doc_id, page, *times, quote=_text_field(entry, "quote"),
        occurrence=_number(entry, "occurrence", 10**6), content_id=_text_field(entry, "content_id"),
    )  # fmt: skip


def _feedback(entry: Mapping[str, Any], library: str, places: _Places) -> Feedback:
    before = _text_field(entry, "document")
    document = places.address(entry, before) or before
    texts = (_text_field(entry, "author"), _text_field(entry, "question"), _text_field(entry, "answer"))
    page, at = _number(entry, "page", 10**6), _number(entry, "at", _LAST)
    return Feedback(secrets.token_hex(8), library, *texts, document, page, bool(entry.get("right")), at)


def _number(entry: Mapping[str, Any], name: str, limit: int) -> int:
    value = entry.get(name)
    return max(0, min(value, limit)) if isinstance(value, int) else 0


def _vectors(
    parts: Parts, settings: Settings, library: str, manifest: Mapping[str, Any], file: Path
) -> tuple[int, str]:
    """Import the vectors of a file. Return their number, and if none were imported the reason.

    Raise DocumentError for a damaged file.
    """
    try:
        embedder = matching(parts.embedders, settings, manifest)
    except DocumentError as error:
        return 0, error.message
    try:
        with zipfile.ZipFile(file) as bundle:
            return take_vectors(parts.catalog, library, embedder, bundle), ""
    except (*_DAMAGE, KeyError) as error:
        raise _unfit() from error


def _entries(manifest: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    entries = manifest.get(name)
    return [entry for entry in entries if isinstance(entry, dict)][:_MOST_FILES] if isinstance(entries, list) else []


def _text_field(entry: Mapping[str, Any], name: str) -> str:
    return str(entry.get(name, ""))[:_LONGEST]


def unpacked(file: Path, folder: Path, most_bytes: int) -> tuple[dict[str, Any], Iterator[Upload]]:
    """Return the manifest of an exported file, and an iterator that unpacks its documents into ``folder`` one by one.

    Raise DocumentError for another kind of file, for more than ``most_bytes`` unpacked, and for an invalid manifest.
    """
    try:
        bundle = zipfile.ZipFile(file)
        inside = bundle.infolist()
        if len(inside) > _MOST_FILES or sum(member.file_size for member in inside) > most_bytes:
            bundle.close()
            raise DocumentError(
                "The exported library is larger than an upload may be.", "Raise the setting max_upload_size."
            )
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
        for number, member in enumerate(inside):
            if not member.filename.startswith(_FILES) or member.is_dir():
                continue
            place = folder / f"{number}.part"
            left = member.file_size
            try:
                with bundle.open(member) as packed, place.open("xb") as target:
                    while piece := packed.read(_PIECE):
                        left -= len(piece)
                        if left < 0:
                            raise _unfit()
                        target.write(piece)
            except _DAMAGE as error:
                raise _unfit() from error
            yield Upload(member.filename.removeprefix(_FILES), place)


def _packed_names(documents: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """Yield (document id, file name in the archive) for each document.

    The file name is the path below the common folder of all files, made unique.
    """
    files = [document.path for document in documents if not is_upload(document.path)]
    shared = os.path.commonpath([str(Path(path).parent) for path in files]) if files else ""
    taken: set[str] = set()
    for document in documents:
        where = document.path.partition(":/")[2] if is_upload(document.path) else os.path.relpath(document.path, shared)
        name = where
        while name in taken:
            name = f"{PurePosixPath(name).parent}/{len(taken)}-{PurePosixPath(name).name}".removeprefix("./")
        taken.add(name)
        yield document.doc_id, name


def _packed_places(documents: Sequence[Document], names: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the position of each document in the archive, by document id: [file name, path inside].

    The file name is that of the document or its outermost container. The path inside that container is "" for a
    document of its own.
    """
    places: dict[str, list[str]] = {}
    for document in documents:
        outer = next(iter(containers(document.path)), document.path)
        if outer in names:
            places[document.doc_id] = [names[outer], document.path[len(member_address(outer, "")) :]]
    return places


def _corrections(documents: Sequence[Document], places: Mapping[str, list[str]]) -> list[dict[str, Any]]:
    """Return the users' corrections of documents as JSON objects.

    Documents with equal content but no corrections get an empty entry, because they would otherwise inherit
    corrections.
    """
    shared = {document.content_id for document in documents if document.corrections and document.content_id}
    return [
        {"place": places[document.doc_id], "corrections": dict(document.corrections)}
        for document in documents
        if (document.corrections or document.content_id in shared) and document.doc_id in places
    ]


def _unfit() -> DocumentError:
    return DocumentError("This file is not an exported library, or it is damaged.", "Export the library again.")
