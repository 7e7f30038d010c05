"""Models that run on this machine: where their files are, how they come here, what tells them apart.

A model is a folder that the user brings: a path, or a name below the folder of models. A name may also lie in the cache
of the Hugging Face hub. The hub itself is asked only where downloads are allowed.
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
from hybrid_core.system.extras import require

_log = logging.getLogger(__name__)
_HUB_TIMEOUT = 10  # seconds; the libraries try each file for half a minute where there is no network
_CONFIGS = {"config.json", "modules.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json"}


@dataclass(frozen=True, slots=True)
class ModelPlaces:
    """Where models are looked for. ``folder`` holds one folder a model. ``hub``: what lies nowhere is downloaded."""

    folder: Path | None = None
    hub: bool = False


@dataclass(frozen=True, slots=True)
class LocalModel:
    """``name`` is what it is known by («sentence-transformers:NAME» or «…:/PATH»); ``folder`` is None for one that is
    neither a path nor below the folder of models.
    """

    form: str
    given: str
    folder: Path | None
    places: ModelPlaces

    @property
    def name(self) -> str:
        named = self.folder is None or not _is_path(self.given)
        return f"{self.form}:{self.given if named else self.folder}"

    def how_to_bring(self) -> str:
        """What to do where its files are not on this machine."""
        last = Path(self.given).name
        onnx = self.form == "onnx"
        where = f"{self.places.folder / last}" if self.places.folder else f"/path/to/{last}"
        how = "" if self.places.folder else f" and name it {self.form}:{where}, or set PAGEINDEX_MODELS_DIR=/path/to"
        made = (
            f"Export it where PyTorch is (embed --export {last} --embedder sentence-transformers:…)" if onnx
            else f"Get its folder on a machine with network (hf download {_owned(self.given)} --local-dir {last})"
        )  # fmt: skip
        hub = "" if onnx else " PAGEINDEX_MODEL_DOWNLOADS=hub lets it be downloaded here."
        return f"{made}, put it at {where}{how}.{hub}"


def find_model(form: str, given: str, places: ModelPlaces = ModelPlaces()) -> LocalModel:
    """Raises UsageError for a path where there is no folder."""
    path = Path(given).expanduser()
    if places.folder is not None and not _is_path(given):
        for below in (places.folder / given, places.folder / path.name):
            if below.is_dir():
                return LocalModel(form, given, below.resolve(), places)
    if path.is_dir():
        return LocalModel(form, str(path.resolve()), path.resolve(), places)
    if path.exists() or _is_path(given) or given.count("/") > 1:
        what = "is a file" if path.exists() else "does not exist"
        raise UsageError(f"{given}: {what}; a model is a folder, or owner/name on the Hugging Face hub.", "Correct it.")
    return LocalModel(form, given, None, places)


def _is_path(given: str) -> bool:
    return given.startswith(("/", ".", "~"))


def _owned(name: str) -> str:
    return name if "/" in name else f"sentence-transformers/{name}"


def load_model(model: LocalModel, load: Callable[[str, bool], Any], *, needed: str) -> tuple[Any, Path | None]:
    """(what ``load`` made of it, the folder of its files).

    ``load`` is called with a folder and True, else with the name and False. A model in the hub's cache (with the file
    ``needed``) is loaded from there and the hub is not asked: that works without network, and no update of the hub's
    changes the vectors unnoticed. The folder is None where the copy is not in the usual cache. Raises ModelError where
    loading fails, and where there is no model and none may be downloaded.
    """
    if model.folder:
        advice = "Check that the folder holds all files of such a model."
        with _loading(model, "Tried the folder.", advice, bars=False):
            return load(str(model.folder), True), model.folder
    if cached := _cached(model.given, needed):
        tried = "Tried the cache of the Hugging Face hub on this machine."
        try:
            with _loading(model, tried, model.how_to_bring(), bars=False):
                return load(str(cached), True), cached
        except ModelError as error:  # a download was cut off: let the library complete it
            if not model.places.hub:
                raise
            _log.info("%s", error)
    if not model.places.hub:
        raise missing(model)
    with _loading(model, "Tried the Hugging Face cache of this machine and the hub.", model.how_to_bring(), bars=True):
        hub = require("huggingface_hub", model.form)
        hub.get_session().head(hub.constants.ENDPOINT, timeout=_HUB_TIMEOUT)
        return load(model.given, False), _cached(model.given, "config.json")


def missing(model: LocalModel) -> ModelError:
    looked = f"{model.places.folder} and " if model.places.folder else ""
    message = f"{model.name} is not on this machine (looked in {looked}the cache of the Hugging Face hub)."
    return ModelError(message, model.how_to_bring())


@contextmanager
def _loading(model: LocalModel, tried: str, advice: str, *, bars: bool) -> Iterator[None]:
    """One error for all that can go wrong in a library's loading; no bars on stderr but for a download."""
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
    """Around a call of a local model: whatever its library raises becomes a ModelError."""
    try:
        yield
    except Exception as error:
        advice = "Where memory ran out, take a smaller batch size or another device."
        raise ModelError(f"{name} failed ({one_line(error)}).", advice) from error


def one_line(error: Exception) -> str:
    """What a library says of an error, without the name of its class."""
    return " ".join(str(error).split())[:300] or "its library gives no reason"


def _cached(name: str, file: str) -> Path | None:
    """The folder in the hub's usual cache that holds this file of the model."""
    found = require("huggingface_hub", "sentence-transformers").try_to_load_from_cache(_owned(name), file)
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
            whole.update(f"{place}\0{file_digest(file)}\0".encode())
    return whole.hexdigest()


def _decides_vectors(file: Path) -> bool:
    if file.suffix == ".bin":
        return not any(file.parent.glob("*.safetensors"))  # the libraries prefer those
    sentence_config = "sentence_" in file.name and file.name.endswith(".json")
    return file.name in _CONFIGS or sentence_config or file.suffix in (".safetensors", ".pt", ".model")


def file_digest(file: Path) -> str:
    blob = file.resolve().name
    if len(blob) == 64 and not set(blob) - set("0123456789abcdef"):
        return blob  # the hub's cache names large files by their sha-256
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
