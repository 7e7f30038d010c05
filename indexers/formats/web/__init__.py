"""Web pages, and ebooks made of web pages."""
