"""Read the question: its words, names and intent, and expansion by packs."""
