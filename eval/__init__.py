"""Evaluation: question sets, rankers, measures, runs and reports."""

import hybrid_core  # noqa: F401 - before any library: it switches their telemetry off
