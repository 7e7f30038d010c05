"""``scripts/freeze record|compare [NAME…]``: keep what the engine gives, or say where it gives something else."""

from __future__ import annotations

import argparse
import os
import sys
import time
from itertools import islice
from pathlib import Path

from tests.frozen import doors, records, sets, trees

PARTS = dict.fromkeys(("cli", "mcp"), doors) | dict.fromkeys(trees.FOLDERS, trees) | dict.fromkeys(sets.RUNS, sets)
_SHOWN = 8


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/freeze", description=__doc__)
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"only these: {', '.join(PARTS)}")
    parser.add_argument(
        "--data", type=Path, default=os.environ.get("PAGEINDEX_EVAL_DATA"), help="(PAGEINDEX_EVAL_DATA)"
    )
    parser.add_argument("--work", type=Path, default=Path("benchmarks/out/frozen"), help="where the runs and homes lie")
    options = parser.parse_intermixed_args()
    if unknown := [name for name in options.names if name not in PARTS]:
        parser.error(f"no part is called {', '.join(unknown)}")
    work: Path = options.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    changed = False
    for name in options.names or PARTS:
        if PARTS[name] is not doors and options.data is None:
            print(f"{name}: left out, PAGEINDEX_EVAL_DATA names no folder")
            continue
        began = time.monotonic()
        now = PARTS[name].freeze(name, options.data and options.data.absolute(), work)
        took = f"{len(now)} records, {time.monotonic() - began:.0f} s"
        if options.action == "record":
            print(f"{name}: {records.write(name, now).stat().st_size // 1000} kB of {took}")
            continue
        found = list(records.differences(records.read(name), now))
        changed = changed or bool(found)
        print(f"{name}: {len(found) or 'no'} differences in {took}")
        for difference in islice(found, _SHOWN):
            print(f"    {difference}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
