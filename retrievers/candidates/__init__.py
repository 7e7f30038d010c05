"""Candidate documents and pages of a question: the library, its cards, and the first stage."""
