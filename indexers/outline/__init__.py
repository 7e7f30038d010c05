"""Evidence of headings (bookmarks, printed contents, layout) reconciled into one outline."""
