"""Indexing: split a document into pages, and compute its section tree, chunks, summaries and term counts."""

import hybrid_core  # noqa: F401 - before any library: it switches their telemetry off
