"""Metrics of a server in the text format of Prometheus. Each name ends with its unit, or with the things counted."""

from __future__ import annotations

import os
import shutil
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from hybrid_core.system import resource

PREFIX = "pageindex_"
PARTS = ("catalog", "search", "originals", "disk")
"""The parts of a server that may be missing."""
HELP = {
    "build_info": "Always 1; the label has the version.",
    "requests_total": "Requests answered, by method, route and status.",
    "request_seconds": "Seconds until an answer began, by route.",
    "jobs": "Jobs of the queue, by status.",
    "workers": "Processes that work on the queue.",
    "searches_held": "Searches that run or wait for a slot.",
    "answers_held": "Answers that are made or wait for a slot.",
    "missing_parts": "1 if the server lacks this part and is not ready, else 0.",
    "home_free_bytes": "Bytes that are free on the disk of the home.",
    "process_cpu_seconds_total": "Processor seconds of the server, without its parsers.",
    "process_resident_memory_bytes": "Bytes of memory that the server holds, without its parsers.",
    "process_open_fds": "Files and connections that the server has open.",
    "process_max_fds": "Files and connections that the server may have open.",
    "process_start_time_seconds": "When the server began, in seconds since 1970.",
}
_COUNTERS = frozenset(name for name in HELP if name.endswith("_total"))
_BUCKET_BOUNDS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0)  # seconds
_BEGAN = time.time()


class Metrics:
    """Counts and durations of requests per route. A route is a path pattern, because there are too many paths."""

    def __init__(self) -> None:
        self._answered: dict[tuple[str, str, int], int] = defaultdict(int)
        self._within: dict[str, list[int]] = defaultdict(lambda: [0] * (len(_BUCKET_BOUNDS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        self._answered[method, route, status] += 1
        within = self._within[route]
        within[next((at for at, bound in enumerate(_BUCKET_BOUNDS) if seconds <= bound), len(_BUCKET_BOUNDS))] += 1
        self._seconds[route] += seconds

    def text(self, figures: Mapping[str, float]) -> str:
        """Return the metrics in the text format of Prometheus, together with ``figures``.

        The names of figures may contain labels.
        """
        lines = [*_metric_head("requests_total", "counter")]
        for (method, route, status), count in sorted(self._answered.items()):
            labels = f'method="{method}",route="{quote_label(route)}",status="{status}"'
            lines.append(f"{PREFIX}requests_total{{{labels}}} {count}")
        lines += _metric_head("request_seconds", "histogram")
        for route, within in sorted(self._within.items()):
            total, named = 0, f'route="{quote_label(route)}"'
            for bound, count in zip((*map(str, _BUCKET_BOUNDS), "+Inf"), within, strict=True):
                total += count
                lines.append(f'{PREFIX}request_seconds_bucket{{{named},le="{bound}"}} {total}')
            lines.append(f"{PREFIX}request_seconds_sum{{{named}}} {self._seconds[route]:.6f}")
            lines.append(f"{PREFIX}request_seconds_count{{{named}}} {total}")
        for name, value in sorted(figures.items()):
            metric = name.partition("{")[0]
            lines += [
                *_metric_head(metric, "counter" if metric in _COUNTERS else "gauge"),
                f"{PREFIX}{name} {_written(value)}",
            ]
        return "\n".join(dict.fromkeys(lines)) + "\n"


def process_figures() -> dict[str, float]:
    """Return the processor time, memory and open files of this process. Leave out unavailable values."""
    figures = {"process_cpu_seconds_total": time.process_time(), "process_start_time_seconds": round(_BEGAN, 3)}
    with suppress(OSError, ValueError):  # Linux has these files
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        figures["process_resident_memory_bytes"] = pages * os.sysconf("SC_PAGE_SIZE")
        figures["process_open_fds"] = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - names only
    if resource is not None:
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        figures["process_max_fds"] = float("inf") if limit == resource.RLIM_INFINITY else limit
    return figures


def disk_figures(home: Path) -> dict[str, float]:
    """Return the free bytes of the home folder's disk, {} if the disk does not respond."""
    try:
        return {"home_free_bytes": shutil.disk_usage(home).free}
    except OSError:
        return {}


def part_figures(missing: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    """Yield a metric for each part of the server (catalog, disk and so on): 1 if it does not work, otherwise 0."""
    for part in PARTS:
        yield f'missing_parts{{part="{part}"}}', float(part in missing)


def quote_label(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _metric_head(name: str, kind: str) -> list[str]:
    """Return the HELP and TYPE lines of a metric."""
    return [f"# HELP {PREFIX}{name} {HELP[name]}", f"# TYPE {PREFIX}{name} {kind}"]


def _written(value: float) -> str:
    return "+Inf" if value == float("inf") else f"{value:.15g}"
