"""Text processing for documents and questions: the tokeniser, BM25, term counts, names and periods."""
