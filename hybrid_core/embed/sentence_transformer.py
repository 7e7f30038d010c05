"""Any sentence-transformers model, by its folder or its name on the Hugging Face hub.

Also what every model that runs on this machine shares (``bge_m3`` uses it): finding, loading, identifying its files.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hybrid_core.embed.embedder import EmbedderId, Kind, Vectors, checked_texts, fingerprint, in_batches, unit_rows
from hybrid_core.errors import ModelError, UsageError
from hybrid_core.system.extras import require

_log = logging.getLogger(__name__)
_BATCH = 32  # the library's own; not measured on a GPU
_BATCH_ON_CPU = 16  # measured: 25 texts/s of 40 to 190 words, 21 in batches of 32, 16 in batches of 128
_HUB_TIMEOUT = 10  # seconds; the libraries try each file for half a minute where there is no network
_CONFIGS = {"config.json", "modules.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json"}


class SentenceTransformerEmbedder:
    """An ``Embedder``. The model's own prompts for queries and documents are used, its own limit cuts texts.

    The code that a model brings along is never run (``trust_remote_code`` stays off).
    """

    def __init__(self, name: str, *, batch_size: int | None = None, device: str | None = None) -> None:
        local = local_folder(name)
        self._name = f"sentence-transformers:{local or name}"
        self._lock = threading.Lock()  # tokenizers are not safe between threads ("Already borrowed")
        library = require("sentence_transformers", "sentence-transformers")

        def load(source: str, here: bool) -> Any:
            return library.SentenceTransformer(source, device=device, local_files_only=here)

        # Without modules.json the library would guess how to pool.
        self._model, folder = load_model(self._name, load, local=local, needed="modules.json")
        self._batch_size = batch_size or (_BATCH_ON_CPU if self._model.device.type == "cpu" else _BATCH)
        self._dimension: int | None = None
        self._dimension = self.embed([" "], "document").shape[1]
        digest = model_digest(name, folder)
        made = fingerprint("sentence-transformers", digest, self._model.max_seq_length, self._dimension)
        self._id = EmbedderId(self._name, self._dimension, made)

    @property
    def id(self) -> EmbedderId:
        return self._id

    def embed(self, texts: Sequence[str], kind: Kind) -> Vectors:
        model = self._model
        if model is None:
            raise UsageError(f"{self._name} is closed.", "Load it again.")
        encode = model.encode_query if kind == "query" else model.encode_document

        def call(batch: list[str]) -> Any:
            with self._lock, running(self._name):
                return encode(batch, batch_size=len(batch), show_progress_bar=False, convert_to_numpy=True)

        rows = in_batches(checked_texts(texts, kind), self._batch_size, call)
        return unit_rows(rows, self._name, self._dimension)

    def close(self) -> None:
        self._model = None


def local_folder(name: str) -> Path | None:
    """The folder that a model's name or path means, None for a name on the hub.

    Raises UsageError for a path where there is no folder.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        return path.resolve()
    if path.exists() or name.startswith(("/", ".", "~")) or name.count("/") > 1:
        what = "is a file" if path.exists() else "does not exist"
        raise UsageError(f"{name}: {what}; a model is a folder, or owner/name on the Hugging Face hub.", "Correct it.")
    return None


def load_model(
    spec: str, load: Callable[[str, bool], Any], *, local: Path | None, needed: str
) -> tuple[Any, Path | None]:
    """(the model, the folder of its files) for KIND:PATH (``local`` is its folder) or KIND:NAME on the hub.

    ``load`` is called with a folder and True, else with the name and False. A model in the hub's cache (with
    the file ``needed``) is loaded from there and the hub is not asked: that works without network, and no
    update of the hub's changes the vectors unnoticed. The folder is None where the copy is not in the usual
    cache. Raises ModelError where loading fails.
    """
    if local:
        with _loading(spec, "Tried the folder.", "Check that the folder holds all files of such a model.", bars=False):
            return load(str(local), True), local
    kind, _, name = spec.partition(":")
    advice = f"Without network, copy the model's folder here and give its path: {kind}:/path/to/{Path(name).name}"
    if cached := _cached(name, needed):
        try:
            with _loading(spec, "Tried the cache of the Hugging Face hub on this machine.", advice, bars=False):
                return load(str(cached), True), cached
        except ModelError as error:  # a download was cut off: let the library complete it
            _log.info("%s", error)
    with _loading(spec, "Tried the Hugging Face cache of this machine and the hub.", advice, bars=True):
        hub = require("huggingface_hub", kind)
        hub.get_session().head(hub.constants.ENDPOINT, timeout=_HUB_TIMEOUT)
        return load(name, False), _cached(name, "config.json")


@contextmanager
def _loading(spec: str, tried: str, advice: str, *, bars: bool) -> Iterator[None]:
    """One error for all that can go wrong in a library's loading; no bars on stderr but for a download."""
    bar = require("transformers.utils.logging", spec.partition(":")[0])
    shown = bar.is_progress_bar_enabled()
    if not bars:
        bar.disable_progress_bar()
    try:
        yield
    except Exception as error:
        message = f"{spec} cannot be loaded ({type(error).__name__}: {_one_line(error)}). {tried}"
        raise ModelError(message, advice) from error
    finally:
        if shown:
            bar.enable_progress_bar()


@contextmanager
def running(spec: str) -> Iterator[None]:
    """Around a call of a local model: whatever its library raises becomes a ModelError."""
    try:
        yield
    except Exception as error:
        advice = "Where memory ran out, take a smaller batch size or another device."
        raise ModelError(f"{spec} failed ({type(error).__name__}: {_one_line(error)}).", advice) from error


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _cached(name: str, file: str) -> Path | None:
    """The folder in the hub's usual cache that holds this file of the model."""
    repository = name if "/" in name else f"sentence-transformers/{name}"
    found = require("huggingface_hub", "sentence-transformers").try_to_load_from_cache(repository, file)
    return Path(found).parent if isinstance(found, str) else None


def model_digest(name: str, folder: Path | None) -> str:
    """A hash over the content of a model's files; the name alone where there is no folder.

    The same files give the same hash anywhere, whatever lies beside them (a README).
    """
    if folder is None:
        return name
    whole = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        place = file.relative_to(folder)
        if file.is_file() and _decides_vectors(file) and not {"onnx", "openvino"} & set(place.parts):
            whole.update(f"{place}\0{_digest(file)}\0".encode())
    return whole.hexdigest()


def _decides_vectors(file: Path) -> bool:
    if file.suffix == ".bin":
        return not any(file.parent.glob("*.safetensors"))  # the libraries prefer those
    sentence_config = "sentence_" in file.name and file.name.endswith(".json")
    return file.name in _CONFIGS or sentence_config or file.suffix in (".safetensors", ".pt", ".model")


def _digest(file: Path) -> str:
    blob = file.resolve().name
    if len(blob) == 64 and not set(blob) - set("0123456789abcdef"):
        return blob  # the hub's cache names large files by their sha-256
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
