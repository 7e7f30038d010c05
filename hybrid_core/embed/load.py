"""An embedder is chosen by a line of text; its library is imported then."""

from __future__ import annotations

import difflib

from hybrid_core.embed.embedder import Embedder
from hybrid_core.embed.local_models import ModelPlaces, find_model
from hybrid_core.errors import UsageError
from hybrid_core.llm.client.limiter import Limiter

FORMS = (
    "none", "onnx:NAME_OR_PATH", "bge-m3", "bge-m3:PATH", "sentence-transformers:NAME_OR_PATH", "openai:MODEL",
    "hashed:DIM", "hashed-m3:DIM",
)  # fmt: skip


def load_embedder(
    spec: str,
    *,
    api_key: str | None = None,
    base_url: str | None = None,
    batch_size: int | None = None,
    device: str | None = None,
    timeout: float = 60,
    limiter: Limiter | None = None,
    places: ModelPlaces = ModelPlaces(),
    threads: int = 0,
) -> Embedder:
    """The embedder that ``spec`` names, one of ``FORMS``; "st:" is short for "sentence-transformers:".

    ``api_key``, ``base_url``, ``timeout`` (seconds per request) and ``limiter`` (default: 8 requests at once) are used
    by "openai:", ``device`` ("cpu", "cuda", …; default: the best there is) by the models that PyTorch runs, ``threads``
    (0: one a core) by exported ones; ``places`` is where local models are looked for. Raises UsageError for an unknown
    form, PageIndexError naming the extra to install, and ModelError where the model cannot be loaded.
    """
    if batch_size is not None and batch_size < 1:
        raise UsageError(f"batch_size is {batch_size}.", "It must be at least 1.")
    kind, colon, rest = (part.strip() for part in spec.strip().partition(":"))
    kind = {"st": "sentence-transformers"}.get(kind.lower(), kind.lower())
    if kind == "onnx" and rest:
        from hybrid_core.embed.onnx_model import open_onnx

        return open_onnx(find_model("onnx", rest, places), threads=threads)
    if kind == "bge-m3" and (rest or not colon):
        from hybrid_core.embed.bge_m3 import BgeM3Embedder

        return BgeM3Embedder(rest or BgeM3Embedder.PUBLISHED, batch_size=batch_size, device=device, places=places)
    if kind == "sentence-transformers" and rest:
        from hybrid_core.embed.sentence_transformer import SentenceTransformerEmbedder

        return SentenceTransformerEmbedder(rest, batch_size=batch_size, device=device, places=places)
    if kind == "openai" and rest:
        from hybrid_core.embed.openai_embeddings import OpenAIEmbedder

        return OpenAIEmbedder(
            rest, api_key=api_key, base_url=base_url, batch_size=batch_size, timeout=timeout, limiter=limiter
        )
    if kind in ("hashed", "hashed-m3") and rest.isdecimal():
        from hybrid_core.embed.hashed import HashedEmbedder, HashedM3Embedder

        return HashedEmbedder(int(rest)) if kind == "hashed" else HashedM3Embedder(int(rest))
    raise _unknown(spec.strip(), kind)


def _unknown(spec: str, kind: str) -> UsageError:
    known = f"Known forms: {', '.join(FORMS)}."
    if spec == "none":
        return UsageError("'none' stands for no embedder, so there is nothing to load.", known)
    forms = {form.partition(":")[0]: form for form in FORMS}  # the longer form of a name wins
    near = difflib.get_close_matches(kind, forms, n=1, cutoff=0.5)
    nearest = forms[near[0]] if near else f"sentence-transformers:{spec}" if "/" in spec else ""
    hint = f"Did you mean {nearest}? " if nearest else ""
    return UsageError(f"'{spec}' names no embedder.", hint + known)
