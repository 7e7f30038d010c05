"""Places that a question refers to by page, number, name or role in a document, regardless of the words on them."""
