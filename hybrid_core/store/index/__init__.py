"""The vector index, embedded or on a server. It is derived from the catalog and can be rebuilt at any time."""
