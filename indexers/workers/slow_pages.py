"""Pages that a worker computes on for too long: nested forms, streams that unfold to gigabytes.

Nothing can interrupt MuPDF within a page, so the worker is ended by the system's own timer of its computing time,
which a busy machine does not shorten. Another worker then reads the range without that page.
"""

from __future__ import annotations

import signal

from hybrid_core.errors import DocumentError, LimitError
from indexers.formats.limits import MAX_SLOW_PAGES

_ADVICE = "Raise the setting seconds_per_page to read {}."


def end_after(seconds: float) -> None:
    """End this process once it has computed for so many seconds from now on; 0: not any more."""
    signal.setitimer(signal.ITIMER_PROF, seconds)


def ended(status: int | None) -> bool:
    """Whether an exit status tells of ``end_after``."""
    return status == -signal.SIGPROF


def too_slow(number: int, seconds: float) -> DocumentError:
    return LimitError(f"page {number} took longer than {seconds:g} s to read.", _ADVICE.format("it"))


def too_many(seconds: float) -> LimitError:
    return LimitError(
        f"more than {MAX_SLOW_PAGES} of its pages took longer than {seconds:g} s each.", _ADVICE.format("them")
    )
