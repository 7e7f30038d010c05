"""The vector index, embedded or on a server: derived from the catalog, and rebuilt at any time."""
