"""All settings in groups, each with its name, type, default, limits and help.

Start-up and the command line read it, so it imports nothing slow.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hybrid_core.types.documents import Effort, Fusion, Route, Strategy
from hybrid_core.types.requests import OPTIONS
from hybrid_core.types.scoring import ScoringConfig

PREFIX = "PAGEINDEX_"
_WEB = r"^(?:[Hh][Tt][Tt][Pp][Ss]?://[^\s/].*)?$"
_WEB_ADVICE = "Give an address that begins with http:// or https://."
_LEAST_MEMORY = 300 * 10**6  # a worker with its libraries takes half of this before it reads anything


def setting(
    default: Any,
    help: str,
    *,
    least: float | None = None,
    most: float | None = None,
    pattern: str = "",
    advice: str = "",
    secret: bool = False,
    size: bool = False,
    usual: str = "",
) -> Any:
    """``advice`` is told of a value that is wrong, else its limits or choices are. ``secret`` is in no repr.
    ``size`` is in bytes, and understands "2GB". ``usual`` is the default in words.
    """
    limits = {"least": least, "most": most, "pattern": pattern, "size": size}
    return field(default=default, repr=not secret, metadata={"help": help, "advice": advice, "usual": usual, **limits})


def _request_field(name: str, default: Any, usual: str = "") -> Any:
    """Define a setting that a search request may override: help and limits are those of the request's field."""
    metadata = OPTIONS[name].metadata
    low, high, advice = metadata.get("range", (None, None, ""))
    return setting(default, metadata["help"], least=low, most=high, advice=advice, usual=usual)


@dataclass(frozen=True)
class StorageSettings:
    storage_path: Path = setting(Path("~/.pageindex"), "where everything is kept")
    library: str = setting("default", "library to use")
    max_cache_size: int = setting(10**9, "of page images and the like; the longest unused go first", least=0, size=True)
    postgres_url: str = setting(
        "", "of a PostgreSQL database that holds the catalog; empty: a file in the home", secret=True
    )
    redis_url: str = setting(
        "", "of Redis, or of RabbitMQ, which hands the numbers of jobs to Celery's workers", secret=True
    )
    machine: str = setting(
        "", "name of whoever finds the same files at the same paths, where several share a PostgreSQL catalog",
        pattern=r"^[A-Za-z0-9_.-]*$", advice="Use letters, digits, ., - and _.", usual="the machine's own",
    )  # fmt: skip
    objects_url: str = setting(
        "", "of a bucket that holds uploaded files for several machines, like s3://bucket/folder; empty: the home does"
    )
    objects_endpoint: str = setting("", "of a store that is not Amazon's, like http://localhost:9000")
    objects_region: str = setting("", "of the bucket")
    objects_access_key: str = setting(
        "", "of the bucket; empty: what AWS_… variables or the machine's role say", secret=True
    )
    objects_secret_key: str = setting("", "that belongs to it", secret=True)
    objects_links: Literal["proxied", "signed"] = setting(
        "proxied", "originals are sent by serve itself, or it sends who asks to the bucket by a link of five minutes",
        advice="Choose proxied or signed.",
    )  # fmt: skip
    qdrant_url: str = setting(
        "",
        "of a Qdrant server that holds the vector indexes, with commas between several; empty: embedded",
    )
    qdrant_api_key: str = setting("", "of that server", secret=True)
    qdrant_prefix: str = setting(
        "pageindex-", "of the collections on that server", pattern=r"^[A-Za-z0-9_-]{0,40}$",
        advice="Use letters, digits, - and _, 40 at most.",
    )  # fmt: skip
    qdrant_own_from: int = setting(
        0, "pages from which on a library has a collection of its own; smaller ones share one", least=0
    )
    qdrant_shards: int = setting(1, "that a collection made from now on is divided into", least=1, most=128)
    qdrant_replicas: int = setting(1, "nodes of a cluster that hold each of its shards", least=1, most=16)
    qdrant_write_consistency: int = setting(1, "of these that a write has to reach", least=1, most=16)
    qdrant_vectors: Literal["memory", "disk"] = setting(
        "memory", "where vectors of collections made from now on are kept; from the disk they are read when needed"
    )
    qdrant_quantization: Literal["none", "scalar", "binary"] = setting(
        "none", "of dense vectors in collections made from now on, which are compared in a short form first"
    )


@dataclass(frozen=True)
class IndexSettings:
    workers: int = setting(0, "parsing processes", least=0, usual="one per core")
    library_jobs: int = setting(0, "of one library that run at once in all processes; 0: any number", least=0)
    index_jobs: int = setting(0, "files that are indexed at once by all processes; 0: any number", least=0)
    embed_jobs: int = setting(0, "libraries that are embedded at once by all processes; 0: any number", least=0)
    range_pages: int = setting(100, "pages that one task of a worker parses", least=1)
    seconds_per_task: float = setting(120.0, "a task that takes longer is stopped and its file reported", least=1)
    seconds_per_file: float = setting(3600.0, "the same for all work on a file together", least=1)
    max_worker_memory: int = setting(10**9, "that one worker may hold", least=_LEAST_MEMORY, size=True)
    max_ocr_memory: int = setting(
        2 * 10**9, "the same for the one that holds RapidOCR's models", least=_LEAST_MEMORY, size=True
    )
    max_pages: int = setting(50_000, "a file with more is refused", least=1)
    max_objects: int = setting(
        2_000_000, "entries in a PDF's cross-reference table; a file with more is refused", least=1
    )
    max_page_lines: int = setting(50_000, "a page with more lines of text is left empty and reported", least=1)
    max_page_characters: int = setting(2_000_000, "the same for its characters", least=1)
    max_bookmarks: int = setting(20_000, "where a file has more, they are ignored", least=1)
    max_entries: int = setting(20_000, "a package (DOCX, EPUB …) with more files inside is refused", least=1)
    max_expanded_bytes: int = setting(500 * 10**6, "a package that is larger unpacked is refused", least=1, size=True)
    max_nesting: int = setting(3, "archives and mails inside one another that are opened", least=1)
    fetch_web: Literal["never", "public"] = setting(
        "never", "whether index fetches web addresses, from public hosts only", advice="Choose never or public."
    )
    max_download_size: int = setting(100 * 10**6, "a file of the web that is larger is refused", least=1, size=True)
    max_cells: int = setting(5_000_000, "a sheet that reaches over more is left out or refused", least=1)
    max_pixels: int = setting(100_000_000, "a picture with more is refused", least=1)
    hidden_text: Literal["mark", "leave_out"] = setting(
        "mark", "text that a page of a PDF does not show is read and marked, or left out",
        advice="Choose mark or leave_out.",
    )  # fmt: skip
    seconds_per_page: float = setting(15.0, "of computing; a page that needs more is left empty and reported", least=1)
    ocr: Literal["auto", "never"] = setting(
        "auto", "pages without readable text are read from their pictures where Tesseract or RapidOCR is installed"
    )
    ocr_seconds: float = setting(
        5.0, "after these a file is published; the rest of its scans follows after the other files", least=1
    )
    ocr_languages: str = setting(
        "eng", "Tesseract's names of the languages of such pages", pattern=r"^\w+(\+\w+)*$",
        advice="Join names with +, for example eng+deu.",
    )  # fmt: skip
    outline: Literal["fast", "refined"] = setting(
        "fast", "section trees of PDFs by rules alone, or refined by a layout model once the files are published"
    )
    chunk_least: int = setting(800, "characters: a chunk ends at a line or sentence end from here on", least=1)
    chunk_most: int = setting(1200, "characters of a chunk at most", least=1)
    chunk_overlap: int = setting(150, "characters at most that the next chunk begins before the end of one", least=0)
    vision: Literal["auto", "always", "never"] = setting("auto", "pages that a vision model describes")
    vision_sheet: int = setting(
        0,
        "pages on a contact sheet by which the vision model chooses those it describes; 0: it sees each",
        least=0,
        most=24,
    )
    enrich: Literal["auto", "estimate", "never"] = setting(
        "auto", "whether models that are configured improve documents; estimate: what that would take is counted"
    )
    max_concurrent_pages: int = setting(5, "pages that a vision model describes at once", least=1)
    image_dpi: int = setting(150, "resolution of pages that are drawn", least=18, most=600)
    image_format: Literal["png", "jpeg"] = setting("png", "of pages that a model sees")
    image_max_side: int = setting(
        2000, "pixels; a page that is larger at image_dpi is cut into tiles", least=256, most=8000,
        advice="Choose 256 to 8000 pixels.",
    )  # fmt: skip
    image_max_tiles: int = setting(
        4, "at most so many; a page that needs more is drawn coarser. 1: never cut", least=1, most=16
    )


@dataclass(frozen=True)
class EmbeddingSettings:
    embedding_model: str = setting("", 'what embed uses unless told otherwise, for example "bge-m3"')
    models_dir: str = setting("", "path of a folder of embedders, one folder each, which are then known by their names")
    model_downloads: Literal["never", "hub"] = setting(
        "never", "whether an embedder that is not here comes from the Hugging Face hub", advice="Choose never or hub."
    )
    embedding_base_url: str = setting("", "of an OpenAI-compatible endpoint", pattern=_WEB, advice=_WEB_ADVICE)
    embedding_api_key: str = setting("", "of that endpoint", secret=True)
    embedding_chunks: Literal["after", "never"] = setting(
        "after", "whether chunks get vectors too, after all pages have theirs", advice="Choose after or never."
    )
    embedding_device: str = setting("", '"cpu", "cuda", …; empty: the best there is')
    embedding_threads: int = setting(0, "threads of an exported model", least=0, usual="one per core, 4 at most")


@dataclass(frozen=True)
class ModelSettings:
    llm_provider: Literal["openai", "anthropic", ""] = setting(
        "openai", "whose interface the language model has: openai (also vLLM, Ollama, …) or anthropic",
        advice="Choose openai or anthropic.",
    )  # fmt: skip
    llm_model: str = setting("", "empty: everything is done without one")
    llm_base_url: str = setting("", "empty: the provider's own", pattern=_WEB, advice=_WEB_ADVICE)
    llm_api_key: str = setting("", "of the language model's endpoint", secret=True)
    vlm_provider: Literal["openai", "anthropic", ""] = setting(
        "", "of the model that sees pages; with URL and key empty: the language model's",
        advice="Choose openai or anthropic.",
    )  # fmt: skip
    vlm_model: str = setting("", "empty: pages are read by their text only")
    vlm_base_url: str = setting("", "empty: the provider's own", pattern=_WEB, advice=_WEB_ADVICE)
    vlm_api_key: str = setting("", "of the endpoint of the model that sees", secret=True)
    max_concurrent_calls: int = setting(8, "calls of models under way at once, per endpoint", least=1)
    max_calls_per_minute: int = setting(0, "that start, per endpoint; 0: as many as there are", least=0)
    model_timeout: float = setting(120.0, "seconds that one call of a model may take", least=1)
    model_prices: str = setting(
        "", 'per million tokens, input/output: "gpt-4o=2.50/10, qwen2.5-vl=0/0"; else cost is 0'
    )
    monthly_spending: float = setting(
        0.0, "in the currency of model_prices: beyond it models with a price are not asked; 0: no limit", least=0
    )
    monthly_tokens: int = setting(0, "of models without a price, beyond which they are not asked; 0: no limit", least=0)
    record_replies: str = setting("", "path of a file to which models' replies are added")
    replay_replies: str = setting("", "path of such a file, which then answers instead of any model")


@dataclass(frozen=True)
class SearchSettings:
    top_k: int = _request_field("top_k", 5)
    effort: Effort = _request_field("effort", "auto")
    expert: str = _request_field("expert", "auto")
    aliases: str = setting("", 'path of a file of nicknames: "Organisation: [nickname, …]" lines')
    ranking_weights: str = setting("", "path of a file of ranking weights; empty: those that come along")
    fusion: Fusion = _request_field("fusion", "weighted")
    mmr: float = _request_field("mmr", 1.0)
    route: Route = _request_field("route", "auto", usual="auto, by cards and text")
    strategy: Strategy = _request_field("strategy", "outline")
    rerank: Literal["none", "multi-vector"] = setting(
        "none", "multi-vector: the best pages are compared with the question token by token"
    )
    reason_below: float = setting(
        0.5, "effort auto asks a model where the first page answers less likely than this; 0: never, 1: always",
        least=0, most=1, advice="Choose 0 (never ask) to 1.",
    )  # fmt: skip
    reason_tokens: int = setting(6000, "of all inputs of a model that looks for the pages of one question", least=2000)
    reason_rounds: int = setting(3, "replies of the model with the strategy outline", least=1)
    reason_calls: int = setting(8, "the same with mcts", least=1)
    reason_seconds: float = setting(
        0.0, "of all its calls, after which what was found stands; 0: model_timeout for each", least=0
    )


@dataclass(frozen=True)
class AnswerSettings:
    answer_tokens: int = setting(8000, "of the sources that a model is given to answer from", least=500)
    answer_evidence: Literal["strong", "weak", "none"] = setting(
        "weak", 'below it ask calls no model where none has looked; "none": always'
    )
    answer_vision: Literal["auto", "always", "never"] = setting(
        "auto", "pages that a model which sees is sent as pictures: those whose text lacks what they show, all, none"
    )
    conversation_tokens: int = setting(
        3000, "of what was said before that a turn of a conversation is shown; the rest is summarised", least=200
    )
    conversation_titles: Literal["rule", "model"] = setting(
        "rule", "by which conversations are named: the first question cut short, or a call of the model"
    )


@dataclass(frozen=True)
class McpSettings:
    mcp_token: str = setting("", "what callers of mcp --http must show; needed beyond this machine", secret=True)


@dataclass(frozen=True)
class HttpSettings:
    http_token: str = setting("", "that serve is opened with; empty: another one each time", secret=True)
    http_requests_per_minute: int = setting(6000, "of one caller of serve; 0: as many as come", least=0)
    http_searches: int = setting(8, "searches that serve works at at once; others wait", least=1)
    http_answers: int = setting(32, "answers and other calls that may wait for a model, at once", least=1)
    max_upload_size: int = setting(2 * 10**9, "a file that is larger is refused by serve", least=1, size=True)


@dataclass(frozen=True)
class AllSettings(
    HttpSettings, McpSettings, AnswerSettings, SearchSettings, ModelSettings, EmbeddingSettings, IndexSettings,
    StorageSettings,
):  # fmt: skip
    """All groups in one. A variable is a setting's name in capitals behind ``PREFIX``."""

    scoring: ScoringConfig = setting(ScoringConfig(), "numbers that rank, by group and name")
