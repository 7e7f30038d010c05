"""Compute vectors, test the language and vision models, and report or estimate the usage of models."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid_core.errors import NotConfiguredError
from hybrid_core.types.requests import several
from hybrid_pageindex.engine.accounts import UsageReport
from hybrid_pageindex.engine.concurrency import ignore_progress, in_the_background, stoppable
from hybrid_pageindex.engine.context import SubEngine
from hybrid_pageindex.engine.index.indexing import embed_documents, export_embedder, request_embedding
from hybrid_pageindex.engine.index.reindexing import Estimate, estimate
from hybrid_pageindex.engine.models.models import Kind, Models

if TYPE_CHECKING:
    from hybrid_core.embed.embedder import Kind as TextKind
    from hybrid_core.embed.embedder import Vectors
    from hybrid_core.embed.onnx_model import ExportReport
    from indexers.jobs.embedding import EmbedProgress, EmbedReport


class ModelsEngine(SubEngine, subject="models"):
    """Embed libraries, test models, and report or estimate their usage."""

    async def embed(
        self,
        model: str | None = None,
        *,
        library: str | None = None,
        on_progress: Callable[[EmbedProgress], None] | None = None,
    ) -> EmbedReport | None:
        """Compute vectors for the documents of a library, or continue an interrupted computation.

        ``model`` is "bge-m3", "sentence-transformers:NAME_OR_PATH", "openai:MODEL", …. It defaults to the model of an
        unfinished computation, else the model in use, else the setting ``embedding_model``. "none" removes the vectors
        and returns None. The old vectors stay in use until all new ones are computed.
        """
        name = self._context.library(library)
        progress = on_progress or ignore_progress
        return await stoppable(
            lambda stop: embed_documents(self._context.parts, name, model, self._context.settings, progress, stop)
        )

    async def vectors(self, texts: Sequence[str], kind: TextKind = "document") -> Vectors:
        """Return the vectors of texts from the configured embedder, float32 of shape (texts, dimensions).

        ``kind`` says whether the texts are documents or questions, since some models embed these differently. Raise
        NotConfiguredError if ``embedding_model`` is not set.
        """
        model = self._context.settings.embedding_model
        if not model or model == "none":
            raise NotConfiguredError("No embedder is configured.", "Set embedding_model.")
        return await asyncio.to_thread(lambda: self._context.parts.embedders.load(model).embed(texts, kind))

    async def export_embedder(self, folder: str | Path, model: str | None = None) -> ExportReport:
        """Export a PyTorch model in int8 for use as "onnx:FOLDER", and return a report.

        The exported model is several times faster on a CPU and needs no PyTorch. ``model`` is "bge-m3…" or
        "sentence-transformers:…", by default the setting ``embedding_model``.
        """
        return await asyncio.to_thread(
            export_embedder, self._context.parts, Path(folder), model or self._context.settings.embedding_model
        )

    async def request_embedding(self, model: str | None = None, *, library: str | None = None) -> int:
        """Queue the computation of a library's vectors for workers, and return the job's number.

        ``model`` is as in ``embed``. Raise UsageError if neither the call nor the settings or library name a model.
        """
        name = self._context.library(library)
        return await asyncio.to_thread(
            lambda: request_embedding(self._context.parts, name, model, self._context.settings)
        )

    async def test(self, kind: Kind) -> str:
        """Make one cheap call to the language or vision model. Return a report, "" if none is configured.

        Raise ChatError if the model does not work.
        """
        return await in_the_background(
            lambda: Models(self._context.settings, None, lambda: self._context.parts.spending).check(kind)
        )

    async def usage(self, first: str = "", last: str = "") -> UsageReport:
        """Return the usage of models by day, model, library and caller, and this month's totals and limits.

        ``first`` and ``last`` are days (YYYY-MM-DD); the default is this month. Raise UsageError for an invalid date.
        """
        return await asyncio.to_thread(lambda: self._context.parts.spending.report(first, last))

    async def estimate(self, documents: Sequence[str] | str = (), *, library: str | None = None) -> Estimate:
        """Estimate the model calls and costs of improving documents of a library. Without names, take all its
        documents.

        No model is called. Documents whose file has changed are indexed first. Raise NotFoundError for an unknown name.
        """
        name, listed = self._context.library(library), several(documents)
        return await stoppable(lambda stop: estimate(self._context.parts, self._context.settings, name, listed, stop))
