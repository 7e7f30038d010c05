"""PDF files, by PyMuPDF."""
