"""The entry point of a worker process: ``python -P -m indexers.workers.start BYTES SECONDS``.

It limits its own memory, ends after SECONDS without a task (0: never), and blocks unneeded imports before large modules
are imported.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys

from hybrid_core.system import end_with_parent, resource


def limit_memory(max_bytes: int) -> None:
    """Limit writable memory to ``max_bytes``. An allocation above it fails, so that only the current page is lost.

    RLIMIT_DATA is used because RLIMIT_AS also counts memory that libraries map but do not use. On systems without this
    limit, the pool watches the memory.
    """
    if resource is None:
        return
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (max_bytes, max_bytes))
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    end_with_parent()
    limit_memory(int(sys.argv[1]))
    # pages and lines have no reference cycles; searching for them takes a fortieth of the time
    gc.set_threshold(100_000)
    os.umask(0o077)  # its files are written in the home
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # otherwise numpy reserves memory for a stack per thread
    sys.modules["pymupdf.layout"] = None  # type: ignore[assignment]  # its models cost 56 MB and 0.4 s, and are not used
    from indexers.workers.process import work

    with contextlib.suppress(BrokenPipeError):  # the parent process has ended
        work(float(sys.argv[2]) or None)


if __name__ == "__main__":
    main()
