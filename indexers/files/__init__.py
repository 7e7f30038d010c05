"""Files on disk: find them, match them with documents, and detect changes."""
