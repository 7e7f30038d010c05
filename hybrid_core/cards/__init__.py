"""What a document is: organisation, period, type, date and title, read from its beginning."""
