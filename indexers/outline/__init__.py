"""The outline of a document: its headings, found by bookmarks, printed contents and layout."""
