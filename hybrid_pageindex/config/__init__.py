"""Settings and command-line options, which a user chooses."""
