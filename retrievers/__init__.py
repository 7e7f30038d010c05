"""Retrieval: find the sections and pages that answer a question."""

import hybrid_core  # noqa: F401 - before any library: it switches their telemetry off
