"""Optimise a closed shard in a child process, because ``optimize`` freezes the process that calls it.

``python -P -m hybrid_core.store.index.edge.optimize FOLDER``: exit status 0 when it was optimised and flushed.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import qdrant_edge

from hybrid_core.store.index.edge.child import run_module

_TIMEOUT_SECONDS = 600
_log = logging.getLogger(__name__)


def optimize_in_child(folder: Path, handles: Sequence[int]) -> bool:
    """Optimise the closed shard in ``folder`` and wait for it; False where that failed.

    A failure only costs speed: the caller checks the shard's count when it loads it. ``handles`` are the
    lock descriptors the child inherits, so that a shard is not opened under a child whose parent was killed.
    """
    try:
        done = run_module(__name__, [str(folder)], handles, _TIMEOUT_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        _log.warning("the search index %s was not optimised: %s", folder, error)
        return False
    if done.returncode:
        tail = done.stderr.decode(errors="replace")[-500:]
        _log.warning("the search index %s was not optimised (status %s): %s", folder, done.returncode, tail)
    return done.returncode == 0


def main(arguments: Sequence[str]) -> int:
    """Optimise, flush and close the shard in the one folder given."""
    shard = qdrant_edge.EdgeShard.load(arguments[0])
    shard.optimize()
    shard.flush()
    shard.close()
    return 0


if __name__ == "__main__":
    os.umask(0o077)  # what it writes lies in the home
    sys.exit(main(sys.argv[1:]))
