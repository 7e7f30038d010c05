"""The HTTP API: a thin layer over the engine. Only the command ``serve`` imports it."""
