"""Load a closed shard in a child process first, because a damaged one can abort the process that loads it.

``python -P -m hybrid_core.store.index.edge.trial FOLDER DIMENSION LEARNED``: any exit status means that it survived.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from hybrid_core.errors import IndexDamagedError
from hybrid_core.store.index.edge.child import run_module
from hybrid_core.store.index.edge.shard import Shard

_TIMEOUT_SECONDS = 120


def try_in_child(folder: Path, dimension: int, learned: bool, handles: Sequence[int]) -> None:
    """Raise ``IndexDamagedError`` where a child that loads the closed shard in ``folder`` dies or hangs.

    A child that only fails is no answer: the caller meets the same error, and can say it better. ``handles`` are
    the lock descriptors the child inherits, so that a shard is not opened under a child whose parent was killed.
    """
    try:
        done = run_module(__name__, [str(folder), str(dimension), str(int(learned))], handles, _TIMEOUT_SECONDS)
    except OSError:
        return  # no child can be started: as before there were trials
    except subprocess.TimeoutExpired as error:
        raise IndexDamagedError("a process that loads it hangs") from error
    if done.returncode < 0:
        raise IndexDamagedError(f"a process that loads it is ended by signal {-done.returncode}")


def main(arguments: Sequence[str]) -> int:
    """Load the shard, count what it holds and close it, as whoever opens it does."""
    folder, dimension, learned = arguments
    shard = Shard.load(Path(folder), int(dimension), bool(int(learned)))
    shard.count()
    shard.close()
    return 0


if __name__ == "__main__":
    os.umask(0o077)  # what it writes lies in the home
    sys.exit(main(sys.argv[1:]))
