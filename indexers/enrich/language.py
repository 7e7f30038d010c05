"""The language whose prompts suit a document."""

from __future__ import annotations

from collections.abc import Sequence

_HAN_SAMPLE, _HAN_SHARE = 20_000, 0.3


def language_of(texts: Sequence[str]) -> str:
    """ "zh" where much of it is Chinese, else ""."""
    sample = "".join(texts)[:_HAN_SAMPLE]
    letters = sum(map(str.isalpha, sample))
    kana = sum("\u3040" <= c <= "\u30ff" for c in sample)  # Japanese is written with Han characters too
    han = sum("\u4e00" <= c <= "\u9fff" for c in sample)
    return "zh" if han > _HAN_SHARE * max(1, letters) and kana < 0.05 * han else ""
