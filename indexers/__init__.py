"""A document becomes an index: pages, section tree, chunks, summaries, terms."""
