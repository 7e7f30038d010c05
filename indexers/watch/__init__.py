"""Folders that are watched: what is new, changed or gone in them."""
