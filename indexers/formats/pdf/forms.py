"""Words of a PDF's line as they are meant: raised and lowered ones marked, spaced letters closed up."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from indexers.formats.flow.scripts import Piece, linear, shifted
from indexers.formats.line_words import around

_SMALL = 0.85  # of the size of the line's letters, that words above and below it have at most
_RAISED, _LOWERED = 0.15, 0.08  # of that size, by which the foot of such words is higher or lower
_OFF_LETTERS = 0.28  # the same, where a capital letter follows another: less is a logo, as that of LaTeX
_LONGEST_MARK = 6  # characters of a raised piece that stands by itself
_NEAR = 0.25  # font sizes between it and what it belongs to
_DOUBTED = 2.0  # points: a size below which a font's letters are looked at
_WIDE = 1.5  # of its size, that a letter has at most on average
_ASIDE, _SPACE = 0.3, 0.17  # of the size: a step off the line, a gap between words
_WORD = re.compile(  # a word, a number or a sign by itself, as a text has them
    r"[\"'(\[“‘«]*(?:[^\W\d_]{2,}(?:[-'’/.][^\W\d_]+)*|[$€£#]?\d[\d.,/:%-]*(?:st|nd|rd|th)?|"
    r"[^\W\d]|[^\W\d_]_\w{1,3})[)\]\"'”’»%.,;:!?]*"
)
_MOST_TORN, _FEWEST = 0.5, 20  # share of what is no word in a text that is rubbish, and its tokens
_SLASHES = ("/", "⁄")
_SPACED = re.compile(r"(?:[^\W\d_] +){3,}[^\W\d_]")
_LETTERS = 5  # of a spaced word


def shift_words(spans: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> str:
    """Return the text of the spans of a level line; words that are small and off its foot are marked so."""
    main = max(zip(spans, texts, strict=True), key=lambda pair: (len(pair[1].strip()), pair[0]["size"]))[0]
    size, foot = main["size"], main["origin"][1]
    pieces: list[Piece] = []
    for span, text in zip(spans, texts, strict=True):
        above = foot - span["origin"][1] if span["size"] <= _SMALL * size else 0.0
        if text.isalpha() and text.isupper() and pieces and pieces[-1].text[-1:].isupper():
            above = above if abs(above) >= _OFF_LETTERS * size else 0.0
        shift = 1 if above >= _RAISED * size else -1 if above <= -_LOWERED * size else 0
        pieces.append(Piece(text, shift))
    if not any(piece.shift for piece in pieces):
        return "".join(texts)
    for at, (piece, after) in enumerate(pairwise(pieces)):
        if piece.shift == 1 and after.text.startswith(_SLASHES):  # «6 1/2» is a number
            pieces[at] = Piece(f" {piece.text}" if at and pieces[at - 1].text[-1:].isdigit() else piece.text)
        if after.shift == -1 and piece.text.rstrip().endswith(_SLASHES):
            pieces[at + 1] = Piece(after.text)
    return linear(pieces)


def raised_mark(text: str, size: float, gap: float, rise: float, before: str, size_before: float) -> str:
    """Return a piece beside a line as its raised mark; "" where it is none.

    ``gap`` and ``rise`` are the points by which it stands behind the line, and its foot above the line's.
    """
    if len(text) > _LONGEST_MARK or not size or size > _SMALL * size_before or not 0 < rise < size_before:
        return ""
    if gap > _NEAR * size_before or rise < _RAISED * size_before or not before[-1:].isalnum():
        return ""
    return shifted(text, 1, before)


def close_up(texts: Sequence[str]) -> str:
    """Return the words of spans whose letters stand apart: «S P A C E D» is «SPACED»; "" where they do not.

    A space that the file does not write, but its letters leave, is a span of its own.
    """
    if not _SPACED.fullmatch("".join(texts).strip()):
        return ""
    words = "".join(text for text in texts if text != " ")
    letters = words.replace(" ", "")
    ordered = all(ord(after) - ord(before) == 1 for before, after in pairwise(letters))
    return "" if len(letters) < _LETTERS or ordered else words


def mend_sizes(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the blocks of a page with the words of fonts whose size says nothing put together.

    Fonts whose glyphs are programs (Type 3), as TeX's bitmaps are, may be set at a size of a tenth of a point. Then
    their glyphs are torn apart: no gap between them is small against the size.
    """
    lines = [line for block in blocks for line in block.get("lines", ())]
    spans = [span for line in lines for span in line["spans"] if _is_understated(span)]
    if not spans:
        return blocks
    widths: dict[str, list[float]] = {}
    for span in spans:
        widths.setdefault(span["font"], []).append((span["bbox"][2] - span["bbox"][0]) / len(span["text"]))
    sizes = {font: 2 * sum(advances) / len(advances) for font, advances in widths.items()}  # a letter is half an em
    for span in spans:
        span["size"] = sizes[span["font"]]
    for block in blocks:
        if "lines" in block:
            block["lines"] = _joined(block["lines"], sizes)
    return blocks


def _is_understated(span: Mapping[str, Any]) -> bool:
    """Return whether the letters of a span are far wider than its size allows."""
    width = span["bbox"][2] - span["bbox"][0]
    return bool(span["text"].strip() and span["size"] < _DOUBTED and width > _WIDE * span["size"] * len(span["text"]))


def _joined(lines: list[dict[str, Any]], fonts: Mapping[str, float]) -> list[dict[str, Any]]:
    """Put lines of these fonts together that go on at the same height."""
    joined: list[dict[str, Any]] = []
    for line in lines:
        spans = line["spans"]
        last = joined[-1]["spans"][-1] if joined and joined[-1]["spans"] else None
        if last is None or not spans or spans[0]["font"] not in fonts or last["font"] not in fonts:
            joined.append(line)
            continue
        size = min(last["size"], spans[0]["size"])
        gap = spans[0]["bbox"][0] - last["bbox"][2]
        level = abs(last["origin"][1] - spans[0]["origin"][1]) < _ASIDE * size and line["dir"][0] > 0.99
        if not level or not -_ASIDE * size < gap < size:
            joined.append(line)
            continue
        if gap > _SPACE * size:
            last["text"] += " "
        joined[-1]["spans"] += spans
        joined[-1]["bbox"] = around([joined[-1]["bbox"], line["bbox"]])
    return joined


def is_rubbish(text: str) -> bool:
    """Return whether most of a text in Latin letters is no words and numbers, as bad text layers of scans are."""
    tokens = [token for token in text.split() if any(map(str.isalnum, token))]
    if len(tokens) < _FEWEST or sum(map(str.isascii, tokens)) < _MOST_TORN * len(tokens):
        return False
    torn = sum(_WORD.fullmatch(token) is None for token in tokens)
    return torn > _MOST_TORN * len(tokens)
