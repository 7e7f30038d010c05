"""Definitions of all settings in groups, each with name, type, default, limits and help.

The command line loads this module at start, so it imports nothing slow.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hybrid_core.logs import LogFormat, LogLevel
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
    """Return a dataclass field that declares a setting.

    ``advice`` is shown for an invalid value; by default the limits or choices are shown. A ``secret`` is hidden in
    reprs. A ``size`` is in bytes and accepts "2GB". ``usual`` describes the default in words.
    """
    limits = {"least": least, "most": most, "pattern": pattern, "size": size}
    return field(default=default, repr=not secret, metadata={"help": help, "advice": advice, "usual": usual, **limits})


def _request_field(name: str, default: Any, usual: str = "") -> Any:
    """Return a setting that a search request may override. Its help and limits are those of the request's field
    ``name``.
    """
    metadata = OPTIONS[name].metadata
    low, high, advice = metadata.get("range", (None, None, ""))
    return setting(default, metadata["help"], least=low, most=high, advice=advice, usual=usual)


@dataclass(frozen=True)
class StorageSettings:
    storage_path: Path = setting(Path("~/.pageindex"), "Folder for all data (the home)")
    library: str = setting("default", "Library to use if none is named")
    max_cache_size: int = setting(
        10**9,
        "Maximum size of the cache: page images, text read by OCR and other data that can be "
        "computed again. The entries unused for the longest time are deleted first",
        least=0,
        size=True,
    )
    postgres_url: str = setting(
        "", "Address of a PostgreSQL database that holds the catalog. Empty: a file in the home", secret=True
    )
    redis_url: str = setting(
        "",
        "Address of Redis or RabbitMQ, through which Celery sends job numbers to its workers. Only Celery needs it",
        secret=True,
    )
    machine: str = setting(
        "", "Name of this machine. Machines that see the same files under the same paths use the same name and "
        "share one PostgreSQL catalog",
        pattern=r"^[A-Za-z0-9_.-]*$", advice="Use letters, digits, ., - and _.", usual="the host name",
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
        "proxied", 'proxied: serve sends original files itself. signed: serve redirects to the bucket, '
'by a link that is valid for five minutes',
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
        "Number of pages from which a library gets its own collection; smaller libraries "
        "share one. 0: each library has its own",
        least=0,
    )
    qdrant_shards: int = setting(1, "Number of shards of a new collection", least=1, most=128)
    qdrant_replicas: int = setting(
        1, "Number of cluster nodes that hold each shard of a new collection", least=1, most=16
    )
    qdrant_write_consistency: int = setting(1, "Number of replicas that a write must reach", least=1, most=16)
    qdrant_vectors: Literal["memory", "disk"] = setting(
        "memory", "Where a new collection stores its vectors. disk: they are read when they are needed"
    )
    qdrant_quantization: Literal["none", "scalar", "binary"] = setting(
        "none", "Compressed form in which a new collection first compares vectors"
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
        "Memory that a process with the models of RapidOCR, or with the layout model, may use",
        least=_LEAST_MEMORY,
        size=True,
    )
    max_pages: int = setting(50_000, "Maximum number of pages of a file. A longer file is refused", least=1)
    max_objects: int = setting(
        2_000_000,
        "Maximum number of entries in the cross-reference table of a PDF. A PDF with more is refused",
        least=1,
    )
    max_page_lines: int = setting(
        50_000, "Maximum number of lines of a page. The text of a page with more is left out, with a warning", least=1
    )
    max_page_characters: int = setting(
        2_000_000,
        "Maximum number of characters of a page. The text of a page with more is left out, with a warning",
        least=1,
    )
    max_bookmarks: int = setting(
        20_000, "Maximum number of bookmarks or headings of a file. Further ones are ignored, with a warning", least=1
    )
    max_entries: int = setting(
        20_000, "Maximum number of files inside a package (DOCX, EPUB, ZIP …). A package with more is refused", least=1
    )
    max_expanded_bytes: int = setting(
        500 * 10**6,
        "Maximum unpacked size of a package (DOCX, EPUB, ZIP …). A larger package is refused",
        least=1,
        size=True,
    )
    max_nesting: int = setting(
        3,
        "How deep archives and mails inside one another are opened. Deeper ones are listed in a note and not opened",
        least=1,
    )
    fetch_web: Literal["never", "public"] = setting(
        "never", "Whether index fetches web addresses. public: from public hosts only", advice="Choose never or public."
    )
    max_download_size: int = setting(
        100 * 10**6, "Maximum size of a file from the web. A larger file is refused", least=1, size=True
    )
    max_cells: int = setting(
        5_000_000,
        "Maximum number of cells in the used area of a sheet, with empty ones. A larger sheet is left out or refused",
        least=1,
    )
    max_pixels: int = setting(
        100_000_000, "Maximum number of pixels of a picture. A larger picture is refused", least=1
    )
    hidden_text: Literal["mark", "leave_out"] = setting(
        "mark", 'What to do with text that a PDF page hides. mark: read it and mark it as hidden. '
'leave_out: do not index it',
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
        "Seconds of OCR after which a file is published with the pages read so far. OCR reads "
        "its other pages after the other files",
        least=1,
    )
    ocr_languages: str = setting(
        "eng", "Languages of scanned pages, by Tesseract's names. RapidOCR ignores this setting",
        pattern=r"^\w+(\+\w+)*$",
        advice="Join names with +, for example eng+deu.",
    )  # fmt: skip
    outline: Literal["auto", "fast", "refined"] = setting(
        "auto",
        "How the section trees of PDFs are made. auto: after all files are published, a "
        "layout model improves the trees that are probably wrong. refined: it improves all "
        "trees. fast: it improves none",
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
        800, "Characters after which a chunk ends at the next end of a line or sentence", least=1
    )
    chunk_most: int = setting(1200, "Maximum characters of a chunk", least=1)
    chunk_overlap: int = setting(150, "Maximum characters that a chunk shares with the one before", least=0)
    vision: Literal["auto", "always", "never"] = setting(
        "auto", "Which pages a vision model describes when files are indexed"
    )
    vision_sheet: int = setting(
        0,
        "Number of small page images on one sheet, from which the vision model chooses the "
        "pages to describe. 0: it sees each page in full size",
        least=0,
        most=24,
    )
    enrich: Literal["auto", "estimate", "never"] = setting(
        "auto",
        "Whether configured models improve documents when files are indexed. estimate: no "
        "model is called, and the cost is estimated",
    )
    max_concurrent_pages: int = setting(5, "Pages that a vision model describes at once", least=1)
    image_dpi: int = setting(150, "Resolution of rendered pages, in dots per inch", least=18, most=600)
    image_format: Literal["png", "jpeg"] = setting("png", "Format of the page images that a model is shown")
    image_max_side: int = setting(
        2000, 'Pixels of the longer side above which a page image is cut into tiles', least=256, most=8000,
        advice="Choose 256 to 8000 pixels.",
    )  # fmt: skip
    image_max_tiles: int = setting(
        4,
        "Maximum tiles of one page; a page that needs more is drawn with fewer pixels. 1: never cut",
        least=1,
        most=16,
    )


@dataclass(frozen=True)
class EmbeddingSettings:
    embedding_model: str = setting("", 'Default embedder of the command embed, for example "bge-m3"')
    models_dir: str = setting("", "Folder with embedders. Each has a subfolder, whose name is the name of the embedder")
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
    llm_model: str = setting(
        "", "Name of the language model, which searches section trees and writes answers. Empty: none is used"
    )
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
        "", "Name of the vision model, which sees page images. Empty: only the text of pages is used"
    )
    vlm_base_url: str = setting(
        "", "Address of the vision model's endpoint. Empty: the provider's own", pattern=_WEB, advice=_WEB_ADVICE
    )
    vlm_api_key: str = setting("", "API key of the vision model's endpoint", secret=True)
    max_concurrent_calls: int = setting(8, "Maximum number of concurrent model calls, per endpoint", least=1)
    max_calls_per_minute: int = setting(
        0, "Maximum number of model calls per minute, per endpoint, spread evenly. 0: no limit", least=0
    )
    model_timeout: float = setting(120.0, "Seconds that one model call may take", least=1)
    model_prices: str = setting(
        "", 'Prices per million tokens, input/output: "gpt-4o=2.50/10, qwen2.5-vl=0/0". Other models count as free'
    )
    monthly_spending: float = setting(
        0.0,
        "Maximum spending in a month, in the currency of model_prices. Beyond it, models with "
        "a price are not called. 0: no limit",
        least=0,
    )
    monthly_tokens: int = setting(
        0, "Maximum tokens in a month of models without a price. Beyond it, they are not called. 0: no limit", least=0
    )
    record_replies: str = setting("", "File in which the replies of models are recorded")
    replay_replies: str = setting("", "File of recorded replies, which are used instead of calling a model")


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
    rerank: Literal["none", "multi-vector", "server"] = setting(
        "none",
        "multi-vector: the embedder compares the best pages with the question token by token. server: a reranking "
        "model behind rerank_base_url scores them",
    )
    rerank_model: str = setting("", "Name of the reranking model. Empty: the server has only one")
    rerank_base_url: str = setting(
        "", "Address of the reranking server, without /rerank", pattern=_WEB, advice=_WEB_ADVICE
    )
    rerank_api_key: str = setting("", "API key of the reranking server", secret=True)
    rerank_seconds: float = setting(
        2.0, "Seconds after which a search continues without the reranking server", least=0.1
    )
    reason_below: float = setting(
        0.5, 'With the effort auto, a model is called if the first page answers with a lower '
'probability than this. 0: never, 1: always',
        least=0, most=1, advice='Choose 0 (never call a model) to 1.',
    )  # fmt: skip
    reason_tokens: int = setting(
        7000, "Maximum input tokens of all model calls that search for the pages of one question", least=2000
    )
    reason_rounds: int = setting(3, "Maximum model calls for one question with the strategy outline", least=1)
    reason_calls: int = setting(8, "Maximum model calls for one question with the strategy mcts", least=1)
    reason_seconds: float = setting(
        0.0,
        "Seconds for all model calls of one question. After that the search returns the pages "
        "found so far. 0: only model_timeout limits each call",
        least=0,
    )


@dataclass(frozen=True)
class AnswerSettings:
    answer_tokens: int = setting(8000, "Maximum tokens of the sources that a model receives for an answer", least=500)
    answer_evidence: Literal["strong", "weak", "none"] = setting(
        "weak",
        "Minimum evidence for calling a model to answer, unless a model has chosen the pages. "
        "none: a model is always called",
    )
    answer_vision: Literal["auto", "always", "never"] = setting(
        "auto",
        "Pages that a vision model receives as pictures for an answer. auto: pages whose text lacks what they show",
    )
    conversation_tokens: int = setting(
        3000,
        "Maximum tokens of earlier messages that the model receives for a question of a "
        "conversation. Older ones are summarised",
        least=200,
    )
    conversation_titles: Literal["rule", "model"] = setting(
        "rule",
        "How conversations get their titles. rule: from the first question. model: by one call of the language model",
    )


@dataclass(frozen=True)
class McpSettings:
    mcp_token: str = setting(
        "", "Token that callers of mcp --http must send. It is required if other machines can connect", secret=True
    )


@dataclass(frozen=True)
class HttpSettings:
    http_token: str = setting("", "Token that gives access to the server. Empty: a new one at each start", secret=True)
    http_requests_per_minute: int = setting(
        6000, "Maximum requests of one caller of serve per minute. 0: no limit", least=0
    )
    http_searches: int = setting(8, "Maximum number of concurrent searches of serve; further ones wait", least=1)
    http_answers: int = setting(
        32, "Maximum number of concurrent answers of serve, and of other calls that may wait for a model", least=1
    )
    max_upload_size: int = setting(
        2 * 10**9, "Maximum size of an uploaded file. A larger one is refused", least=1, size=True
    )


@dataclass(frozen=True)
class LogSettings:
    log_format: LogFormat = setting(
        "text", "Format of the log on stderr. json: one JSON object a line", advice="Choose text or json."
    )
    log_level: LogLevel = setting(
        "warning", "Least level of the messages that are logged", advice="Choose debug, info, warning or error."
    )
    log_questions: bool = setting(False, "Whether log lines may contain the text of questions")
    traces_url: str = setting(
        "",
        "Address that receives traces by the OpenTelemetry protocol over HTTP, such as http://localhost:4318. Empty: "
        "no traces are sent",
        pattern=_WEB,
        advice=_WEB_ADVICE,
    )


@dataclass(frozen=True)
class AllSettings(
    LogSettings, HttpSettings, McpSettings, AnswerSettings, SearchSettings, ModelSettings, EmbeddingSettings,
    IndexSettings, StorageSettings,
):  # fmt: skip
    """All settings in one class. The environment variable of a setting is ``PREFIX`` and the setting's name in
    capitals.
    """

    scoring: ScoringConfig = setting(ScoringConfig(), "Parameters of the ranking, by group and name")
