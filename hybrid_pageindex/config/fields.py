"""All settings in groups, each with name, type, default, limits and help.

The command line loads this module at start, so it imports nothing slow.
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
_LEAST_MEMORY = 300 * 10**6  # bytes; a worker with its imported packages takes half of this before it reads a file


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
    """Declare a setting.

    ``advice`` is shown for an invalid value; by default the limits or choices are shown. A ``secret`` is hidden in
    reprs. A ``size`` is in bytes and accepts "2GB". ``usual`` describes the default in words.
    """
    limits = {"least": least, "most": most, "pattern": pattern, "size": size}
    return field(default=default, repr=not secret, metadata={"help": help, "advice": advice, "usual": usual, **limits})


def _request_field(name: str, default: Any, usual: str = "") -> Any:
    """Declare a setting that a search request may override. Help and limits are those of the request's field."""
    metadata = OPTIONS[name].metadata
    low, high, advice = metadata.get("range", (None, None, ""))
    return setting(default, metadata["help"], least=low, most=high, advice=advice, usual=usual)


@dataclass(frozen=True)
class StorageSettings:
    storage_path: Path = setting(Path("~/.pageindex"), "Folder that keeps everything (the home)")
    library: str = setting("default", "Library that is used where none is named")
    max_cache_size: int = setting(
        10**9,
        "Limit of the cache: page images, text read by OCR and what else can be made again. Entries unused "
        "longest go first",
        least=0,
        size=True,
    )
    postgres_url: str = setting(
        "", "Address of a PostgreSQL database that holds the catalog. Empty: a file in the home", secret=True
    )
    redis_url: str = setting(
        "",
        "Address of Redis or RabbitMQ, which hands job numbers to Celery's workers. Nothing else needs it",
        secret=True,
    )
    machine: str = setting(
        "", "Name of this machine. Machines that see the same files under the same paths use the same name and "
        "share one PostgreSQL catalog",
        pattern=r"^[A-Za-z0-9_.-]*$", advice="Use letters, digits, ., - and _.", usual="the machine's own",
    )  # fmt: skip
    objects_url: str = setting(
        "",
        "Address of a bucket that keeps uploaded files for several machines, like s3://bucket/folder. Empty: the "
        "home keeps them",
    )
    objects_endpoint: str = setting("", "Address of an object store other than Amazon's, like http://localhost:9000")
    objects_region: str = setting("", "Region of the bucket")
    objects_access_key: str = setting(
        "", "Access key of the bucket. Empty: AWS_… variables or the role of the machine decide", secret=True
    )
    objects_secret_key: str = setting("", "Secret key of the bucket", secret=True)
    objects_links: Literal["proxied", "signed"] = setting(
        "proxied", "proxied: serve sends original files itself. signed: serve redirects to the bucket, by a link "
        "that holds for five minutes",
        advice="Choose proxied or signed.",
    )  # fmt: skip
    qdrant_url: str = setting(
        "",
        "Address of a Qdrant server that holds the vector indexes; several nodes are separated by commas. Empty: "
        "the indexes are embedded",
    )
    qdrant_api_key: str = setting("", "API key of the Qdrant server", secret=True)
    qdrant_prefix: str = setting(
        "pageindex-", "Beginning of the names of collections on the Qdrant server", pattern=r"^[A-Za-z0-9_-]{0,40}$",
        advice="Use letters, digits, - and _, 40 at most.",
    )  # fmt: skip
    qdrant_own_from: int = setting(
        0,
        "Libraries with at least this many pages get a collection of their own; smaller ones share one. 0: each "
        "has its own",
        least=0,
    )
    qdrant_shards: int = setting(1, "Number of shards of a new collection", least=1, most=128)
    qdrant_replicas: int = setting(
        1, "Number of cluster nodes that hold each shard of a new collection", least=1, most=16
    )
    qdrant_write_consistency: int = setting(1, "Number of replicas that a write must reach", least=1, most=16)
    qdrant_vectors: Literal["memory", "disk"] = setting(
        "memory", "Where a new collection keeps its vectors. disk: they are read when they are needed"
    )
    qdrant_quantization: Literal["none", "scalar", "binary"] = setting(
        "none", "Short form in which a new collection compares dense vectors first"
    )


@dataclass(frozen=True)
class IndexSettings:
    workers: int = setting(0, "Number of parsing processes", least=0, usual="one per core")
    library_jobs: int = setting(0, "Jobs of one library that run at once, over all processes. 0: no limit", least=0)
    index_jobs: int = setting(0, "Files that are indexed at once, over all processes. 0: no limit", least=0)
    embed_jobs: int = setting(0, "Libraries that are embedded at once, over all processes. 0: no limit", least=0)
    range_pages: int = setting(100, "Pages that a worker parses as one task", least=1)
    seconds_per_task: float = setting(
        120.0, "Seconds after which a task is stopped and its file reported as failed", least=1
    )
    seconds_per_file: float = setting(3600.0, "Seconds after which all work on one file is stopped", least=1)
    max_worker_memory: int = setting(10**9, "Memory that one parsing process may use", least=_LEAST_MEMORY, size=True)
    max_ocr_memory: int = setting(
        2 * 10**9,
        "Memory that a process may use which holds models: those of RapidOCR, or the layout model",
        least=_LEAST_MEMORY,
        size=True,
    )
    max_pages: int = setting(50_000, "A file with more pages is refused", least=1)
    max_objects: int = setting(2_000_000, "A PDF with more entries in its cross-reference table is refused", least=1)
    max_page_lines: int = setting(50_000, "The text of a page with more lines is left out, with a warning", least=1)
    max_page_characters: int = setting(
        2_000_000, "The text of a page with more characters is left out, with a warning", least=1
    )
    max_bookmarks: int = setting(20_000, "Further bookmarks or headings of a file are ignored, with a warning", least=1)
    max_entries: int = setting(20_000, "A package (DOCX, EPUB, ZIP …) with more files inside is refused", least=1)
    max_expanded_bytes: int = setting(
        500 * 10**6, "A package that is larger when unpacked is refused", least=1, size=True
    )
    max_nesting: int = setting(
        3,
        "Depth to which archives and mails inside one another are opened. Deeper ones are named and stay closed",
        least=1,
    )
    fetch_web: Literal["never", "public"] = setting(
        "never", "Whether index fetches web addresses. public: from public hosts only", advice="Choose never or public."
    )
    max_download_size: int = setting(100 * 10**6, "A larger file of the web is refused", least=1, size=True)
    max_cells: int = setting(
        5_000_000, "A sheet whose used area holds more cells, empty ones counted, is left out or refused", least=1
    )
    max_pixels: int = setting(100_000_000, "A picture with more pixels is refused", least=1)
    hidden_text: Literal["mark", "leave_out"] = setting(
        "mark", "Text that a PDF page does not show. mark: it is read and marked as hidden. leave_out: it is "
        "not indexed",
        advice="Choose mark or leave_out.",
    )  # fmt: skip
    seconds_per_page: float = setting(
        15.0,
        "Seconds of processor time after which a page is left out, with a warning. A file with more than three "
        "such pages is refused",
        least=1,
    )
    ocr: Literal["auto", "never"] = setting(
        "auto",
        "Whether pages without readable text are read from their pictures, by Tesseract or RapidOCR where one "
        "is installed",
    )
    ocr_seconds: float = setting(
        5.0,
        "Seconds of OCR after which a file is published. The rest of its scans follows after the other files",
        least=1,
    )
    ocr_languages: str = setting(
        "eng", "Languages of scanned pages by Tesseract's names. RapidOCR needs none", pattern=r"^\w+(\+\w+)*$",
        advice="Join names with +, for example eng+deu.",
    )  # fmt: skip
    outline: Literal["auto", "fast", "refined"] = setting(
        "auto",
        "How section trees of PDFs are made. auto: after all files are published, a layout model improves the trees "
        "whose own estimate is low. refined: all trees. fast: none",
    )
    outline_pages: int = setting(
        300, "Pages of a document, from its start, that the layout model reads where outline is auto", least=1
    )
    outline_seconds: float = setting(
        300.0,
        "Seconds after which the layout model stops reading a document where outline is auto. The rest of the tree "
        "stays as it was",
        least=1,
    )
    chunk_least: int = setting(
        800, "Characters from which on a chunk ends at the next end of a line or sentence", least=1
    )
    chunk_most: int = setting(1200, "Characters that a chunk has at most", least=1)
    chunk_overlap: int = setting(150, "Characters that a chunk shares with the one before, at most", least=0)
    vision: Literal["auto", "always", "never"] = setting(
        "auto", "Which pages a vision model describes when files are indexed"
    )
    vision_sheet: int = setting(
        0,
        "Pages on a contact sheet by which the vision model chooses the pages it describes. 0: it sees each page",
        least=0,
        most=24,
    )
    enrich: Literal["auto", "estimate", "never"] = setting(
        "auto",
        "Whether configured models improve documents when files are indexed. estimate: no model is asked, and "
        "the cost is estimated",
    )
    max_concurrent_pages: int = setting(5, "Pages that a vision model describes at once", least=1)
    image_dpi: int = setting(150, "Resolution of rendered pages, in dots per inch", least=18, most=600)
    image_format: Literal["png", "jpeg"] = setting("png", "Format of the page images that a model is shown")
    image_max_side: int = setting(
        2000, "Pixels of the longer side above which a page is cut into tiles", least=256, most=8000,
        advice="Choose 256 to 8000 pixels.",
    )  # fmt: skip
    image_max_tiles: int = setting(
        4, "Tiles of one page at most; a page that needs more is drawn coarser. 1: never cut", least=1, most=16
    )


@dataclass(frozen=True)
class EmbeddingSettings:
    embedding_model: str = setting("", 'Default embedder of the command embed, for example "bge-m3"')
    models_dir: str = setting("", "Folder that holds embedders, each in a folder of its own, whose name then names it")
    model_downloads: Literal["never", "hub"] = setting(
        "never", "Whether a missing embedder is downloaded from the Hugging Face hub", advice="Choose never or hub."
    )
    embedding_base_url: str = setting(
        "", "Address of an OpenAI-compatible endpoint for embeddings", pattern=_WEB, advice=_WEB_ADVICE
    )
    embedding_api_key: str = setting("", "API key of the embedding endpoint", secret=True)
    embedding_chunks: Literal["after", "never"] = setting(
        "after", "Whether chunks get vectors too, after all pages have theirs", advice="Choose after or never."
    )
    embedding_device: str = setting("", 'Device of the embedder: "cpu", "cuda", … Empty: the best available device')
    embedding_threads: int = setting(0, "Threads of an exported model", least=0, usual="one per core, 4 at most")


@dataclass(frozen=True)
class ModelSettings:
    llm_provider: Literal["openai", "anthropic", ""] = setting(
        "openai", "Protocol of the language model's endpoint. openai also fits vLLM, Ollama and others",
        advice="Choose openai or anthropic.",
    )  # fmt: skip
    llm_model: str = setting("", "Name of the language model, which reads trees and answers. Empty: none is used")
    llm_base_url: str = setting(
        "", "Address of the language model's endpoint. Empty: the provider's own", pattern=_WEB, advice=_WEB_ADVICE
    )
    llm_api_key: str = setting("", "API key of the language model's endpoint", secret=True)
    vlm_provider: Literal["openai", "anthropic", ""] = setting(
        "", "Protocol of the vision model's endpoint. Empty, with address and key empty too: the language "
        "model's endpoint",
        advice="Choose openai or anthropic.",
    )  # fmt: skip
    vlm_model: str = setting(
        "", "Name of the vision model, which sees pages. Empty: pages are known by their text alone"
    )
    vlm_base_url: str = setting(
        "", "Address of the vision model's endpoint. Empty: the provider's own", pattern=_WEB, advice=_WEB_ADVICE
    )
    vlm_api_key: str = setting("", "API key of the vision model's endpoint", secret=True)
    max_concurrent_calls: int = setting(8, "Model calls under way at once, per endpoint", least=1)
    max_calls_per_minute: int = setting(
        0, "Model calls that start in a minute, per endpoint, spread evenly. 0: no limit", least=0
    )
    model_timeout: float = setting(120.0, "Seconds that one model call may take", least=1)
    model_prices: str = setting(
        "", 'Prices per million tokens, input/output: "gpt-4o=2.50/10, qwen2.5-vl=0/0". Other models count as free'
    )
    monthly_spending: float = setting(
        0.0,
        "Spending in a month, in the currency of model_prices, beyond which models with a price are not asked. "
        "0: no limit",
        least=0,
    )
    monthly_tokens: int = setting(
        0, "Tokens in a month beyond which models without a price are not asked. 0: no limit", least=0
    )
    record_replies: str = setting("", "File to which the replies of models are added")
    replay_replies: str = setting("", "File of recorded replies, which then answers instead of any model")


@dataclass(frozen=True)
class SearchSettings:
    top_k: int = _request_field("top_k", 5)
    effort: Effort = _request_field("effort", "auto")
    expert: str = _request_field("expert", "auto")
    aliases: str = setting("", 'File of nicknames, with lines of the form "Organisation: [nickname, …]"')
    ranking_weights: str = setting(
        "", "File of ranking weights, as eval fit writes it. Empty: the weights of this version"
    )
    fusion: Fusion = _request_field("fusion", "weighted")
    mmr: float = _request_field("mmr", 1.0)
    route: Route = _request_field("route", "auto", usual="auto, by cards and text")
    strategy: Strategy = _request_field("strategy", "outline")
    rerank: Literal["none", "multi-vector"] = setting(
        "none", "multi-vector: the best pages are compared with the question token by token"
    )
    reason_below: float = setting(
        0.5, "effort auto asks a model where the first page answers with a lower probability than this. 0: "
        "never, 1: always",
        least=0, most=1, advice="Choose 0 (never ask) to 1.",
    )  # fmt: skip
    reason_tokens: int = setting(
        6000, "Input tokens of all model calls that look for the pages of one question, at most", least=2000
    )
    reason_rounds: int = setting(3, "Replies of the model for one question with the strategy outline, at most", least=1)
    reason_calls: int = setting(8, "Calls of the model for one question with the strategy mcts, at most", least=1)
    reason_seconds: float = setting(
        0.0,
        "Seconds for all model calls of one question, after which the pages found by then stand. 0: "
        "model_timeout for each call",
        least=0,
    )


@dataclass(frozen=True)
class AnswerSettings:
    answer_tokens: int = setting(8000, "Tokens of the sources that a model is given to answer from, at most", least=500)
    answer_evidence: Literal["strong", "weak", "none"] = setting(
        "weak", "Evidence below which ask calls no model, unless one looked for the pages. none: it always calls one"
    )
    answer_vision: Literal["auto", "always", "never"] = setting(
        "auto", "Pages that a vision model gets as pictures. auto: those whose text lacks what they show"
    )
    conversation_tokens: int = setting(
        3000,
        "Tokens of earlier messages that a turn of a conversation is shown, at most. The rest is summarised",
        least=200,
    )
    conversation_titles: Literal["rule", "model"] = setting(
        "rule", "How conversations are named. rule: by the first question. model: by one call of the language model"
    )


@dataclass(frozen=True)
class McpSettings:
    mcp_token: str = setting(
        "", "Token that callers of mcp --http must send. Needed where other machines can connect", secret=True
    )


@dataclass(frozen=True)
class HttpSettings:
    http_token: str = setting("", "Token that gives access to the server. Empty: a new one at each start", secret=True)
    http_requests_per_minute: int = setting(
        6000, "Requests of one caller of serve in a minute, at most. 0: no limit", least=0
    )
    http_searches: int = setting(8, "Searches that serve does at once; others wait", least=1)
    http_answers: int = setting(
        32, "Answers, and other calls that may wait for a model, that serve does at once", least=1
    )
    max_upload_size: int = setting(2 * 10**9, "A larger upload is refused", least=1, size=True)


@dataclass(frozen=True)
class AllSettings(
    HttpSettings, McpSettings, AnswerSettings, SearchSettings, ModelSettings, EmbeddingSettings, IndexSettings,
    StorageSettings,
):  # fmt: skip
    """All settings in one class. The variable of a setting is ``PREFIX`` and its name in capitals."""

    scoring: ScoringConfig = setting(ScoringConfig(), "numbers that rank, by group and name")
