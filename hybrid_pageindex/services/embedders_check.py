"""``doctor``: whether the embedders that are named can be had, which there are, and how one is brought here."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

from hybrid_core.errors import UsageError
from hybrid_core.text.plural import counted
from hybrid_pageindex.config.settings import Settings
from hybrid_pageindex.services.embedding import Embedders, model_places

_RUNS = {"onnx": ("onnxruntime", "tokenizers"), "sentence-transformers": ("sentence_transformers",),
         "bge-m3": ("FlagEmbedding",), "openai": ("openai",)}  # fmt: skip
"""What each form of embedders needs."""


def embedders(settings: Settings, serving: Collection[str]) -> str:
    """``serving`` are the embedders of libraries; each, and the setting's, is loaded.

    Raises PageIndexError for one that cannot be, and UsageError where ``models_dir`` is no folder.
    """
    folder = model_places(settings).folder
    if folder is not None and not folder.is_dir():
        raise UsageError(f"models_dir is {folder}, which is no folder.", "Make it, and put one folder a model in it.")
    wanted = sorted({*serving, *([settings.embedding_model] if settings.embedding_model else ())} - {"none"})
    with closing(Embedders(settings)) as loaded:
        for name in wanted:
            loaded.load(name)
    forms = [form for form, packages in _RUNS.items() if all(map(find_spec, packages))]
    runs = f"{', '.join(wanted)} can be loaded" if wanted else "none is named (searches go by words)"
    here = f"{counted(len(models(folder)), 'model')} in {folder}: {', '.join(models(folder))}" if folder else ""
    return "; ".join(filter(None, (runs, f"installed: {', '.join(forms) or 'none'}", here or _BRING)))


_BRING = "models_dir is not set: name a folder that holds a folder a model, or give paths"


def models(folder: Path) -> list[str]:
    """The names of the models in a folder, those of owners (owner/name) too."""
    found = [file.parent for file in (*folder.glob("*/config.json"), *folder.glob("*/*/config.json"))]
    return sorted(str(one.relative_to(folder)) for one in found if one.parent not in found and one.name != "onnx")
