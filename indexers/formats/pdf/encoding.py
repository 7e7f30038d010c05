"""Characters as a font's mapping gives them become those a reader would type; signs of a broken mapping are kept."""

from __future__ import annotations

import re
import unicodedata

_UNKNOWN = "\ufffd"
_FORMS = re.compile(
    "["
    "\u2e80-\u2fdf"  # CJK and Kangxi radicals, which some producers give for the characters that look like them
    "\ufb05\ufb06\ufb13-\ufb17"  # Latin and Armenian ligatures
    "\ufb1d-\ufb28\ufb2a-\ufdff\ufe70-\ufefc"  # Hebrew and Arabic presentation forms
    "]+"
)
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f]")
_SOUP = 0.25  # share of control characters above which a line is not text with a stray one in it


def fold_forms(text: str) -> str:
    """Presentation forms, ligatures and radicals as base letters (NFKC of these characters only)."""
    return _FORMS.sub(lambda found: unicodedata.normalize("NFKC", found.group()), text)


def keep_unknown(text: str) -> str:
    """Control characters as U+FFFD where a line is full of them: glyphs whose characters nobody knows.

    A stray one is left for cleaning to remove.
    """
    controls = len(_CONTROLS.findall(text))
    if controls > 1 and controls > _SOUP * len(text):
        return _CONTROLS.sub(_UNKNOWN, text)
    return text
