"""Improve published documents with models: descriptions of pages from their images, section trees, summaries."""
