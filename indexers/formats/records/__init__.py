"""Data and records: JSON, settings, calendars, visiting cards, bibliographies, translations."""
