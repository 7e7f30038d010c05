"""Terms, headings and section trees of documents, for single documents and for whole libraries in common arrays."""
