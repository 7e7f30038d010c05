"""A file becomes parsed pages, in worker processes."""
