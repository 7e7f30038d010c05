"""The usage of model calls, which can be summed per document and per question."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class Usage:
    """The sum of several model calls. Add two with ``a + b`` and many with ``sum(usages, Usage())``.

    ``calls`` counts replies of the endpoint, including repair turns. ``cached`` counts replies from the reply cache,
    which cost nothing. ``cost`` is in the currency of the price table, 0 for a model without a price. ``seconds`` is
    the time spent waiting for the endpoint, including failed calls. For concurrent calls the sum exceeds the elapsed
    time.
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
    """The usage of one model on one day (UTC, YYYY-MM-DD) for one library and one caller.

    ``library`` is an id, "" for none or several. ``who`` is a caller's name, "" for the local user. ``unpriced`` is the
    number of tokens whose price is unknown.
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
