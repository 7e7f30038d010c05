"""Loading of an embedder by a name such as "onnx:NAME". The library of its model is imported only then."""

from __future__ import annotations

import difflib

from hybrid_core.embed.embedder import Embedder
from hybrid_core.embed.hashed import HashedEmbedder, HashedM3Embedder
from hybrid_core.embed.local_models import ModelPlaces, find_model
from hybrid_core.embed.onnx_model import open_onnx
from hybrid_core.embed.openai_embeddings import OpenAIEmbedder
from hybrid_core.embed.pytorch import BgeM3Embedder, SentenceTransformerEmbedder
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
    limiter: Limiter | None = None,
    places: ModelPlaces = ModelPlaces(),
    threads: int = 0,
) -> Embedder:
    """Load the embedder that ``spec`` names, one of ``FORMS``; "st:" is short for "sentence-transformers:".

    "openai:" uses ``api_key``, ``base_url`` and ``limiter`` (default: 8 requests at once). Models in PyTorch use
    ``device`` ("cpu", "cuda", …; default: the best available), exported models use ``threads`` (0: one per core).
    ``places`` are the folders of local models. Raise UsageError for an unknown form, PageIndexError naming the extra
    to install, and ModelError if the model cannot be loaded.
    """
    if batch_size is not None and batch_size < 1:
        raise UsageError(
            f"The parameter batch_size of the embedder is {batch_size}.", "Set batch_size to at least 1 text."
        )
    kind, colon, rest = (part.strip() for part in spec.strip().partition(":"))
    kind = {"st": "sentence-transformers"}.get(kind.lower(), kind.lower())
    if kind == "onnx" and rest:
        return open_onnx(find_model("onnx", rest, places), threads=threads)
    if kind == "bge-m3" and (rest or not colon):
        return BgeM3Embedder(rest or BgeM3Embedder.PUBLISHED, batch_size=batch_size, device=device, places=places)
    if kind == "sentence-transformers" and rest:
        return SentenceTransformerEmbedder(rest, batch_size=batch_size, device=device, places=places)
    if kind == "openai" and rest:
        return OpenAIEmbedder(rest, api_key=api_key, base_url=base_url, batch_size=batch_size, limiter=limiter)
    if kind in ("hashed", "hashed-m3") and rest.isdecimal():
        return HashedEmbedder(int(rest)) if kind == "hashed" else HashedM3Embedder(int(rest))
    raise _unknown(spec.strip(), kind)


def _unknown(spec: str, kind: str) -> UsageError:
    known_forms = f"The names of embedders have these forms: {', '.join(FORMS)}."
    if spec == "none":
        return UsageError("'none' means no embedder, so no model can be loaded.", known_forms)
    forms = {form.partition(":")[0]: form for form in FORMS}  # the longer form of a name takes precedence
    near = difflib.get_close_matches(kind, forms, n=1, cutoff=0.5)
    nearest = forms[near[0]] if near else f"sentence-transformers:{spec}" if "/" in spec else ""
    hint = f"Did you mean {nearest}? " if nearest else ""
    return UsageError(f"'{spec}' is not the name of an embedder.", hint + known_forms)
