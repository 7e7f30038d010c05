"""Settings: defaults, below ``config.yaml`` in the home, below ``PAGEINDEX_…`` variables, below arguments."""

from __future__ import annotations

import difflib
import logging
import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import yaml

from hybrid_core.errors import UsageError
from hybrid_core.store.home import close_to_others
from hybrid_core.system.paths import exists
from hybrid_core.types.documents import Effort, Fusion, Route, Strategy
from hybrid_core.types.requests import one_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Part = TypeVar("_Part", bound="DataclassInstance")

PREFIX = "PAGEINDEX_"
CONFIG_FILE = "config.yaml"
_FOREIGN = {"PAGEINDEX_EVAL_DATA"}  # read by benchmarks, tests and the harness, not by the engine
_BYTES = ("max_cache_size", "max_worker_memory")
_POSITIVE = (
    "seconds_per_task", "seconds_per_file", "max_pages", "max_objects", "max_page_lines", "max_page_characters",
    "max_bookmarks", "seconds_per_page", "ocr_seconds",
)  # fmt: skip
_LEAST_MEMORY = 300 * 10**6  # a worker with its libraries takes half of this before it reads anything
_SECRET = ("_key", "_token")
_READ_BY_OTHERS = stat.S_IRGRP | stat.S_IROTH
_ENTERED_BY_OTHERS = stat.S_IXGRP | stat.S_IXOTH
_told: set[Path] = set()  # files that could not be closed and were spoken of
_log = logging.getLogger(__name__)
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
    seconds_per_page: float = 15.0  # of computing; a page that needs more is left empty and reported
    ocr: str = "auto"  # pages without readable text are read from their pictures where Tesseract is installed; "never"
    ocr_seconds: float = 5.0  # after these a file is published; the rest of its scans follows after the other files
    ocr_languages: str = "eng"  # Tesseract's names of the languages of such pages: "eng+chi_sim"
    top_k: int = 5
    effort: str = "auto"
    expert: str = "auto"  # auto, none, or packs and paths of expert files, joined by commas
    aliases: str = ""  # path of a file of nicknames: "Organisation: [nickname, …]" lines
    max_cache_size: int = 10**9  # bytes of page images and the like; the longest unused go first. "2GB" is understood
    image_dpi: int = 150
    image_format: str = "png"  # of pages that a model sees: png or jpeg
    image_max_side: int = 2000  # pixels; a page that is larger at image_dpi is cut into tiles
    image_max_tiles: int = 4  # at most so many; a page that needs more is drawn coarser. 1: never cut
    vision: str = "auto"  # pages that a vision model describes when they are indexed; "always": all, "never": none
    enrich: str = "auto"  # whether index has models improve documents: where one is configured; "never"
    max_concurrent_pages: int = 5  # pages that a vision model describes at once
    embedding_model: str = ""  # what embed uses unless told otherwise, for example "bge-m3"
    embedding_base_url: str = ""  # of an OpenAI-compatible endpoint
    embedding_api_key: str = field(default="", repr=False)
    embedding_device: str = ""  # "cpu", "cuda", …; empty: the best there is
    llm_provider: str = "openai"  # whose interface the language model has: openai (also vLLM, Ollama, …) or anthropic
    llm_model: str = ""  # empty: everything is done without one
    llm_base_url: str = ""  # empty: the provider's own
    llm_api_key: str = field(default="", repr=False)
    vlm_provider: str = ""  # of the model that sees pages; with URL and key empty: the language model's
    vlm_model: str = ""  # empty: pages are read by their text only
    vlm_base_url: str = ""
    vlm_api_key: str = field(default="", repr=False)
    max_concurrent_calls: int = 8  # calls of models under way at once, per endpoint
    max_calls_per_minute: int = 0  # that start, per endpoint; 0: as many as there are
    model_timeout: float = 120.0  # seconds that one call of a model may take
    model_prices: str = ""  # per million tokens, input/output: "gpt-4o=2.50/10, qwen2.5-vl=0/0"; else cost is 0
    record_replies: str = ""  # path of a file to which models' replies are added
    replay_replies: str = ""  # path of such a file, which then answers instead of any model
    fusion: str = "weighted"  # of words and meaning; "rrf": by their ranks alone (Reciprocal Rank Fusion)
    route: str = "auto"  # how the documents to look into are chosen: semantic, metadata, description
    strategy: str = "outline"  # how a model searches the section trees; "mcts": value-guided tree search
    reason_below: float = 0.1  # effort auto asks a model where sureness is below this; 0: never, 1: nearly always
    reason_tokens: int = 6000  # of all inputs of a model that looks for the pages of one question
    reason_rounds: int = 3  # replies of the model with the strategy outline
    reason_calls: int = 8  # the same with mcts
    reason_seconds: float = 0.0  # of all its calls, after which what was found stands; 0: model_timeout for each
    answer_tokens: int = 8000  # of the sources that a model is given to answer from
    answer_evidence: str = "weak"  # below it ask calls no model where none has looked; "strong", or "none" for always
    rerank: str = "none"  # "multi-vector": the best pages are compared with the question token by token
    qdrant_url: str = ""  # of a Qdrant server that holds the vector indexes; empty: they are embedded
    qdrant_api_key: str = field(default="", repr=False)
    qdrant_prefix: str = "pageindex-"  # of the collections on that server
    mcp_token: str = field(default="", repr=False)  # what callers of mcp --http must show; needed beyond this machine

    def part(self, kind: type[_Part]) -> _Part:
        """The parameters of a part: each from the setting of its name."""
        return kind(**{one.name: getattr(self, one.name) for one in fields(kind)})

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
        if not 256 <= self.image_max_side <= 8000:
            raise UsageError(f"image_max_side is {self.image_max_side}.", "Choose 256 to 8000 pixels.")
        if not 1 <= self.image_max_tiles <= 16:
            raise UsageError(f"image_max_tiles is {self.image_max_tiles}.", "Choose 1 to 16.")
        _at_least("max_concurrent_pages", self.max_concurrent_pages, 1)
        one_of("image_format", self.image_format, "png", "jpeg")
        one_of("vision", self.vision, "auto", "always", "never")
        one_of("enrich", self.enrich, "auto", "never")
        if not re.fullmatch(r"[A-Za-z0-9_-]{0,40}", self.qdrant_prefix):
            raise UsageError(f"qdrant_prefix is '{self.qdrant_prefix}'.", "Use letters, digits, - and _, 40 at most.")
        _at_least("max_concurrent_calls", self.max_concurrent_calls, 1)
        _at_least("max_calls_per_minute", self.max_calls_per_minute, 0)
        _at_least("model_timeout", self.model_timeout, 1)
        for name in ("llm_provider", "vlm_provider"):
            if getattr(self, name) not in ("openai", "anthropic", ""):
                raise UsageError(f"{name} is '{getattr(self, name)}'.", "Choose openai or anthropic.")
        one_of("fusion", self.fusion, *get_args(Fusion))
        one_of("strategy", self.strategy, *get_args(Strategy))
        one_of("route", self.route, *get_args(Route))
        if not 0 <= self.reason_below <= 1:
            raise UsageError(f"reason_below is {self.reason_below}.", "Choose 0 (never ask) to 1.")
        _at_least("reason_tokens", self.reason_tokens, 2000)
        _at_least("reason_rounds", self.reason_rounds, 1)
        _at_least("reason_calls", self.reason_calls, 1)
        _at_least("reason_seconds", self.reason_seconds, 0)
        _at_least("answer_tokens", self.answer_tokens, 500)
        one_of("answer_evidence", self.answer_evidence, "strong", "weak", "none")
        one_of("rerank", self.rerank, "none", "multi-vector")
        one_of("ocr", self.ocr, "auto", "never")
        if not re.fullmatch(r"\w+(\+\w+)*", self.ocr_languages):
            raise UsageError(f"ocr_languages is '{self.ocr_languages}'.", "Join names with +, for example eng+deu.")
        one_of("effort", self.effort, *get_args(Effort))


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
    if exists(file) and file.is_file():
        values |= {key: _typed(key, value, f"{file}: {key}") for key, value in _read(file).items()}
        _keep_secret(file, values)
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


def _keep_secret(file: Path, values: Mapping[str, Any]) -> None:
    """Say of a file with a key or token that others can read, and close it to them: so it is said once."""
    held = [name for name in values if name.endswith(_SECRET)]
    try:
        mode = file.stat().st_mode
        if not held or not mode & _READ_BY_OTHERS or not file.parent.stat().st_mode & _ENTERED_BY_OTHERS:
            return
    except OSError:  # gone meanwhile
        return
    before = stat.S_IMODE(mode)
    close_to_others(file)
    if file.stat().st_mode & _READ_BY_OTHERS:
        if file in _told:
            return
        done = f"Run chmod 600 {file}, and change"
    else:
        done = "It is now yours alone; change"
    _told.add(file)
    _log.warning(
        "%s holds %s and could be read by other users of this machine (mode %o). %s what they may have read.",
        file, " and ".join(held), before, done,
    )  # fmt: skip


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
