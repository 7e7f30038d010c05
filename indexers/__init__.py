"""Indexing: a document becomes pages, a section tree, chunks, summaries and term counts."""

import hybrid_core  # noqa: F401 - before any library: it switches their telemetry off
