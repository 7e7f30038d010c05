"""A question finds its sections and pages."""

import hybrid_core  # noqa: F401 - before any library: it switches their telemetry off
