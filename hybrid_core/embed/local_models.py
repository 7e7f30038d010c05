"""Local models: locate their files, advise how to get missing ones, and identify them by a hash.

A model is a folder: a path, a name below the folder of models, or a name in the cache of the Hugging Face hub. The hub
itself is contacted only if downloads are allowed.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hybrid_core.errors import ModelError, UsageError
from hybrid_core.system import content_digest, require

_log = logging.getLogger(__name__)
_HUB_TIMEOUT = 10  # seconds; without a network the libraries would try each file for half a minute
_CONFIGS = {"config.json", "modules.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json"}


@dataclass(frozen=True, slots=True)
class ModelPlaces:
    """The places from which local models are loaded.

    ``folder`` has one subfolder per model. ``hub`` allows downloads of missing models from the Hugging Face hub.
    """

    folder: Path | None = None
    hub: bool = False


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model that runs on this machine. ``name`` is like "onnx:NAME" or "onnx:/PATH", where "onnx" is its ``form``.

    ``folder`` is None if ``spec``, the part after the colon, is neither a path nor a name below the folder of models.
    """

    form: str
    spec: str
    folder: Path | None
    places: ModelPlaces

    @property
    def name(self) -> str:
        named = self.folder is None or not _is_path(self.spec)
        return f"{self.form}:{self.spec if named else self.folder}"

    def how_to_bring(self) -> str:
        """Return advice on how to get the files of a missing model."""
        basename = Path(self.spec).name
        onnx = self.form == "onnx"
        where = f"{self.places.folder / basename}" if self.places.folder else f"/path/to/{basename}"
        how = "" if self.places.folder else f" and name it {self.form}:{where}, or set PAGEINDEX_MODELS_DIR=/path/to"
        step = (
            f"Export it where PyTorch is (embed --export {basename} --embedder sentence-transformers:…)" if onnx
            else f"Get its folder on a machine with network (hf download {_hub_name(self.spec)} --local-dir {basename})"
        )  # fmt: skip
        hub = "" if onnx else " PAGEINDEX_MODEL_DOWNLOADS=hub lets it be downloaded here."
        return f"{step}, put it at {where}{how}.{hub}"


def find_model(form: str, spec: str, places: ModelPlaces = ModelPlaces()) -> LocalModel:
    """Return the location of a model. Raise UsageError for a path that is not a folder."""
    path = Path(spec).expanduser()
    if places.folder is not None and not _is_path(spec):
        for below in (places.folder / spec, places.folder / path.name):
            if below.is_dir():
                return LocalModel(form, spec, below.resolve(), places)
    if path.is_dir():
        return LocalModel(form, str(path.resolve()), path.resolve(), places)
    if path.exists() or _is_path(spec) or spec.count("/") > 1:
        what = "is a file" if path.exists() else "does not exist"
        raise UsageError(
            f"{spec} {what}, but a model must be a folder, or owner/name on the Hugging Face hub.",
            "Correct the name of the model.",
        )
    return LocalModel(form, spec, None, places)


def _is_path(spec: str) -> bool:
    return spec.startswith(("/", ".", "~"))


def _hub_name(name: str) -> str:
    return name if "/" in name else f"sentence-transformers/{name}"


def load_model(model: LocalModel, load: Callable[[str, bool], Any], *, needed: str) -> tuple[Any, Path | None]:
    """Load a model by calling ``load``. Return its result and the folder of the model's files.

    Call ``load`` with the folder of the files and True, or with the model's name and False if there is no folder. A
    model in the hub's cache (with the file ``needed``) is loaded from there without a request to the hub. Such a model
    works without a network, and an update on the hub cannot change the vectors unnoticed. The returned folder is None
    if a downloaded model is not in the hub's usual cache. Raise ModelError if loading fails, or if the model is missing
    and downloads are not allowed.
    """
    if model.folder:
        advice = "Check that the folder holds all files of such a model."
        with _library_errors(model, "Only its folder was searched.", advice, bars=False):
            return load(str(model.folder), True), model.folder
    if cached := _cache_folder(model.spec, needed):
        tried = "Only the Hugging Face cache on this machine was searched."
        try:
            with _library_errors(model, tried, model.how_to_bring(), bars=False):
                return load(str(cached), True), cached
        except ModelError as error:  # an interrupted download: let the library complete it
            if not model.places.hub:
                raise
            _log.info("%s", error)
    if not model.places.hub:
        raise missing(model)
    with _library_errors(
        model, "The Hugging Face cache on this machine and the hub were searched.", model.how_to_bring(), bars=True
    ):
        hub = require("huggingface_hub", model.form)
        hub.get_session().head(hub.constants.ENDPOINT, timeout=_HUB_TIMEOUT)
        return load(model.spec, False), _cache_folder(model.spec, "config.json")


def missing(model: LocalModel) -> ModelError:
    looked = f"{model.places.folder} and " if model.places.folder else ""
    message = f"{model.name} is not on this machine (looked in {looked}the cache of the Hugging Face hub)."
    return ModelError(message, model.how_to_bring())


@contextmanager
def _library_errors(model: LocalModel, tried: str, advice: str, *, bars: bool) -> Iterator[None]:
    """Translate errors that a library raises while it loads a model into ModelError.

    ``tried`` says where the model was searched. ``bars`` shows progress bars, which only downloads need.
    """
    bar = require("transformers.utils.logging", model.form)
    shown = bar.is_progress_bar_enabled()
    if not bars:
        bar.disable_progress_bar()
    try:
        yield
    except Exception as error:
        message = f"{model.name} cannot be loaded ({one_line(error)}). {tried}"
        raise ModelError(message, advice) from error
    finally:
        if shown:
            bar.enable_progress_bar()


@contextmanager
def running(name: str) -> Iterator[None]:
    """Translate exceptions from the library of a local model into ModelError, which names the model."""
    try:
        yield
    except Exception as error:
        advice = "If memory ran out, use a smaller batch size or another device."
        raise ModelError(f"{name} failed ({one_line(error)}).", advice) from error


def one_line(error: Exception) -> str:
    """Return the message of a library's error, without the name of its class."""
    return " ".join(str(error).split())[:300] or "the model's library gives no reason"


def _cache_folder(name: str, file: str) -> Path | None:
    """Return the folder in the Hugging Face cache that contains a file of the model, None if it is not cached."""
    path = require("huggingface_hub", "sentence-transformers").try_to_load_from_cache(_hub_name(name), file)
    return Path(path).parent if isinstance(path, str) else None


def model_digest(name: str, folder: Path | None) -> str:
    """Return a hash over the content of a model's files, or the name if there is no folder.

    The folder's path does not matter. Files that do not affect the vectors, such as a README, are ignored.
    """
    if folder is None:
        return name
    whole = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        place = file.relative_to(folder)
        if file.is_file() and _decides_vectors(file) and not {"onnx", "openvino"} & set(place.parts):
            whole.update(f"{place}\0{file_digest(file)}\0".encode())
    return whole.hexdigest()


def _decides_vectors(file: Path) -> bool:
    if file.suffix == ".bin":
        return not any(file.parent.glob("*.safetensors"))  # the libraries prefer safetensors
    sentence_config = "sentence_" in file.name and file.name.endswith(".json")
    return file.name in _CONFIGS or sentence_config or file.suffix in (".safetensors", ".pt", ".model")


def file_digest(file: Path) -> str:
    """Return the SHA-256 of a model's file."""
    blob = file.resolve().name
    if len(blob) == 64 and not set(blob) - set("0123456789abcdef"):
        return blob  # the hub's cache names large files by their SHA-256
    return content_digest(file)
