"""The vector index, embedded or on a server: derived, and always to be made again."""
