"""XML by vocabulary: articles, books, manuals, feeds, outlines, and any other."""
