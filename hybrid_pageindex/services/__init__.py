"""What the engine's operations do."""
