"""The store: the catalog (the truth), and the vector index (derived from it)."""
