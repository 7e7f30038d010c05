"""Indexing: files become documents, by this process, a worker or a server."""
