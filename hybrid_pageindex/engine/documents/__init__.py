"""Documents: their lists, pages, outlines, pictures and original files."""
