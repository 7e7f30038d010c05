"""Search: the libraries to search for a question, their open indexes, and the exhaustive search."""
