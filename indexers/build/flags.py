"""What a section's own text holds besides prose: tables, code, commands, configuration, figures.

Readers and agents use the flags to choose what to open. They are told by the shape of lines, not by words
of any field: cells side by side, a monospaced font, a shell prompt, «key: value» lines, images and captions;
where a format has markup, by that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from hybrid_core.types.documents import Line, ParsedPage, Section
from indexers.build.chunks import own_ranges

FLAGS = ("has_table", "has_code", "has_command", "has_config", "has_figure")

_CELL_GAP = "  "
_MONOSPACED = re.compile(r"mono|courier|consol|menlo|inconsolata|typewriter|cmtt|fixed", re.I)
_CODE_ENDS = "{};:("
_CODE_LINE = re.compile(
    r".*[{};]\s*$|\s*(?:def|class|import|return|function|public|private|var|let|const|if|for|while)\b.*[:({;]\s*$", re.S
)
_CODE_SIGN = re.compile(r"=>|::|->|\(\)|==|!=|&&|\|\|")
_COMMAND = re.compile(r"^\s*(?:[$%#>]|[\w.-]+@[\w.-]+[:~\w/]*[$#]|PS [A-Z]:\\[^>]*>)\s+[a-z./][\w./-]*(?:\s|$)")
_PROMPT = re.compile(r"^\s*(?:\$|[\w.-]+@[\w.-]+[:~\w/]*[$#]|PS [A-Z]:\\[^>]*>)\s+[a-z./]")  # in code "#" is a comment
_LISTED = ("code", "plain")
_SETTING = re.compile(r"^\s*(?:-\s+)?[\"']?[A-Za-z_][\w.-]*[\"']?\s*(?:=|:)\s*\S*\s*[,{\[]?$|^\s*\[[\w.-]+\]\s*$")
CAPTION = re.compile(r"^\s*(?:fig(?:ure|\.)?|exhibit|chart|diagram|abb(?:ildung|\.)?|图|圖)\s*[A-Z]?\d", re.I)


def find_flags(sections: Sequence[Section], pages: Sequence[ParsedPage]) -> list[tuple[str, ...]]:
    """The flags of every section, by the text before its first child; in the order of ``FLAGS``."""
    # An image on most pages is a logo or a scan, not a figure of some section.
    everywhere = len(pages) > 3 and sum(page.images > 0 for page in pages) > len(pages) / 2
    found = []
    for _, (first, start), (last, end) in own_ranges(sections):
        lines: list[Line] = []
        images = 0
        for number in range(first, last + 1):
            page = pages[number - 1]
            offset = 0
            for line in page.lines:
                inside = (number > first or offset >= start) and (number < last or end is None or offset < end)
                if inside:
                    lines.append(line)
                offset += len(line.text) + 1
            images += page.images if number > first or start == 0 else 0
        marked = bool(lines and lines[0].role not in ("", "hidden", "comment"))
        held = _told_by_markup(lines) if marked else _told_by_look(lines, images > 0 and not everywhere)
        found.append(tuple(flag for flag in FLAGS if held[flag]))
    return found


def _told_by_look(lines: Sequence[Line], pictured: bool) -> dict[str, bool]:
    return {
        "has_table": _has_table(lines),
        "has_code": _has_code(lines),
        "has_command": any(_COMMAND.match(line.text) for line in lines),
        "has_config": _has_config(lines),
        "has_figure": pictured or any(CAPTION.match(line.text) for line in lines),
    }


def _told_by_markup(lines: Sequence[Line]) -> dict[str, bool]:
    roles = {line.role for line in lines}
    return {
        "has_table": "table" in roles,
        "has_code": not roles.isdisjoint(("code", "command", "config")),
        "has_command": "command" in roles or any(line.role in _LISTED and _PROMPT.match(line.text) for line in lines),
        "has_config": "config" in roles,
        "has_figure": "image" in roles or any(line.role == "text" and CAPTION.match(line.text) for line in lines),
    }


def _has_table(lines: Sequence[Line]) -> bool:
    """Three rows in a row with cells beside each other."""
    rows = [line.text.count(_CELL_GAP) >= 1 for line in lines]
    return any(a and b and c for a, b, c in zip(rows, rows[1:], rows[2:], strict=False))


def _has_code(lines: Sequence[Line]) -> bool:
    """Two lines in a row that look like code, at least one in a monospaced font; or four without."""
    like = [_is_code(line.text) for line in lines]
    pairs = [at for at, (a, b) in enumerate(pairwise(like)) if a and b]
    if any(_MONOSPACED.search(line.font) for at in pairs for line in lines[at : at + 2]):
        return True
    return any(like[at + 2 : at + 4] == [True, True] for at in pairs)


def _is_code(text: str) -> bool:
    ends = text.rstrip()[-1:] in _CODE_ENDS  # which is seen at once, and few lines do
    return bool((ends and _CODE_LINE.match(text)) or _CODE_SIGN.search(text))


def _has_config(lines: Sequence[Line]) -> bool:
    """Three «key: value» or «key = value» lines in a row, in one column."""
    run = 0
    for before, line in pairwise([None, *lines]):
        setting = line is not None and _CELL_GAP not in line.text and bool(_SETTING.match(line.text))
        near = before is not None and line is not None and abs(before.x0 - line.x0) < 60
        run = (run + 1 if near else 1) if setting else 0
        if run >= 3:
            return True
    return False
