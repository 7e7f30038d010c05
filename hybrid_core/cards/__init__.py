"""Document cards: organisation, period, type, date and title, read from the beginning of a document."""
