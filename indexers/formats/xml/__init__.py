"""XML files, read by their vocabulary: articles, books, manuals, feeds, outlines, and any other."""
