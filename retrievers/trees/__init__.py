"""Terms, headings and section trees: of single documents, and of many in common arrays."""
