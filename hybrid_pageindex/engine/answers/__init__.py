"""Answers: choose pages as sources, let a model write the answer, and check its citations."""
