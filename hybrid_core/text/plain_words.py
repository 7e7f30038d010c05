"""A text as its words alone, so that phrases can be looked for in it."""

from __future__ import annotations

import re

from hybrid_core.text.tokens import fold

_WORD = re.compile(r"[^\W_]+")


def plain_words(text: str) -> str:
    """The words in small letters, with a space between, before and behind them."""
    return f" {' '.join(_WORD.findall(fold(text)))} "
