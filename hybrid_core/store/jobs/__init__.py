"""Jobs: queued work, the workers that run it, and its results. Every interface queues work here."""
