"""How good and how fast the engine is."""
