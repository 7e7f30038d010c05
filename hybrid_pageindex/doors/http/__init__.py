"""The HTTP API: a thin door to the engine. Imported by the command ``serve`` only."""
