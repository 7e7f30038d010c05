"""One file for each provider's interface."""
