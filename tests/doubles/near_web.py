"""The program, which fetches web addresses of this machine as if they were public. Everything else is refused as ever.

It runs before the command of a server: ``python near_web.py PYTHON -m hybrid_pageindex serve …``.
"""

from __future__ import annotations

import sys
from ipaddress import ip_address

from hybrid_pageindex.cli.main import main
from hybrid_pageindex.engine.index import uploads

BEFORE = (sys.executable, __file__)


def is_loopback(ip: str) -> bool:
    return ip_address(ip).is_loopback


if __name__ == "__main__":
    uploads.fetch.__defaults__ = (is_loopback,)
    sys.argv = ["hybrid-pageindex", *sys.argv[4:]]
    raise SystemExit(main())
