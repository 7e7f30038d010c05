"""What lies in a file: kept beside the library, and indexed by jobs of its own."""
