"""Private servers for trying things out: prints the variables that name them, or runs a command with these.

Parts that come after the servers may be workers, or Celery workers with one beat. They use the servers before them.
"""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress

from tests import buckets, postgres, qdrant_real, redis_real

Variables = dict[str, str]


@contextmanager
def _qdrant(nodes: int) -> Iterator[Variables]:
    if qdrant_real.program() is None:
        sys.exit(f"{qdrant_real.REASON}.")
    with qdrant_real.cluster(nodes) as running:
        yield {"PAGEINDEX_QDRANT_URL": ",".join(node.url for node in running)}


@contextmanager
def _postgres(_: int) -> Iterator[Variables]:
    with postgres.server() as server:
        yield {"PAGEINDEX_POSTGRES_URL": postgres.plain(server.url)}


@contextmanager
def _redis(_: int) -> Iterator[Variables]:
    with redis_real.server() as url:
        yield {"PAGEINDEX_REDIS_URL": url}


@contextmanager
def _bucket(_: int) -> Iterator[Variables]:
    with buckets.bucket() as address:
        yield buckets.variables(address)


@contextmanager
def _programs(variables: Variables, commands: list[list[str]]) -> Iterator[Variables]:
    running = [subprocess.Popen([sys.executable, "-m", *words], env=os.environ | variables) for words in commands]
    try:
        yield {}
    finally:
        for process in running:
            process.terminate()
        for process in running:
            process.wait(60)


def _workers(number: int, variables: Variables) -> AbstractContextManager[Variables]:
    return _programs(variables, [["hybrid_pageindex", "worker"]] * number)


def _celery(number: int, variables: Variables) -> AbstractContextManager[Variables]:
    celery = ["celery", "-A", "hybrid_pageindex.dispatcher"]
    return _programs(
        variables, [[*celery, "worker", "-n", f"{each}@%h"] for each in range(number)] + [[*celery, "beat"]]
    )


PARTS: dict[str, Callable[[int], AbstractContextManager[Variables]]] = {
    "qdrant": _qdrant, "postgres": _postgres, "redis": _redis, "bucket": _bucket,
}  # fmt: skip
"""The servers that can be started, in so many nodes; each yields the variables by which it is found."""
PROGRAMS: dict[str, Callable[[int, Variables], AbstractContextManager[Variables]]] = {
    "worker": _workers, "celery": _celery,
}  # fmt: skip
"""What can be started beside them, so many times, with the variables of the servers."""


def _part(wanted: str) -> tuple[str, int]:
    name, _, nodes = wanted.partition("=")
    names = [*PARTS, *PROGRAMS]
    if name not in names or not (nodes or "1").isdecimal() or int(nodes or "1") < 1:
        raise argparse.ArgumentTypeError(f"{wanted}: write NAME or NAME=NODES; the names are {', '.join(names)}")
    return name, int(nodes or "1")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="scripts/cluster", description=(__doc__ or "").split(":")[0])
    parser.add_argument(
        "parts", nargs="+", type=_part, metavar="PART[=NODES]", help=f"of {', '.join([*PARTS, *PROGRAMS])}"
    )
    own, _, command = (arguments, "", []) if "--" not in arguments else _divided(arguments)
    wanted = parser.parse_args(own).parts
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    with ExitStack() as running, suppress(KeyboardInterrupt):
        variables: Variables = {}
        for name, nodes in wanted:
            part = PARTS[name](nodes) if name in PARTS else PROGRAMS[name](nodes, variables)
            variables |= running.enter_context(part)
        if command:
            return subprocess.run(command, env=os.environ | variables, check=False).returncode
        for name, value in variables.items():
            print(f"export {name}={shlex.quote(value)}", flush=True)
        signal.pause()
    return 0


def _divided(arguments: list[str]) -> tuple[list[str], str, list[str]]:
    at = arguments.index("--")
    return arguments[:at], "--", arguments[at + 1 :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
