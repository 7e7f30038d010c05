"""The store: the catalog, which is authoritative, and the vector index, which is derived from it."""
