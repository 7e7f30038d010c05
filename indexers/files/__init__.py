"""Files on disk: which there are, whose they were, and whether they changed."""
