"""Search: the libraries of a question, their open indexes, and the exhaustive search."""
