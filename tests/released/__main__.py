"""Keep a home of the version that is to be released next: ``python -m tests.released``.

It writes ``tests/released/VERSION.zip``, which holds the home, a backup of it, and what must be found in both.
"""

from __future__ import annotations

import sys
from pathlib import Path

from scripts.release import ROOT, released_home
from tests.released.homes import keep

if __name__ == "__main__":
    file = ROOT / released_home(ROOT)
    if file.exists():
        sys.exit(f"{file} exists already. A kept home is never changed.")
    keep(file)
    sys.stdout.write(f"{Path(file).relative_to(ROOT)}: {file.stat().st_size // 1024} kB. Commit this file.\n")
