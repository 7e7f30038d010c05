"""One entry for each format: what reads a file, its pages and its pictures."""
