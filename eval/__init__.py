"""How good and how fast the engine is."""

import hybrid_core  # noqa: F401 - before any library: it switches their telemetry off
