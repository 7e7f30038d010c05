"""Run the command line: ``python -m hybrid_pageindex`` is the same as the command ``hybrid-pageindex``."""

import sys

from hybrid_pageindex.cli import main

if __name__ == "__main__":
    sys.exit(main())
