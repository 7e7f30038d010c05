"""Arabic, Hebrew and their kin: a painted line becomes the text it says, in the order it is read.

PDF paints glyphs at places; the order they are stored in is the producer's business. So a line with
right-to-left letters is read from where its glyphs stand: left to right, then turned round as Unicode's
bidirectional algorithm (UAX #9) would have it, numbers and Latin words kept as they are.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Sequence

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
_GAP = 0.2  # font sizes between glyphs that make a space where the file has none

Glyph = tuple[float, float, str]  # left edge, right edge, character


def is_right_to_left(text: str) -> bool:
    """Whether most letters of a text are of such a script."""
    return len(_STRONG_RTL.findall(text)) > len(_STRONG_LTR.findall(text))


def read_line(glyphs: Iterable[Glyph], size: float, from_right: bool) -> str:
    """The text of one level line from its glyphs, in whatever order they are given.

    ``size`` is that of the font in points. ``from_right``: its page is read from the right, and so is it
    even where most of its own letters are Latin.
    """
    visual = _visual(list(glyphs), _GAP * size)
    if from_right or is_right_to_left("".join(visual)):
        turned = "".join(reversed(visual))
        return _faced(_LEFT_TO_RIGHT_RUN.sub(lambda run: _unturned(run.group()), turned))
    return _with_turned_phrases(visual)


def _visual(glyphs: Sequence[Glyph], gap: float) -> list[str]:
    """Clusters from left to right: a letter with its marks and with the other letters of the same glyph.

    Where a glyph stands for several letters MuPDF gives the first one its width and the rest none, at its right edge.
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
            clusters[home].insert(1, char)  # MuPDF has turned the letters of this glyph round
        else:
            clusters[home].append(char)
    for at in range(len(letters) - 1, 0, -1):
        if letters[at][1] - letters[at - 1][2] > gap:
            clusters.insert(at, [" "])
    return ["".join(cluster) for cluster in clusters]


def _with_turned_phrases(visual: Sequence[str]) -> str:
    """A line from the left with some words that are not."""
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
    """What is read from the left inside a turned line: a phrase as a whole, numbers in a row each for itself."""
    if _STRONG_LTR.search(run):
        return run[::-1]
    return _NUMBER_RUN.sub(lambda number: number.group()[::-1], run)


def _faced(text: str) -> str:
    """Brackets the way they are read: some fonts name a bracket by its shape, others by its meaning."""
    mirrored = text.translate(_MIRROR)
    return mirrored if _strays(mirrored) < _strays(text) else text


def _strays(text: str) -> int:
    """Closing brackets before anything was opened, and opening ones never closed."""
    depth = stray = 0
    for char in text:
        if char in "([{":
            depth += 1
        elif char in ")]}":
            stray += depth == 0
            depth = max(0, depth - 1)
    return stray + depth
