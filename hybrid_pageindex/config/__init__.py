"""Settings and arguments: what a user chooses."""
