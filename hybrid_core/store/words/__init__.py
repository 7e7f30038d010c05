"""The words of pages as they are written, by word: derived from the catalog, and made again where it is missing."""
