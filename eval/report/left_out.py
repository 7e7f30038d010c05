"""What of a set could not be used, in a line."""

from __future__ import annotations

from collections.abc import Sequence

from hybrid_core.text.plural import counted

_NAMED = 5


def unusable(left_out: Sequence[str], where: str = "") -> list[str]:
    """A note that counts what is left out and names the first; ``where`` says where all are. None where nothing is."""
    if not left_out:
        return []
    what = counted(len(left_out), "entry of the set cannot be used and is", "entries of the set cannot be used and are")
    named = [f"{what} left out: {left_out[0]}", *left_out[1:_NAMED], *([where] if len(left_out) > _NAMED else [])]
    return [" ".join(filter(None, named))]
