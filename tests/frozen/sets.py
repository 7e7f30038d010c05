"""The sets of the harness: ranked pages with scores and receipts, and what scripted models make of them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.frozen.records import condensed, wordless

RUNS = {
    "financebench": ("financebench",),
    "financebench-none": ("financebench", "--expert", "none"),
    "financebench-given": ("financebench", "--setting", "given"),
    "financebench-given-none": ("financebench", "--setting", "given", "--expert", "none"),
    "financebench-deep": ("financebench", "--effort", "deep", "--model", "scripted:oracle"),
    "financebench-auto-mcts": ("financebench", "--effort", "auto", "--strategy", "mcts", "--model", "scripted:random"),
    "financebench-answers": ("financebench", "--answers", "--model", "scripted:oracle"),
    "mmlongbench": ("mmlongbench",),
    "mmlongbench-given-none": ("mmlongbench", "--setting", "given", "--expert", "none"),
    "mmlongbench-deep": ("mmlongbench", "--effort", "deep", "--model", "scripted:oracle"),
    "cuad-given": ("cuad", "--setting", "given"),
    "sec10q": ("sec10q",),
    "statutes": ("statutes_zh",),
    "statutes-none": ("statutes_zh", "--expert", "none"),
}
_KEPT = ("pages", "documents", "evidence", "stage", "receipts", "notes", "tokens", "error", "answer")


def freeze(name: str, data: Path, work: Path) -> dict[str, Any]:
    """Run a set of the harness anew and condense its records, by question."""
    out = work / "runs" / name
    for old in out.glob("*.json*"):
        old.unlink()
    command = [
        sys.executable,
        "-m",
        "eval",
        "run",
        *RUNS[name],
        "--depth",
        "10",
        "--data",
        str(data),
        "--out",
        str(out),
    ]
    done = subprocess.run(command, cwd=work, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr.strip()[-2000:]}")
    records = [json.loads(line) for line in (out / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    return {
        one["id"]: wordless(condensed({key: one[key] for key in _KEPT}, {}))
        for one in sorted(records, key=lambda r: r["id"])
    }
