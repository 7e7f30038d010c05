"""Places that a question means by page, number, name or role in a document, whatever their words."""
