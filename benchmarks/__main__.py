"""Run a benchmark, or list all benchmarks.

    python -m benchmarks              # list the benchmarks and what each measures
    python -m benchmarks NAME [...]   # run one; its options: python -m benchmarks NAME --help

Run them from a checkout of the repository. The packages need not be installed. Many benchmarks read real documents from
the folder that ``PAGEINDEX_EVAL_DATA`` names.
"""

from __future__ import annotations

import ast
import runpy
import sys
from difflib import get_close_matches
from pathlib import Path

from hybrid_core.errors import PageIndexError

FOLDER = Path(__file__).parent
DATA = "PAGEINDEX_EVAL_DATA"


def benchmarks() -> dict[str, str]:
    """Return the first line of each benchmark's description, by the benchmark's name."""
    listed = {}
    for file in sorted(FOLDER.glob("[a-z]*.py")):
        text = file.read_text(encoding="utf-8")
        if '__name__ == "__main__"' in text:
            listed[file.stem] = (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]
    return listed


def main() -> None:
    """Run the benchmark named on the command line, or list all benchmarks."""
    names = benchmarks()
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(f"{__doc__.strip()}\n")
        width = max(map(len, names))
        print("\n".join(f"{name:{width}}  {title}" for name, title in names.items()))
        return
    name = sys.argv.pop(1)
    if name not in names:
        near = get_close_matches(name, names, n=3)
        hint = f"Did you mean {' or '.join(near)}?" if near else "python -m benchmarks lists them."
        sys.exit(f"There is no benchmark '{name}'. {hint}")
    try:
        runpy.run_module(f"benchmarks.{name}", run_name="__main__", alter_sys=True)
    except KeyError as error:
        if error.args != (DATA,):
            raise
        sys.exit(f"{DATA} is not set. Set it to the folder with the documents that the benchmark {name} reads.")
    except PageIndexError as error:
        sys.exit(f"{error.message} {error.advice}")


if __name__ == "__main__":
    main()
