"""Build the searchable content of a document from its parsed pages."""
