"""Arabic, Hebrew and their kin: a painted line becomes the text it says, in the order it is read.

PDF paints glyphs at places; the order they are stored in is the producer's business. So a line with
right-to-left letters is read from where its glyphs stand: left to right, then turned round as Unicode's
bidirectional algorithm (UAX #9) would have it, numbers and Latin words kept as they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

_RTL = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"
RIGHT_TO_LEFT = re.compile(f"[{_RTL}]")
_STRONG_RTL = re.compile(f"(?![\u0660-\u0669\u06f0-\u06f9\u066b\u066c])[{_RTL}]")
_STRONG_LTR = re.compile(f"(?![{_RTL}])[^\\W\\d_]")
_LEFT_TO_RIGHT_RUN = re.compile(
    f"(?:(?![{_RTL}])[^\\W_]|[\u0660-\u0669\u06f0-\u06f9])"  # a letter or digit …
    f"(?:[^{_RTL}]*(?:(?![{_RTL}])[^\\W_]|[\u0660-\u0669\u06f0-\u06f9])|[%\u066a])*"  # … to the last one before RTL
)
_NUMBER_RUN = re.compile("[+-]?[\\d\u0660-\u0669\u06f0-\u06f9](?:[.,:/\u066b\u066c-]?[\\d\u0660-\u0669\u06f0-\u06f9])*[%\u066a]?")
_MIRROR = str.maketrans("()[]{}<>«»‹›", ")(][}{><»«›‹")

Glyph = tuple[float, float, str]  # left edge, right edge, character


def is_right_to_left(text: str) -> bool:
    """Whether a line is read from the right: most of its letters are of such a script."""
    rtl = len(_STRONG_RTL.findall(text))
    return rtl > 0 and rtl >= len(_STRONG_LTR.findall(text))


def read_line(glyphs: Iterable[Glyph]) -> str:
    """The text of one level line from its glyphs, in whatever order they are given."""
    visual = _visual(list(glyphs))
    return _logical(visual)


def _visual(glyphs: Sequence[Glyph]) -> list[str]:
    """Clusters from left to right; a mark goes with the letter it stands over, letters of one glyph stay together."""
    letters: list[tuple[float, float, list[str]]] = []
    marks: list[Glyph] = []
    for x0, x1, char in glyphs:
        if unicodedata.combining(char):
            marks.append((x0, x1, char))
        else:
            letters.append((x0, x1, [char]))
    letters.sort(key=lambda letter: letter[0] + letter[1])
    for x0, x1, char in marks:
        middle = (x0 + x1) / 2
        if letters:
            min(letters, key=lambda letter: max(letter[0] - middle, middle - letter[1], 0.0))[2].append(char)
    return ["".join(cluster) for _, _, cluster in letters]


def _logical(visual: Sequence[str]) -> str:
    joined = "".join(visual)
    if is_right_to_left(joined):
        turned = "".join(_mirrored(cluster) for cluster in reversed(visual))
        return _LEFT_TO_RIGHT_RUN.sub(lambda run: _unturned(run.group()), turned)
    out: list[str] = []
    run: list[str] = []
    for cluster in visual:  # a left-to-right line with some words that are not
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


def _mirrored(cluster: str) -> str:
    return cluster.translate(_MIRROR)


def _unturned(run: str) -> str:
    return run[::-1].translate(_MIRROR)
