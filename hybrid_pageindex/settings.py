"""Settings: defaults, below ``config.yaml`` in the home, below ``PAGEINDEX_…`` variables, below arguments."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import yaml

from hybrid_core.errors import UsageError

PREFIX = "PAGEINDEX_"
CONFIG_FILE = "config.yaml"
_FOREIGN = {"PAGEINDEX_EVAL_DATA"}  # read by benchmarks, tests and the harness, not by the engine
_BYTES = ("max_cache_size", "max_worker_memory")
_POSITIVE = (
    "seconds_per_task", "seconds_per_file", "max_pages", "max_objects", "max_page_lines", "max_page_characters",
    "max_bookmarks",
)  # fmt: skip
_LEAST_MEMORY = 300 * 10**6  # a worker with its libraries takes half of this before it reads anything
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set. A variable is the field's name in capitals behind ``PAGEINDEX_``."""

    storage_path: Path = Path("~/.pageindex")
    library: str = "default"
    workers: int = 0  # parsing processes; 0: one per core
    range_pages: int = 100  # pages that one task of a worker parses
    seconds_per_task: float = 120.0  # a task that takes longer is stopped and its file reported
    seconds_per_file: float = 3600.0  # the same for all work on a file together
    max_worker_memory: int = 10**9  # bytes one worker may hold; "1GB" is understood
    max_pages: int = 50_000  # a file with more is refused
    max_objects: int = 2_000_000  # entries in a PDF's cross-reference table; a file with more is refused
    max_page_lines: int = 50_000  # a page with more lines of text is left empty and reported
    max_page_characters: int = 2_000_000  # the same for its characters
    max_bookmarks: int = 20_000  # where a file has more, they are ignored
    ocr: str = "auto"  # pages without readable text are read from their pictures where Tesseract is installed; "never"
    ocr_languages: str = "eng"  # Tesseract's names of the languages of such pages: "eng+chi_sim"
    top_k: int = 5
    effort: str = "auto"
    expert: str = "auto"  # auto, none, or packs and paths of expert files, joined by commas
    aliases: str = ""  # path of a file of nicknames: "Organisation: [nickname, …]" lines
    max_cache_size: int = 10**9  # bytes of page images and the like; the longest unused go first. "2GB" is understood
    image_dpi: int = 150
    embedding_model: str = ""  # what embed uses unless told otherwise, for example "bge-m3"
    embedding_base_url: str = ""  # of an OpenAI-compatible endpoint
    embedding_api_key: str = field(default="", repr=False)
    embedding_device: str = ""  # "cpu", "cuda", …; empty: the best there is
    rerank: str = "none"  # "multi-vector": the best pages are compared with the question token by token
    qdrant_url: str = ""  # of a Qdrant server that holds the vector indexes; empty: they are embedded
    qdrant_api_key: str = field(default="", repr=False)
    qdrant_prefix: str = "pageindex-"  # of the collections on that server

    def __post_init__(self) -> None:
        _at_least("workers", self.workers, 0)
        _at_least("range_pages", self.range_pages, 1)
        for name in _POSITIVE:
            _at_least(name, getattr(self, name), 1)
        _at_least("max_worker_memory", self.max_worker_memory, _LEAST_MEMORY)
        _at_least("top_k", self.top_k, 1)
        _at_least("max_cache_size", self.max_cache_size, 0)
        if not 18 <= self.image_dpi <= 600:
            raise UsageError(f"image_dpi is {self.image_dpi}.", "Choose 18 to 600.")
        if not re.fullmatch(r"[A-Za-z0-9_-]{0,40}", self.qdrant_prefix):
            raise UsageError(f"qdrant_prefix is '{self.qdrant_prefix}'.", "Use letters, digits, - and _, 40 at most.")
        if self.rerank not in ("none", "multi-vector"):
            raise UsageError(f"rerank is '{self.rerank}'.", "Choose none or multi-vector.")
        if self.ocr not in ("auto", "never"):
            raise UsageError(f"ocr is '{self.ocr}'.", "Choose auto or never.")
        if not re.fullmatch(r"\w+(\+\w+)*", self.ocr_languages):
            raise UsageError(f"ocr_languages is '{self.ocr_languages}'.", "Join names with +, for example eng+deu.")
        if self.effort not in ("fast", "auto", "deep"):
            raise UsageError(f"effort is '{self.effort}'.", "Choose fast, auto or deep.")


def load_settings(home: str | Path | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """Settings for a home: ``home`` if given, else ``PAGEINDEX_STORAGE_PATH``, else ``~/.pageindex``.

    Raises UsageError for an unknown key (naming the nearest known one), for a value of a wrong type, and for an
    empty ``home``, which a variable that is not set may have made.
    """
    if home == "":
        raise UsageError("The home is empty.", "Name a folder, or leave it out to use the usual one.")
    environment = os.environ if environment is None else environment
    said = {
        key.removeprefix(PREFIX).lower(): (value, key)
        for key, value in environment.items()
        if key.startswith(PREFIX) and key not in _FOREIGN and value  # an empty variable is one that is not set
    }
    path = Path(home or said.get("storage_path", (str(Settings().storage_path), ""))[0]).expanduser().absolute()
    file = path / CONFIG_FILE
    values: dict[str, Any] = {}
    if file.is_file():
        values |= {key: _typed(key, value, f"{file}: {key}") for key, value in _read(file).items()}
    values |= {key: _typed(key, value, name) for key, (value, name) in said.items()}
    return replace(Settings(), **(values | {"storage_path": path}))


def _read(file: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read as YAML ({' '.join(str(error).split())}).") from error
    if not isinstance(data, dict):
        raise UsageError(f"{file}: must hold settings as 'key: value' lines.")
    return {str(key): value for key, value in data.items()}


def _typed(key: str, value: Any, where: str) -> Any:
    known = {known.name: known.type for known in fields(Settings)}
    if key not in known:
        near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
        if where.startswith(PREFIX):
            near = [PREFIX + name.upper() for name in near]
        advice = f"Did you mean {near[0]}?" if near else f"Known settings: {', '.join(known)}."
        raise UsageError(f"Unknown setting {where}.", advice)
    try:
        if key in _BYTES:
            return _bytes(value)
        return {"int": int, "float": float, "Path": Path, "str": str}[str(known[key])](value)
    except (TypeError, ValueError) as error:
        raise UsageError(f"{where} is '{value}'.", f"It must be of type {known[key]}.") from error


def _bytes(value: Any) -> int:
    word = str(value).strip().lower().replace(" ", "")
    number = word.rstrip("bkmgt")
    return int(float(number) * _UNITS[word[len(number) :]]) if word[len(number) :] in _UNITS else int(word)


def _at_least(name: str, value: float, least: float) -> None:
    if value < least:
        raise UsageError(f"{name} is {value}.", f"It must be at least {least}.")
