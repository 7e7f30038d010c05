"""Counts and times of requests, in the text format of Prometheus."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

_BOUNDS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0)  # seconds


_HELP = {
    "requests_total": "Requests answered, by method, route and status.",
    "request_seconds": "Seconds until an answer began, by route.",
    "jobs": "Jobs of the queue, by status.",
    "workers": "Processes that work on the queue.",
    "searches_held": "Searches that run or wait for their turn.",
    "answers_held": "Answers that are made or wait for their turn.",
}


class Metrics:
    """``route`` is the pattern of a path, not the path: there are few of these."""

    def __init__(self) -> None:
        self._answered: dict[tuple[str, str, int], int] = defaultdict(int)
        self._within: dict[str, list[int]] = defaultdict(lambda: [0] * (len(_BOUNDS) + 1))
        self._seconds: dict[str, float] = defaultdict(float)

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        self._answered[method, route, status] += 1
        within = self._within[route]
        within[next((at for at, bound in enumerate(_BOUNDS) if seconds <= bound), len(_BOUNDS))] += 1
        self._seconds[route] += seconds

    def text(self, gauges: Mapping[str, float]) -> str:
        """``gauges`` are whatever else there is to tell."""
        lines = [*_family("requests_total", "counter")]
        for (method, route, status), count in sorted(self._answered.items()):
            lines.append(
                f'pageindex_requests_total{{method="{method}",route="{_quoted(route)}",status="{status}"}} {count}'
            )
        lines += _family("request_seconds", "histogram")
        for route, within in sorted(self._within.items()):
            total, named = 0, f'route="{_quoted(route)}"'
            for bound, count in zip((*map(str, _BOUNDS), "+Inf"), within, strict=True):
                total += count
                lines.append(f'pageindex_request_seconds_bucket{{{named},le="{bound}"}} {total}')
            lines.append(f"pageindex_request_seconds_sum{{{named}}} {self._seconds[route]:.6f}")
            lines.append(f"pageindex_request_seconds_count{{{named}}} {total}")
        for name, value in sorted(gauges.items()):
            lines += [*_family(name.partition("{")[0], "gauge"), f"pageindex_{name} {value:g}"]
        return "\n".join(dict.fromkeys(lines)) + "\n"


def _family(name: str, kind: str) -> list[str]:
    """What stands above the values of a metric."""
    return [f"# HELP pageindex_{name} {_HELP.get(name, name)}", f"# TYPE pageindex_{name} {kind}"]


def _quoted(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
