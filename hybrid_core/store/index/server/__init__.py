"""The backend on a Qdrant server: collections that all processes fill and search together."""
