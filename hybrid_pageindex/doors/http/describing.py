"""The API's description, as it is checked in beside the code: ``python -m hybrid_pageindex.doors.http.describing``."""

from __future__ import annotations

import json
from pathlib import Path

from hybrid_pageindex.doors.http.app import describe

FILE = Path(__file__).with_name("openapi.json")


def described() -> str:
    return json.dumps(describe().openapi(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


if __name__ == "__main__":
    FILE.write_text(described(), encoding="utf-8")
