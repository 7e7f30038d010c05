"""Models that need no endpoint: a run's ceiling and its floor."""
