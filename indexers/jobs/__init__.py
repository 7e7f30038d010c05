"""Indexing jobs: claim them, run the stages of each file, and write the results."""
