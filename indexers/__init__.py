"""A document becomes an index: pages, section tree, chunks, summaries, terms."""

import hybrid_core  # noqa: F401 - before any library: it switches their telemetry off
