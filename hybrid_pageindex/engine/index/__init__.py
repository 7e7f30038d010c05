"""Indexing: turn files into documents, in this process, a worker or a server."""
