"""Terms, headings and section trees of documents, one by one and in common arrays."""
