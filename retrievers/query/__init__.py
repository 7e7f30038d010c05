"""The question read: words, names, what is asked for; expansion by packs."""
