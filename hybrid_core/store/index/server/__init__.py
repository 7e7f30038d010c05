"""The backend on a Qdrant server: collections that every process of a library fills and searches together."""
