"""The runner: which files, their turns, and what became of them."""
