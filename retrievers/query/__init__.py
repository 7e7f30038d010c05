"""Questions: their words, names, references and intent, and their expansion by expert packs."""
