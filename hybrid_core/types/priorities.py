"""Which jobs come first; apart from the jobs themselves, which a search does not wait for."""

WATCHED, WANTED = 0, 10
"""What a watch found, and what somebody waits for."""
