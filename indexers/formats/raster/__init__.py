"""Pictures: each frame is a page, which OCR and models read."""
