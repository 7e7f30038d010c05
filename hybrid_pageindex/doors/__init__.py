"""The ways in. Each calls the engine and returns its shapes."""
