"""OCR: read the text of pages from their images."""
