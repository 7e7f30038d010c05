"""Places that a question refers to by page, number, name or role in a document, whatever their words."""
