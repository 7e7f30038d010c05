"""What embedders whose models PyTorch runs give to an export."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Exportable:
    """A loaded model as an export needs it. ``forward`` takes PyTorch's tensors by the tokenizer's names and gives
    ``outputs`` in their order; ``limit`` is in tokens.
    """

    forward: Callable[[dict[str, Any]], tuple[Any, ...]]
    module: Any  # whose weights ``forward`` uses
    outputs: tuple[str, ...]
    tokenizer: Any
    config: Any
    limit: int
    prompts: Mapping[str, str]


@runtime_checkable
class Exporting(Protocol):
    """An embedder whose model PyTorch runs here."""

    def exportable(self) -> Exportable: ...
