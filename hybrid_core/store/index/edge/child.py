"""Operations on a closed index shard in a child process, which may freeze, hang or crash without affecting its parent.

``python -P -m hybrid_core.store.index.edge.child optimize FOLDER``: exit status 0 when the shard was optimised and
flushed. ``python -P -m hybrid_core.store.index.edge.child load FOLDER DIMENSION LEARNED``: any exit status means that
the child survived loading the shard.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import qdrant_edge

from hybrid_core.errors import IndexDamagedError
from hybrid_core.store.index.edge.shard import Shard
from hybrid_core.system import child_options

_OPTIMIZE_SECONDS = 600
_LOAD_SECONDS = 120
_log = logging.getLogger(__name__)


def optimize_in_child(folder: Path, handles: Sequence[int]) -> bool:
    """Optimise the closed shard in ``folder`` in a child process, since ``optimize`` freezes its process.

    Wait for the child, and return whether it succeeded. A shard that was not optimised still works, but more slowly.
    ``handles`` are the lock descriptors that the child inherits.
    """
    try:
        process = run_child(["optimize", str(folder)], handles, _OPTIMIZE_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        _log.warning("the search index %s was not optimised: %s", folder, error)
        return False
    if process.returncode:
        tail = process.stderr.decode(errors="replace")[-500:]
        _log.warning("the search index %s was not optimised (status %s): %s", folder, process.returncode, tail)
    return process.returncode == 0


def try_in_child(folder: Path, dimension: int, learned: bool, handles: Sequence[int]) -> None:
    """Raise ``IndexDamagedError`` if a child process that loads the closed shard in ``folder`` crashes or hangs.

    If the child only reports an error, nothing is raised: the caller gets the same error when it loads the shard.
    ``handles`` are the lock descriptors that the child inherits.
    """
    try:
        process = run_child(["load", str(folder), str(dimension), str(int(learned))], handles, _LOAD_SECONDS)
    except OSError:
        return  # no child can be started
    except subprocess.TimeoutExpired as error:
        raise IndexDamagedError("a process that tried to load the search index stopped responding") from error
    if process.returncode < 0:
        raise IndexDamagedError(
            f"a process that tried to load the search index was killed by signal {-process.returncode}"
        )


def run_child(arguments: Sequence[str], handles: Sequence[int], seconds: float) -> subprocess.CompletedProcess[bytes]:
    """Run this module with ``arguments`` in a child process and wait for its end. Its stderr is captured.

    ``handles`` are lock descriptors that the child inherits. So no other process opens a shard while the child uses it,
    even if the parent was killed (Windows cannot do that). Raise OSError if no child can be started, and
    ``subprocess.TimeoutExpired`` after ``seconds``.
    """
    return subprocess.run(
        [sys.executable, "-P", "-m", __name__, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # a stdio server's stdout carries its protocol only
        stderr=subprocess.PIPE,
        timeout=seconds,
        check=False,
        **child_options(handles=handles),  # Ctrl-C on the terminal is for us
    )


def main(arguments: Sequence[str]) -> int:
    """Run the command in ``arguments``: optimise a shard, or load and close it. Return the exit status."""
    work, folder, *options = arguments
    if work == "optimize":
        opened = qdrant_edge.EdgeShard.load(folder)
        opened.optimize()
        opened.flush()
        opened.close()
        return 0
    dimension, learned = map(int, options)
    shard = Shard.load(Path(folder), dimension, bool(learned))
    shard.count()
    shard.close()
    return 0


if __name__ == "__main__":
    os.umask(0o077)  # what it writes lies in the home
    sys.exit(main(sys.argv[1:]))
