"""Text processing: the tokeniser, BM25, term counts, names and periods, the same for documents and questions."""
