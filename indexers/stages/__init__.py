"""What a file goes through: parsed, its scans read, its tree made, published, improved."""
