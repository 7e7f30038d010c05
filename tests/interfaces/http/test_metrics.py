"""What Prometheus reads of a server is described, and all that alerts and dashboard watch is there."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from hybrid_pageindex.http.metrics import PARTS
from tests.interfaces.http.conftest import serving

ROOT = Path(__file__).parents[3]
RULES, RULE_TEST = ROOT / "deploy" / "prometheus-rules.yaml", ROOT / "deploy" / "prometheus-rules-test.yaml"
DASHBOARD, RUNBOOK = ROOT / "deploy" / "grafana-dashboard.json", ROOT / "docs" / "alerts.md"
PROMTOOL = shutil.which("promtool") or f"{os.environ.get('CONFORMANCE_TOOLS', '/nowhere')}/bin/promtool"
UNITS = ("_seconds", "_seconds_total", "_bytes", "_total", "_fds", "_info", "_parts", "_held")
THINGS = ("jobs", "workers")
"""Metrics that count what they are named after."""


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]


def dashboard_queries() -> list[str]:
    return [target["expr"] for panel in json.loads(DASHBOARD.read_text())["panels"] for target in panel["targets"]]


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serving(tmp_path_factory.mktemp("metrics")) as served, served.client() as client:
        client.post("/search", json={"question": "anything"})
        yield client.get("/metrics").text


def kinds_of(metrics: str) -> dict[str, str]:
    return dict(re.findall(r"^# TYPE (\w+) (\w+)$", metrics, re.MULTILINE))


def test_every_metric_has_a_help_text_and_a_unit(metrics: str) -> None:
    helps = dict(re.findall(r"^# HELP (\w+) (.+)$", metrics, re.MULTILINE))
    samples = {re.split(r"[{ ]", line)[0] for line in metrics.splitlines() if not line.startswith("#")}
    families = {re.sub(r"_seconds_(bucket|sum|count)$", "_seconds", name) for name in samples}
    assert families == set(helps) == set(kinds_of(metrics)) and len(families) >= 14
    for name in families:
        assert name.startswith("pageindex_") and len(helps[name]) > 20 and helps[name].endswith(".")
        assert name.endswith(UNITS) or name.removeprefix("pageindex_") in THINGS, name


@pytest.mark.parametrize("watcher", ["rules", "dashboard"])
def test_all_that_is_watched_is_there(metrics: str, watcher: str) -> None:
    watched = [rule["expr"] for rule in rules()] if watcher == "rules" else dashboard_queries()
    kinds, queries = kinds_of(metrics), " ".join(watched)
    used = {re.sub(r"_seconds_(bucket|sum|count)$", "_seconds", name) for name in re.findall(r"pageindex_\w+", queries)}
    assert used and used <= set(kinds)
    for status in re.findall(r'pageindex_jobs{status="(\w+)"}', queries):
        assert f'pageindex_jobs{{status="{status}"}} ' in metrics
    for route in re.findall(r'route=~"([^"]+)"', queries):
        assert re.search(f'_seconds_bucket{{route="{route}"', metrics)
    for function, name in re.findall(r"(rate|increase|delta|deriv)\((pageindex_\w+)[^()]*\[", queries):
        # what may fall is no counter: rate and increase would take each fall for a restart
        kind = kinds[re.sub(r"_seconds_(bucket|sum|count)$", "_seconds", name)]
        assert (function in ("delta", "deriv")) == (kind == "gauge"), name


def test_a_part_that_is_there_is_not_missing(metrics: str) -> None:
    assert [line for line in metrics.splitlines() if line.startswith("pageindex_missing_parts{")] == [
        f'pageindex_missing_parts{{part="{part}"}} 0' for part in sorted(PARTS)
    ]


def test_every_alert_has_a_section_in_the_runbook() -> None:
    sections = re.findall(r"^## (\w+)$", RUNBOOK.read_text(encoding="utf-8"), re.MULTILINE)
    assert sections == [rule["alert"] for rule in rules()]
    for rule in rules():
        assert rule["annotations"]["runbook"] == f"docs/alerts.md#{rule['alert'].lower()}"
        assert rule["annotations"]["summary"] and rule["labels"]["severity"] in ("critical", "warning")


@pytest.mark.skipif(not Path(PROMTOOL).exists(), reason="promtool (Debian's prometheus) is not installed")
@pytest.mark.parametrize("check", [("check", "rules", RULES), ("test", "rules", RULE_TEST)], ids=["syntax", "cases"])
def test_promtool_accepts_the_rules(check: tuple[str | Path, ...]) -> None:
    done = subprocess.run([PROMTOOL, *check], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "SUCCESS" in done.stdout, done.stdout + done.stderr
