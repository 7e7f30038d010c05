"""What tokens cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from hybrid_core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Price:
    """Per million tokens, in whatever currency the table is kept."""

    input: float = 0.0
    output: float = 0.0

    def cost(self, input_tokens: int, output_tokens: int) -> float:
        return (input_tokens * self.input + output_tokens * self.output) / 1e6


def read_prices(table: str) -> Mapping[str, Price]:
    """The prices in "gpt-4o=2.50/10, qwen2.5-vl=0/0": model, input, output. Raises UsageError for anything else."""
    prices = {}
    for entry in filter(None, (part.strip() for part in table.split(","))):
        model, _, numbers = entry.rpartition("=")
        try:
            given = [float(number) for number in numbers.split("/")]
        except ValueError:
            given = []
        if not model.strip() or len(given) != 2 or not all(math.isfinite(n) and n >= 0 for n in given):
            raise UsageError(
                f"model_prices holds '{entry}'.", "An entry looks like gpt-4o=2.50/10, per million tokens."
            )
        prices[model.strip()] = Price(*given)
    return prices
