"""Raised, lowered and struck-out words as plain text: «10^6», «H₂O», «1984^3», «~~void~~»."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

_ORDINALS = frozenset("st nd rd th er re ère e è o a º ª os as ter bis tm sm ® ™ © mo ma".split())
_SIMPLE = re.compile(r"[+\-−–]?[\w.,]+|\W")
_DIGITS = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")
_LOWERED = re.compile(r"[0-9+\-−=()]+")


class Piece(NamedTuple):
    """``shift``: 1 above the line, -1 below it, 0 on it."""

    text: str
    shift: int = 0
    struck: bool = False


def linear(pieces: Iterable[Piece]) -> str:
    """Return pieces of a line in a row, so that none above or below the line reads as part of what stands before."""
    text = ""
    for struck, group in groupby((piece for piece in pieces if piece.text), key=lambda piece: piece.struck):
        line = ""
        for shift, run in groupby(group, key=lambda piece: piece.shift):
            words = "".join(piece.text for piece in run)
            line += shifted(words, shift, text + line) if shift else words
        text += _struck(line) if struck else line
    return text


def shifted(words: str, shift: int, before: str) -> str:
    """Return words above or below the line (1, -1) as they are typed after the words before them."""
    core = words.strip()
    if not core:
        return words
    lead, tail = words[: len(words) - len(words.lstrip())], words[len(words.rstrip()) :]
    if shift < 0 and _LOWERED.fullmatch(core) and before[-1:].isalpha():
        return f"{lead}{core.translate(_DIGITS)}{tail}"
    if shift > 0 and core.lower() in _ORDINALS and (before[-1:].isdigit() or not core.isascii() or len(core) > 1):
        return words
    if core[0] in "[(" or (not lead and not before.strip()) or before[-1:].isspace():
        return words
    return f"{lead}{'^' if shift > 0 else '_'}{core if _SIMPLE.fullmatch(core) else f'({core})'}{tail}"


def _struck(line: str) -> str:
    core = line.strip()
    return line.replace(core, f"~~{core}~~", 1) if core else line
