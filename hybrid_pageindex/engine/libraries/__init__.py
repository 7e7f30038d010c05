"""Libraries: their sizes, removal, export and migration."""
