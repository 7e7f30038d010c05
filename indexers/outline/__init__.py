"""The outline of a document from bookmarks, printed contents and layout."""
