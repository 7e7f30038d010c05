"""What a reader stumbled over, in words for whoever sent the file; the detail goes to the log."""

from __future__ import annotations

import logging
import traceback

from indexers.formats.limits import out_of_memory

_log = logging.getLogger(__name__)


def plain_reason(error: BaseException, what: str = "") -> str:
    """Return words without the name of an exception's class, and log the error; ``what`` says where it came up."""
    steps = traceback.extract_tb(error.__traceback__)
    at = f" ({steps[-1].filename}:{steps[-1].lineno})" if steps else ""
    _log.warning("%s%s: %s%s", f"{what}: " if what else "", type(error).__name__, error, at)
    if isinstance(error, OSError) and error.strerror:
        return f"the system says: {error.strerror}"
    if out_of_memory(error):
        return "there is not enough memory for it"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return "its reader met something unexpected, as in a damaged file; the log has the detail"
