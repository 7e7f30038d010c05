"""Which jobs come first; apart from the jobs themselves, which a search does not wait for."""

WATCHED, WANTED, ASKED = 0, 10, 20
"""What a watch found, what somebody waits for, and the trees of documents that somebody asks about."""

BEHIND = 5
"""How far what lies in an archive waits behind the archive's like: one file can hold thousands."""
