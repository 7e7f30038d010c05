"""The usage of model calls, which can be summed per document and per question."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Usage:
    """Sums of calls. ``a + b`` adds them, ``sum(usages, Usage())`` adds many.

    ``calls`` were answered by the endpoint (repair turns count), ``cached`` by the reply cache, which costs nothing.
    ``cost`` is in the currency of the price table, 0 for a model without a price. ``seconds`` is waiting for
    the endpoint, also where it was in vain; the sum of calls side by side exceeds the time on the clock.
    """

    calls: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Usage)))


@dataclass(frozen=True, slots=True)
class ModelUse:
    """Usage of one model on one day (of UTC, YYYY-MM-DD) for one library and caller.

    ``library`` is an id, "" for none or several; ``who`` a caller's name, "" for who works at the machine. ``unpriced``
    are those of the tokens whose price was not known.
    """

    day: str
    model: str
    library: str
    who: str
    calls: int
    input_tokens: int
    output_tokens: int
    unpriced: int
    cost: float
    seconds: float
