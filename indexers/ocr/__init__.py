"""OCR: recognition of text in images of pages."""
