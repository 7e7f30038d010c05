"""Office files: Word, PowerPoint, Excel, OpenDocument, and their older formats."""
