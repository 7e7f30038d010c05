"""The entry point of a worker process: ``python -P -m indexers.workers.start BYTES SECONDS``.

It limits its own memory, ends after so many idle seconds (0: never), and blocks unneeded imports before anything large
is imported.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys

from hybrid_core.system import end_with_parent, optional_module

resource = optional_module("resource")  # missing on Windows


def limit_memory(max_bytes: int) -> None:
    """Limit writable memory to ``max_bytes``: beyond it allocations fail, which costs one page.

    RLIMIT_DATA, not RLIMIT_AS: what libraries map without touching it does not count. Systems that do not know this
    limit are left to the pool's watch.
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
    gc.set_threshold(100_000)  # pages and lines hold no circles; looking for some takes a fortieth of the time
    os.umask(0o077)  # what it writes lies in the home
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # numpy reserves memory for a stack per thread otherwise
    sys.modules["pymupdf.layout"] = None  # type: ignore[assignment]  # its models cost 56 MB and 0.4 s, and are not used
    from indexers.workers.process import work

    with contextlib.suppress(BrokenPipeError):  # who asked has gone: nobody is there to tell
        work(float(sys.argv[2]) or None)


if __name__ == "__main__":
    main()
