"""How many tokens a text costs a model, without its tokeniser: on the safe side, so that a budget is kept."""

from __future__ import annotations

BYTES = 3  # per token; English prose has 4 to 5, tables of numbers about 3, Chinese 3 per character


def estimate(text: str) -> int:
    """Tokens, rather too many than too few."""
    return -(-len(text.encode("utf-8", "replace")) // BYTES)


def shares(lengths: list[int], budget: int) -> list[int]:
    """A budget divided among parts that want ``lengths``: what short ones leave goes to the long ones, evenly."""
    given = [0] * len(lengths)
    left, order = budget, sorted(range(len(lengths)), key=lambda at: lengths[at])
    for done, at in enumerate(order):
        given[at] = min(lengths[at], left // (len(order) - done))
        left -= given[at]
    return given


def cut(text: str, tokens: int) -> str:
    """The beginning of a text of at most so many tokens, "…" where something is left out."""
    if estimate(text) <= tokens:
        return text
    return text.encode("utf-8", "replace")[: max(0, tokens - 1) * BYTES].decode("utf-8", "ignore") + "…"
