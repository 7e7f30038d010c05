"""The embedded backend: a Qdrant Edge shard in a folder of the home."""
