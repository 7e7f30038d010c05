"""Data and records: JSON, settings, calendars, cards, bibliographies, translations."""
