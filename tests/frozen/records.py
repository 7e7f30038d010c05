"""Records without the words of documents: short enough to keep, exact enough to show any change."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CLOSE = 1e-9  # scores may differ by rounding of another order of additions, and by nothing else
PASSING = {  # what differs between two runs of the same code
    "timings_ms", "seconds", "ocr_seconds", "model_seconds", "mtime", "indexed_at", "used_at", "changed_at",
    "vector_bytes", "version", "detail",
    "home", "elapsed",
}  # fmt: skip
_OWN = re.compile(r"[0-9./:-]*|[a-z]{1,10}|#[0-9a-f]{8}")
_HERE = Path(__file__).parent / "records"


def condensed(value: Any, names: dict[str, str]) -> Any:
    """``value`` without what passes; strings of several words are hashed, and ``names`` replaced within all others."""
    if isinstance(value, dict):
        kept = {key: condensed(part, names) for key, part in value.items() if key not in PASSING}
        return {key if len(key) < 30 else _digest(key): part for key, part in kept.items()}
    if isinstance(value, list | tuple):
        return [condensed(part, names) for part in value]
    if isinstance(value, str):
        for old, new in names.items():
            value = value.replace(old, new)
        return _digest(value) if " " in value or len(value) > 60 else value
    return value


def wordless(value: Any) -> Any:
    """``value`` without any word of a document or a question: but for numbers and our own short words all is hashed."""
    if isinstance(value, dict):
        return {key: _hashed_keys(part) if key == "terms" else wordless(part) for key, part in value.items()}
    if isinstance(value, list):
        return [wordless(part) for part in value]
    return value if not isinstance(value, str) or _OWN.fullmatch(value) else _digest(value)


def _hashed_keys(terms: dict[str, Any]) -> dict[str, Any]:
    return {_digest(term): value for term, value in terms.items()}


def write(name: str, record: dict[str, Any]) -> Path:
    """Keep a record: one line a key, in order."""
    _HERE.mkdir(exist_ok=True)
    lines = [json.dumps([key, record[key]], ensure_ascii=False, separators=(",", ":")) for key in record]
    path = _HERE / f"{name}.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))
    return path


def read(name: str) -> dict[str, Any]:
    """A kept record. Raises FileNotFoundError where none was made."""
    text = gzip.decompress((_HERE / f"{name}.jsonl.gz").read_bytes()).decode()
    return dict(json.loads(line) for line in text.splitlines())


def differences(before: Any, now: Any, place: str = "") -> Iterator[str]:
    """Every place in which two records differ, with both values."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in [*before, *(key for key in now if key not in before)]:
            if key not in now:
                yield f"{place}/{key}: gone"
            elif key not in before:
                yield f"{place}/{key}: new"
            else:
                yield from differences(before[key], now[key], f"{place}/{key}")
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for at, (one, other) in enumerate(zip(before, now, strict=True)):
            yield from differences(one, other, f"{place}[{at}]")
    elif isinstance(before, float) and isinstance(now, int | float):
        if abs(before - now) > CLOSE:
            yield f"{place}: {before} is now {now}"
    elif before != now:
        yield f"{place}: {json.dumps(before)[:80]} is now {json.dumps(now)[:80]}"


def _digest(text: str) -> str:
    return "#" + hashlib.sha1(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:8]
