"""File formats: an entry for each, with the functions that read files, pages and pictures."""
