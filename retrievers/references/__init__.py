"""Pages to which a question refers by page number, section number, title or role."""
