"""``python -m hybrid_pageindex`` is the console script."""

import sys

from hybrid_pageindex.cli import main

if __name__ == "__main__":
    sys.exit(main())
