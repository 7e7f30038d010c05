"""Words: the tokeniser, BM25, term counts, names and periods, read alike in documents and questions."""
