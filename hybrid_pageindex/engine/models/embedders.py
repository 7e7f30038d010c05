"""The configured embedders: load each once per process, list documents without vectors, and check the models."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hybrid_core.errors import Advice, ModelError, PageIndexError, UsageError
from hybrid_core.store.catalog.snapshot import Snapshot
from hybrid_core.text.prose import counted
from hybrid_core.types.documents import Document, StoredEmbedder
from hybrid_core.types.notes import NONE, Note
from hybrid_pageindex.config.settings import Settings
from retrievers.query.question import QuestionEmbedding

if TYPE_CHECKING:
    from hybrid_core.embed.embedder import Embedder
    from hybrid_core.embed.local_models import ModelPlaces
    from hybrid_core.embed.rerank_server import RerankServer


Comparison = Callable[[Sequence[str]], NDArray[np.float32]]
_ASKED_BY_ID = 100  # contents to look up by id; for more, all embedded contents are read
_EMBED_FIRST = Advice(
    "Embed the library with BGE-M3, which makes token vectors, or set rerank to none.",
    "Embed the library with BGE-M3, which makes token vectors (hybrid-pageindex embed --embedder bge-m3), or set "
    "rerank to none.",
)


@dataclass(frozen=True, slots=True)
class VectorsOf:
    """The embedder that a library uses, and the ids of published documents without its vectors (``missing``).

    ``unindexed`` are documents whose vectors are missing in the search index.
    """

    embedder: StoredEmbedder
    missing: Set[str]
    unindexed: Set[str] = frozenset()

    @classmethod
    def next(
        cls,
        before: VectorsOf | None,
        snapshot: Snapshot,
        library: str,
        contents: Mapping[str, str],
        new: Sequence[Document],
    ) -> VectorsOf | None:
        """Return the state of a library's vectors in a snapshot, None if the library has no embedder.

        Only the ``new`` documents have changed since the state ``before``. ``contents`` maps document ids to content
        ids.
        """
        serving, _ = snapshot.embedder(library)
        if serving is None:
            return None
        if before is None or before.embedder != serving:
            done = snapshot.embedded(serving.fingerprint)
            return cls(serving, {doc_id for doc_id, content_id in contents.items() if content_id not in done})
        several = len(new) > _ASKED_BY_ID
        done = snapshot.embedded(serving.fingerprint, None if several else [document.content_id for document in new])
        changed = {document.doc_id: document.content_id not in done for document in new}
        still_missing = {doc_id for doc_id in before.missing if doc_id in contents and doc_id not in changed}
        return cls(serving, still_missing | {doc_id for doc_id, lacking in changed.items() if lacking})

    def but(self, unindexed: Set[str]) -> VectorsOf:
        """Return this state with other ``unindexed`` documents, whose vectors the search index lacks."""
        return replace(self, unindexed=unindexed) if unindexed else self

    def to_json(self) -> dict[str, Any]:
        return {"embedder": asdict(self.embedder), "missing": sorted(self.missing)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> VectorsOf | None:
        return cls(StoredEmbedder(**data["embedder"]), frozenset(data["missing"])) if data else None


def model_places(settings: Settings) -> ModelPlaces:
    """Return the folder of local embedders, and whether embedders missing there may be downloaded."""
    from hybrid_core.embed.local_models import ModelPlaces

    folder = Path(settings.models_dir).expanduser() if settings.models_dir else None
    return ModelPlaces(folder, settings.model_downloads == "hub")


def _source(settings: Settings) -> tuple[str, str]:
    return settings.embedding_base_url, settings.embedding_api_key


def _reranking(settings: Settings) -> tuple[str, str, str, float]:
    return settings.rerank_model, settings.rerank_base_url, settings.rerank_api_key, settings.rerank_seconds


def _server_name(base_url: str) -> str:
    """Return the address of the configured embeddings server, in the form in which names of embedders contain it."""
    from hybrid_core.embed.openai_embeddings import DEFAULT_URL, ENDINGS
    from hybrid_core.llm.adapters.sdk import address

    return address(base_url or DEFAULT_URL, DEFAULT_URL, "embeddings server", ENDINGS).name


class Embedders:
    """The embedders and the reranking server of a process, loaded on first use. Safe for several threads."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._loaded: dict[str, Embedder] = {}
        self._rerank_server: RerankServer | None = None

    def use(self, settings: Settings) -> None:
        """Use these settings for embedders that are loaded after this call."""
        with self._lock:
            if _source(settings) != _source(self._settings):
                self._loaded.clear()
            if _reranking(settings) != _reranking(self._settings):
                self._rerank_server = None
            self._settings = settings

    def load(self, spec: str) -> Embedder:
        """Return the embedder for a name such as "bge-m3", "sentence-transformers:PATH" or "openai:MODEL@URL".

        Raise UsageError for an unknown kind of name, PageIndexError if an extra is missing, ModelError if the model
        cannot be loaded.
        """
        # Without this, idle threads of the local models' libraries spin, and a question takes ten times as long.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        from hybrid_core.embed.load import load_embedder
        from hybrid_core.llm.client.limiter import Limiter

        with self._lock:
            settings = self._settings
            if spec not in self._loaded:
                form, _, url = spec.partition("@http")
                base_url, api_key = _source(settings)
                if url and f"http{url}" != _server_name(base_url):  # the key is for another server
                    base_url, api_key = f"http{url}", ""
                self._loaded[spec] = load_embedder(
                    form,
                    api_key=api_key or None,
                    base_url=base_url or None,
                    device=settings.embedding_device or None,
                    limiter=Limiter(settings.max_concurrent_calls, settings.max_calls_per_minute),
                    places=model_places(settings),
                    threads=settings.embedding_threads,
                )
            return self._loaded[spec]

    def embedding(
        self,
        question: str,
        vectors_of: VectorsOf | None,
        searched: Mapping[str, Document],
        searched_pages: Callable[[], int],
    ) -> QuestionEmbedding:
        """Return the vector of a question, and its term weights if the embedder computes them.

        Without a vector, the note states the reason: no searched document has one, or the embedder failed.
        ``searched_pages`` returns the number of searched pages.
        """
        if vectors_of is None:
            return QuestionEmbedding()
        from hybrid_core.embed.embedder import SparseEmbedder

        serving = vectors_of.embedder
        unembedded = {doc_id for doc_id in vectors_of.missing | vectors_of.unindexed if doc_id in searched}
        covered, share = bool(searched), 1.0 if searched else 0.0
        if unembedded:
            pages = searched_pages()
            lacking = sum(searched[doc_id].pages for doc_id in unembedded)
            covered, share = pages > lacking, (pages - lacking) / pages if pages else 0.0
        note = NONE
        ranking = Note("search.partly-by-words") if covered else Note("search.by-words")
        if missing := unembedded - vectors_of.unindexed:
            note = Note("search.without-vectors", missing=len(missing), documents=len(searched), ranking=ranking)
        elif unembedded:
            note = Note("search.vectors-behind", documents=len(unembedded), ranking=ranking)
        if not covered:
            return QuestionEmbedding(share, None, note)
        try:
            embedder = self.load(serving.name)
            learned: Mapping[int, float] = {}
            if isinstance(embedder, SparseEmbedder):
                vectors, weights = embedder.embed_both([question], "query")
                learned = weights[0]
            else:
                vectors = embedder.embed([question], "query")
            if embedder.id.fingerprint != serving.fingerprint:
                raise ModelError(
                    f"The vectors of the library were computed by another version of the model '{serving.name}'.",
                    Advice("Embed the library again.", "Embed the library again: hybrid-pageindex embed."),
                )
            return QuestionEmbedding(share, vectors[0], note, learned, unembedded)
        except UsageError:
            raise
        except PageIndexError as error:
            return QuestionEmbedding(share, None, Note("search.embedder-failed", error=error.note))

    def comparison(self, question: str, vectors_of: VectorsOf | None, library: str) -> Comparison | None:
        """Return a function that scores texts against a question; higher is better.

        The setting ``rerank`` chooses it: None, a comparison of token vectors, or the reranking server. Raise
        UsageError if the library has no embedder or the server has no address. The function raises UsageError if the
        embedder makes no token vectors.
        """
        if self._settings.rerank == "none":
            return None
        if self._settings.rerank == "server":
            server = self._open_rerank_server()
            return lambda texts: server.scores(question, texts)
        if vectors_of is None:
            raise UsageError(
                f"The setting rerank needs vectors, but the library '{library}' has no embedder.", _EMBED_FIRST
            )
        name = vectors_of.embedder.name

        def compare(texts: Sequence[str]) -> NDArray[np.float32]:
            from hybrid_core.embed.embedder import MultiVectorEmbedder

            embedder = self.load(name)
            if not isinstance(embedder, MultiVectorEmbedder):
                raise UsageError(
                    f"The setting rerank needs token vectors, but {name} does not make them.", _EMBED_FIRST
                )
            return embedder.colbert_scores(question, texts)

        return compare

    def _open_rerank_server(self) -> RerankServer:
        from hybrid_core.embed.rerank_server import open_rerank_server
        from hybrid_core.llm.client.limiter import Limiter

        with self._lock:
            if self._rerank_server is None:
                limiter = Limiter(self._settings.max_concurrent_calls, self._settings.max_calls_per_minute)
                self._rerank_server = open_rerank_server(*_reranking(self._settings), limiter)
            return self._rerank_server

    def close(self) -> None:
        with self._lock:
            if self._rerank_server is not None:
                self._rerank_server.close()
            for embedder in self._loaded.values():
                embedder.close()
            self._loaded.clear()


_RUNS = {"onnx": ("onnxruntime", "tokenizers"), "sentence-transformers": ("sentence_transformers",),
         "bge-m3": ("FlagEmbedding",), "openai": ("openai",)}  # fmt: skip
"""The package that each form of embedders needs."""


def embedders(settings: Settings, serving: Collection[str]) -> str:
    """Load the configured embedder and the embedders ``serving`` that libraries use. Return a report as text.

    Raise PageIndexError if one cannot be loaded, UsageError if ``models_dir`` is not a folder.
    """
    folder = model_places(settings).folder
    if folder is not None and not folder.is_dir():
        raise UsageError(
            f"The setting models_dir names {folder}, which is not a folder.",
            "Create the folder, with one subfolder per model.",
        )
    names = sorted({*serving, *([settings.embedding_model] if settings.embedding_model else ())} - {"none"})
    with closing(Embedders(settings)) as loaded:
        for name in names:
            loaded.load(name)
    forms = [form for form, packages in _RUNS.items() if all(map(find_spec, packages))]
    runs = f"{', '.join(names)} can be loaded" if names else "none is configured (searches rank by words)"
    listed = f"{counted(len(models(folder)), 'model')} in {folder}: {', '.join(models(folder))}" if folder else ""
    return "; ".join(filter(None, (runs, f"installed: {', '.join(forms) or 'none'}", listed or _MODELS_DIR_ADVICE)))


def reranker(settings: Settings) -> str:
    """Let the reranking server score two texts. Return a report, "" if none is configured.

    Raise PageIndexError if it fails.
    """
    if settings.rerank != "server":
        return ""
    from hybrid_core.embed.rerank_server import open_rerank_server

    with closing(open_rerank_server(*_reranking(settings))) as server:
        began = time.perf_counter()
        right, wrong = server.scores("Where do penguins live?", ["Penguins live in Antarctica.", "Add two eggs."])
        seconds = time.perf_counter() - began
        if not right > wrong:
            raise ModelError(
                f"{server.name} does not prefer the right one of two texts ({right:.3g}, {wrong:.3g}).",
                "Set rerank_model to a reranking model.",
            )
        limit = settings.rerank_seconds
        return f"{server.name} scores two texts in {seconds:.2f} s (a search scores 20 pages, within {limit:g} s)"


_MODELS_DIR_ADVICE = "models_dir is not set: name a folder that has one subfolder per model, or give paths"


def models(folder: Path) -> list[str]:
    """Return the names of the models in a folder, including those in owner folders (owner/name)."""
    folders = [file.parent for file in (*folder.glob("*/config.json"), *folder.glob("*/*/config.json"))]
    return sorted(
        str(model_folder.relative_to(folder))
        for model_folder in folders
        if model_folder.parent not in folders and model_folder.name != "onnx"
    )
