"""Office files: Word, PowerPoint, Excel, OpenDocument, and older ones."""
