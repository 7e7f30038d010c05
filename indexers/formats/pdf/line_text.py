"""The text of a line in a PDF: presentation forms, superscripts, spaced letters, right-to-left scripts.

PDF stores glyphs in the producer's order, so a line with right-to-left words is sorted by the positions of its glyphs.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from indexers.formats.flow.linear import Piece, linear, shifted
from indexers.formats.word_boxes import around

_UNKNOWN = "\ufffd"
_FORMS = re.compile(
    "["
    "\u2e80-\u2fdf"  # CJK and Kangxi radicals, which some producers store in place of similar characters
    "\ufb05\ufb06\ufb13-\ufb17"  # Latin and Armenian ligatures
    "\ufb1d-\ufb28\ufb2a-\ufdff\ufe70-\ufefc"  # Hebrew and Arabic presentation forms
    "]+"
)
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_SOUP = 0.25  # share of control characters above which a line is unreadable


def fold_forms(text: str) -> str:
    """Return presentation forms, ligatures and radicals as base letters (NFKC of these characters only)."""
    return _FORMS.sub(lambda found: unicodedata.normalize("NFKC", found.group()), text)


def keep_unknown(text: str) -> str:
    """Replace control characters by U+FFFD in a line with many of them, since they stand for unknown glyphs.

    A single control character stays, and is removed by later cleaning.
    """
    controls = len(_CONTROLS.findall(text))
    if controls > 1 and controls > _SOUP * len(text):
        return _CONTROLS.sub(_UNKNOWN, text)
    return text


_SMALL = 0.85  # maximum relative size of superscripts and subscripts
_RAISED, _LOWERED = 0.15, 0.08  # minimum relative height and depth of their baseline
_OFF_LETTERS = 0.28  # the same between capital letters: a smaller value is a logo, such as that of LaTeX
_LONGEST_MARK = 6  # maximum characters of a separate superscript
_NEAR = 0.25  # maximum distance from its base, in font sizes
_DOUBTED = 2.0  # points: a font of a smaller size is examined
_WIDE = 1.5  # maximum average width of a letter, relative to its size
_ASIDE, _SPACE = 0.3, 0.17  # relative to the size: a step off the line, a gap between words
_WORD = re.compile(  # a word, a number or a single sign of normal text
    r"[\"'(\[“‘«]*(?:[^\W\d_]{2,}(?:[-'’/.][^\W\d_]+)*|[$€£#]?\d[\d.,/:%-]*(?:st|nd|rd|th)?|"
    r"[^\W\d]|[^\W\d_]_\w{1,3})[)\]\"'”’»%.,;:!?]*"
)
_MOST_TORN, _FEWEST = 0.5, 20  # share of non-words in an unreadable text, and its minimum of tokens
_SLASHES = ("/", "⁄")
Glyph = tuple[float, float, str]  # left edge, right edge, character
_SPACED = re.compile(r"(?:[^\W\d_] +){3,}[^\W\d_]")
_LETTERS = 5  # minimum letters of a spaced word


def shift_words(spans: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> str:
    """Return the text of the spans of a horizontal line, with superscripts and subscripts marked."""
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
        if piece.shift == 1 and after.text.startswith(_SLASHES):  # "6 1/2" is a number
            pieces[at] = Piece(f" {piece.text}" if at and pieces[at - 1].text[-1:].isdigit() else piece.text)
        if after.shift == -1 and piece.text.rstrip().endswith(_SLASHES):
            pieces[at + 1] = Piece(after.text)
    return linear(pieces)


def raised_mark(text: str, size: float, gap: float, rise: float, before: str, size_before: float) -> str:
    """Return a piece of text as a superscript of the line before it, "" if it is not a superscript.

    ``gap`` is its distance from the line, ``rise`` the height of its baseline above the line's, both in points.
    """
    if len(text) > _LONGEST_MARK or not size or size > _SMALL * size_before or not 0 < rise < size_before:
        return ""
    if gap > _NEAR * size_before or rise < _RAISED * size_before or not before[-1:].isalnum():
        return ""
    return shifted(text, 1, before)


def close_up(texts: Sequence[str]) -> str:
    """Return a line with spaced letters as normal words: "S P A C E D" gives "SPACED". Return "" for other lines.

    ``texts`` are the line's spans. A wide gap between words is a span that is only a space.
    """
    if not _SPACED.fullmatch("".join(texts).strip()):
        return ""
    words = "".join(text for text in texts if text != " ")
    letters = words.replace(" ", "")
    ordered = all(ord(after) - ord(before) == 1 for before, after in pairwise(letters))
    return "" if len(letters) < _LETTERS or ordered else words


_LEAST_SPACED, _SINGLE = 5, 0.7  # minimum tokens of a spaced line, and minimum share of single letters
# relative to the size: maximum gap between letters, minimum additional gap between words
_WIDEST_LETTER_GAP, _WORD_STEP = 0.6, 0.15


def is_spaced(text: str) -> bool:
    """Return whether a line may have spaced letters, so that its spaces do not separate words."""
    tokens = text.split()
    return len(tokens) >= _LEAST_SPACED and sum(len(t) == 1 and t.isalpha() for t in tokens) >= _SINGLE * len(tokens)


def read_spaced(glyphs: Sequence[Glyph], size: float) -> str:
    """Return the words of a horizontal line with spaced letters, separated at wide gaps; "" for other lines."""
    letters = [glyph for glyph in glyphs if not glyph[2].isspace()]
    gaps = [after[0] - before[1] for before, after in pairwise(letters)]
    if len(gaps) < _LETTERS - 1:
        return ""
    usual = sorted(gaps)[len(gaps) // 2]
    if not 0 < usual <= _WIDEST_LETTER_GAP * size:
        return ""
    text = letters[0][2]
    for gap, (_, _, letter) in zip(gaps, letters[1:], strict=True):
        text += f" {letter}" if gap > usual + max(usual, _WORD_STEP * size) else letter
    plain = text.replace(" ", "")
    ordered = all(ord(after) - ord(before) == 1 for before, after in pairwise(plain))
    return "" if ordered or max(map(len, text.split())) < _LETTERS - 1 else text


_CODES = dict(zip("345678Hlnouq", "✓✔✕✖✗✘★●■❏◆❑", strict=True))  # character codes of Zapf Dingbats
# glyph names of Zapf Dingbats, such as "a19"
_NAMES = dict(zip((19, 20, 21, 22, 23, 24, 35, 71, 73, 74, 75, 76, 77, 78), "✓✔✕✖✗✘★●■❏❑▲▼◆", strict=True))


def dingbats(text: str) -> str:
    """Return a text with the symbols of the font Zapf Dingbats.

    MuPDF returns codes for them, or the numbers in glyph names.
    """
    return "".join(_CODES.get(sign) or _NAMES.get(ord(sign)) or sign for sign in text)


def mend_sizes(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the blocks of a page, with words joined whose fonts state a wrong size.

    Type 3 fonts, such as TeX's bitmap fonts, may be set at a size of a tenth of a point. Every gap is large in relation
    to this size, so MuPDF separates their glyphs.
    """
    lines = [line for block in blocks for line in block.get("lines", ())]
    spans = [span for line in lines for span in line["spans"] if _is_understated(span)]
    if not spans:
        return blocks
    widths: dict[str, list[float]] = {}
    for span in spans:
        widths.setdefault(span["font"], []).append((span["bbox"][2] - span["bbox"][0]) / len(span["text"]))
    # assumes that an average letter is half an em wide
    sizes = {font: 2 * sum(advances) / len(advances) for font, advances in widths.items()}
    for span in spans:
        span["size"] = sizes[span["font"]]
    for block in blocks:
        if "lines" in block:
            block["lines"] = _join_lines(block["lines"], sizes)
    return blocks


def _is_understated(span: Mapping[str, Any]) -> bool:
    """Return whether the letters of a span are far wider than its size allows."""
    width = span["bbox"][2] - span["bbox"][0]
    return bool(span["text"].strip() and span["size"] < _DOUBTED and width > _WIDE * span["size"] * len(span["text"]))


def _join_lines(lines: list[dict[str, Any]], fonts: Mapping[str, float]) -> list[dict[str, Any]]:
    """Join lines that continue at the same height, if they are set in fonts with a wrong size (``fonts``)."""
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
    """Return whether most tokens of a Latin text are not words or numbers, as in bad text layers of scans."""
    tokens = [token for token in text.split() if any(map(str.isalnum, token))]
    if len(tokens) < _FEWEST or sum(map(str.isascii, tokens)) < _MOST_TORN * len(tokens):
        return False
    torn = sum(_WORD.fullmatch(token) is None for token in tokens)
    return torn > _MOST_TORN * len(tokens)


_RTL = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
RIGHT_TO_LEFT = re.compile(f"[{_RTL}]")
_STRONG_RTL = re.compile(f"(?![\u0660-\u0669\u06f0-\u06f9\u066b\u066c])[{_RTL}]")
_STRONG_LTR = re.compile(f"(?![{_RTL}])[^\\W\\d_]")
_LEFT_TO_RIGHT_RUN = re.compile(
    f"(?:(?![{_RTL}])[^\\W_]|[\u0660-\u0669\u06f0-\u06f9])"  # a letter or digit …
    f"(?:[^{_RTL}]*(?:(?![{_RTL}])[^\\W_]|[\u0660-\u0669\u06f0-\u06f9])|[%\u066a])*"  # … to the last one before RTL
)
_NUMBER_RUN = re.compile(
    "[+-]?[\\d\u0660-\u0669\u06f0-\u06f9](?:[.,:/\u066b\u066c-]?[\\d\u0660-\u0669\u06f0-\u06f9])*[%\u066a]?"
)
_MIRROR = str.maketrans("()[]{}<>«»‹›", ")(][}{><»«›‹")

_THIN, _TOUCH = 0.01, 0.5  # points
_GAP = 0.2  # minimum gap in font sizes that counts as a space if the file has none


def is_right_to_left(text: str) -> bool:
    """Return whether most letters of a text are in a right-to-left script."""
    return len(_STRONG_RTL.findall(text)) > len(_STRONG_LTR.findall(text))


def read_line(glyphs: Iterable[Glyph], size: float, from_right: bool) -> str:
    """Return the text of one horizontal line from its glyphs in any order.

    ``size`` is the font size in points. With ``from_right`` the line is read from right to left, even if most of its
    letters are Latin.
    """
    visual = _visual(list(glyphs), _GAP * size)
    if from_right or is_right_to_left("".join(visual)):
        turned = "".join(reversed(visual))
        return _faced(_LEFT_TO_RIGHT_RUN.sub(lambda run: _unturned(run.group()), turned))
    return _with_turned_phrases(visual)


def _visual(glyphs: Sequence[Glyph], gap: float) -> list[str]:
    """Return clusters of characters from left to right: a letter with its marks and with other letters of its glyph.

    For a glyph with several letters, MuPDF gives its width to the first one; the others have no width and are at its
    right edge.
    """
    letters = sorted(
        ((x0 + x1) / 2, x0, x1, index)
        for index, (x0, x1, char) in enumerate(glyphs)
        if x1 - x0 > _THIN and not unicodedata.combining(char)
    )
    if not letters:
        return [char for _, _, char in glyphs]
    clusters = [[glyphs[index][2]] for *_, index in letters]
    middles = [middle for middle, *_ in letters]
    for index, (x0, x1, char) in enumerate(glyphs):
        mark = bool(unicodedata.combining(char))
        if x1 - x0 > _THIN and not mark:
            continue
        at = bisect_left(middles, (x0 + x1) / 2)
        near = range(max(0, at - 2), min(len(letters), at + 2))
        if mark:
            middle = (x0 + x1) / 2
            inside = [max(letters[i][1] - middle, middle - letters[i][2], 0.0) for i in near]
            touched = [i for i, distance in zip(near, inside, strict=True) if distance <= min(inside) + _TOUCH]
            home = min(touched, key=lambda i: (abs(index - letters[i][3]), letters[i][3] > index))
        else:
            home = min(near, key=lambda i: abs(letters[i][2] - x0))
        if not mark and index < letters[home][3]:
            clusters[home].insert(1, char)  # MuPDF has reversed the letters of this glyph
        else:
            clusters[home].append(char)
    for at in range(len(letters) - 1, 0, -1):
        if letters[at][1] - letters[at - 1][2] > gap:
            clusters.insert(at, [" "])
    return ["".join(cluster) for cluster in clusters]


def _with_turned_phrases(visual: Sequence[str]) -> str:
    """Return a left-to-right line with its right-to-left words reversed."""
    out: list[str] = []
    run: list[str] = []
    for cluster in visual:
        if RIGHT_TO_LEFT.match(cluster) or (run and not cluster.strip()):
            run.append(cluster)
        else:
            out += _turned_run(run)
            run = []
            out.append(cluster)
    return "".join(out + _turned_run(run))


def _turned_run(run: list[str]) -> list[str]:
    end = len(run)
    while end and not run[end - 1].strip():
        end -= 1
    return run[end - 1 :: -1] + run[end:] if end else run


def _unturned(run: str) -> str:
    """Reverse the left-to-right parts of a reversed line again: a whole phrase, or single numbers."""
    if _STRONG_LTR.search(run):
        return run[::-1]
    return _NUMBER_RUN.sub(lambda number: number.group()[::-1], run)


def _faced(text: str) -> str:
    """Mirror the brackets of a line if more of them match then.

    Some right-to-left fonts name a bracket by its shape, others by its meaning.
    """
    mirrored = text.translate(_MIRROR)
    return mirrored if _strays(mirrored) < _strays(text) else text


def _strays(text: str) -> int:
    """Return the number of unmatched brackets."""
    depth = stray = 0
    for char in text:
        if char in "([{":
            depth += 1
        elif char in ")]}":
            stray += depth == 0
            depth = max(0, depth - 1)
    return stray + depth
